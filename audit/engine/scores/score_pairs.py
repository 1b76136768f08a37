"""Joint counts and concept confusion of scores: all pairs of nodes, exact, without sampling."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csc_array, csr_array, vstack

from audit.base.dag import FloatArray, IntArray, Sparse
from audit.base.errors import InputError
from audit.base.machine import cores, require_package
from audit.base.progress import Progress, blocks, silent
from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.pairs.rows import row_numbers

Sums: TypeAlias = tuple[IntArray, IntArray, FloatArray, FloatArray]
"""Two nodes of each pair, joint counts and entropies in nats, each of shape (n_pairs,)."""
COUNTING = "counting pairs of scores"
"""Name of the step that is reported as progress."""
DEVICES = ("cpu", "cuda")
"""Names of the devices on which PyTorch may count."""
SCORES_PER_BLOCK = {"cpu": 400_000, "cuda": 24_000_000}
"""Number of scores, zeros included, that are held at a time: on a CPU as many as its cache holds,
on a GPU so many that the computation takes longer than launching it."""
DENSE_NODES = 7_000
"""Largest number of nodes for which NumPy's blocks are dense; these hold n_nodes^2 sums."""
SPARSE_COST = 3.0
"""Measured cost of a pair that is gathered, relative to one in a dense block."""
PAIRS_PER_BLOCK = 2_000_000
"""Number of pairs that are gathered at a time."""
TASKS = 16
"""Parts of a block's nodes that cores share; a node is in one part, so summation has one order."""
DECADES = 300
"""Largest power of ten, positive or negative, that a product may have in double precision."""


def count_score_pairs(
    aggregated: Sparse,
    threshold: float,
    progress: Progress = silent,
    *,
    device: str | None = None,
) -> PairCounts:
    """Count, for each pair, the instances whose two scores reach a threshold; sum their confusion.

    The entropy of two scores a and b normalised to sum to one is
    ``ln(a + b) - (a ln a + b ln b) / (a + b)``, so that each pair costs one logarithm.

    Args:
        aggregated: Aggregated scores, shape (n_instances, n_nodes), canonical CSR.
        threshold: Scores below it are ignored; above 0.
        device: One of `DEVICES`, on which PyTorch counts; None: count with NumPy.

    Returns:
        Every pair with a joint instance; confusion in bits. Joint counts are the same on every
        device, confusion over all instances within 1e-12.

    Raises:
        InputError: If the device does not exist or is too small, or PyTorch is not installed.

    Dense blocks take (scores at the threshold) * n_nodes / 2 steps; gathering takes the sum over
    instances of (nodes at the threshold)^2 / 2, at `SPARSE_COST`. NumPy does what is cheaper, on
    all cores. The order of instances changes no result, except by rounding.
    """
    reached = aggregated.data >= threshold
    used = np.flatnonzero(np.bincount(aggregated.indices[reached], minlength=aggregated.shape[1]))
    ends = pairwise(aggregated.indptr.tolist())
    widths = np.array([np.count_nonzero(reached[i:j]) for i, j in ends], np.float64)
    cheaper = SPARSE_COST * float(widths @ widths) < float(widths.sum()) * len(used)
    if device is None and (cheaper or len(used) > DENSE_NODES):
        a, b, joint, entropy = _gathered(aggregated, threshold, used, progress)
    else:
        a, b, joint, entropy = _dense(aggregated, threshold, used, progress, device)
    bits = np.clip(entropy / np.log(2), 0, joint)
    return PairCounts(used[a], used[b], joint.astype(np.int64), bits)


def support_at(aggregated: Sparse, threshold: float) -> IntArray:
    """Number of instances on which each node's score reaches a threshold, int64, (n_nodes,)."""
    reached = aggregated.indices[aggregated.data >= threshold]
    return np.bincount(reached, minlength=aggregated.shape[1]).astype(np.int64)


def require_device(name: str) -> None:
    """Raise InputError unless it is one of `DEVICES`, and PyTorch can count on it."""
    if name not in DEVICES:
        raise InputError(f"a device is one of {', '.join(DEVICES)}", found=name)
    require_package("torch", f"to count on the device {name}")
    torch = import_module("torch")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError(
            "a CUDA device that PyTorch can use is required",
            found=f"none; PyTorch {torch.__version__}",
            hint="--device cpu, or count without --device",
        )


def _dense(
    scores: Sparse, threshold: float, used: IntArray, progress: Progress, device: str | None
) -> Sums:
    """`Sums` over dense blocks of instances, by NumPy or, on a device, by PyTorch."""
    if device is None:
        return _by_blocks(np, {}, scores, threshold, used, progress)
    require_device(device)
    torch = import_module("torch")
    try:
        return _by_blocks(torch, {"device": device}, scores, threshold, used, progress)
    except torch.OutOfMemoryError:
        raise InputError(
            f"memory for the sums of all pairs is required on the device {device}",
            found=f"too little for {len(used):,} nodes",
            hint="count without --device",
        ) from None


def _by_blocks(
    xp: Any,
    device: dict[str, str],
    scores: Sparse,
    threshold: float,
    used: IntArray,
    progress: Progress,
) -> Sums:
    n_nodes, factors = len(used), _safe_factors(scores.data, threshold)
    joint, entropy = (xp.zeros((n_nodes, n_nodes), dtype=xp.float64, **device) for _ in range(2))
    rows = max(SCORES_PER_BLOCK[device.get("device", "cpu")] // max(n_nodes, 1), 1)
    with ThreadPoolExecutor(1 if device else cores()) as pool:
        for start in blocks(progress, COUNTING, range(0, scores.shape[0], rows), "instances"):
            block = scores[start : start + rows].toarray().take(used, axis=1)
            block[block < threshold] = 0
            values = xp.asarray(block, **device)
            weighted = values * xp.log(xp.where(values > 0, values, 1.0))
            carried = xp.asarray(values > 0, dtype=xp.float32)
            joint += carried.T @ carried
            add = partial(_add_entropies, xp, values, weighted, factors, entropy)
            list(pool.map(add, range(min(TASKS, n_nodes))))
    joints, sums = (np.asarray(total.cpu() if device else total) for total in (joint, entropy))
    a, b = np.nonzero(np.triu(joints, k=1))
    return a, b, joints[a, b], sums[a, b]


def _safe_factors(values: FloatArray, threshold: float) -> int:
    """How many sums of two values can be multiplied, so that the product is within `DECADES`."""
    if not len(values):
        return 1
    least, largest = max(float(values.min()), threshold), 2 * float(values.max())
    furthest = max(abs(np.log10(least)), abs(np.log10(largest)), 1.0)
    return max(int(DECADES / furthest), 1)


def _add_entropies(
    xp: Any, values: Any, weighted: Any, factors: int, entropy: Any, first: int
) -> None:
    """Add up, over instances, the entropies of scores of some nodes with those of each later node.

    An entropy is in nats, of two scores divided by their sum. One logarithm of a product of several
    sums replaces their logarithms.

    Args:
        values: Scores, 0 below the threshold, shape (n_instances, n_nodes).
        weighted: ``values * log(values)``, 0 where a score is 0.
        factors: How many sums of two scores can be multiplied without leaving the range of floats.
        entropy: Output that is added to, shape (n_nodes, n_nodes); only its upper triangle.
        first: First of the nodes, which are `TASKS` apart.
    """
    for node in range(first, values.shape[1], TASKS):
        (carrying,) = xp.where(values[:, node] > 0)
        total, numerator = values[carrying, node + 1 :], weighted[carrying, node + 1 :]
        total += values[carrying, node, None]
        numerator += weighted[carrying, node, None]
        numerator /= total
        groups = len(carrying) // factors
        grouped = total[: groups * factors].reshape(groups, factors, total.shape[1])
        logs = xp.log(xp.prod(grouped, axis=1)).sum(axis=0)
        logs += xp.log(xp.prod(total[groups * factors :], axis=0))
        entropy[node, node + 1 :] += logs - numerator.sum(axis=0)


def _gathered(scores: Sparse, threshold: float, used: IntArray, progress: Progress) -> Sums:
    """`Sums` from each score beside the later ones of its instance, some nodes at a time.

    A product of matrices adds up the pairs, in its real part, and their entropies, in the other.
    """
    kept = csr_array(scores, copy=True)
    kept.data[kept.data < threshold] = 0
    kept.eliminate_zeros()
    kept = csr_array(kept[:, used])
    n_nodes, weighted = len(used), kept.data * np.log(kept.data)
    by_node = csc_array(csr_array((np.arange(kept.nnz) + 1, kept.indices, kept.indptr), kept.shape))
    place, starts = by_node.data - 1, by_node.indptr.astype(np.int64)
    width = kept.indptr[1:].astype(np.int64)[by_node.indices] - place - 1
    before = np.append(0, np.cumsum(width))

    def counted(nodes: IntArray) -> Sparse:
        start, end = starts[nodes[[0, -1]]].tolist()
        own, ends = place[start:end], before[start : end + 1] - before[start]
        after = np.arange(ends[-1]) + np.repeat(own + 1 - ends[:-1], width[start:end])
        total, numerator = (
            np.repeat(of[own], width[start:end]) + of[after] for of in (kept.data, weighted)
        )
        each = 1 + 1j * (np.log(total) - numerator / total)
        beside = csr_array((each, kept.indices[after], ends), shape=(end - start, n_nodes))
        holds = (np.ones(end - start), np.arange(end - start), starts[nodes] - start)
        sums = csr_array(csr_array(holds, shape=(len(nodes) - 1, end - start)) @ beside)
        sums.sort_indices()
        return sums

    block = before[starts[:-1]] // PAIRS_PER_BLOCK
    ends = np.append(np.flatnonzero(np.diff(block, prepend=-1)), n_nodes).tolist()
    parts = [np.arange(first, last + 1) for first, last in pairwise(ends)]
    with ThreadPoolExecutor(cores()) as pool:
        found = []
        for part, of_part in zip(parts, pool.map(counted, parts), strict=True):
            found.append(of_part)
            progress(COUNTING, int(part[-1]), n_nodes, "nodes")
    sums = csr_array(vstack(found, format="csr"))
    return row_numbers(sums), sums.indices.astype(np.int64), sums.data.real, sums.data.imag
