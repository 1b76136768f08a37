"""Joint counts and concept confusion of scores: all pairs of nodes, exact, without sampling."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
from scipy.sparse import csc_array, csr_array

from audit.base.dag import FloatArray, IntArray, Sparse
from audit.base.machine import cores
from audit.base.progress import Progress, blocks, silent
from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.scores.score_loops import (
    COUNTING,
    SPARSE_COST,
    Met,
    add_entropies,
    count_later,
    met_of,
    safe_factors,
)

Kernel: TypeAlias = Callable[[Sparse, float, IntArray, Executor, Progress], list[Met]]
"""A function that counts the pairs of scores at a threshold, for some of the nodes."""

SCORES_PER_BLOCK = 400_000
"""Number of scores, zeros included, that the dense kernel holds in the cache at a time."""
DENSE_NODES = 7_000
"""Largest number of nodes for which the dense kernel is used; it holds n_nodes^2 sums."""
TASKS = 16
"""Parts of a block's nodes that cores share; a node is in one part, so summation has one order."""


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
        device: Name of the PyTorch device to count on, for
            `audit.engine.scores.score_tensors.device_named`; None: count with NumPy.

    Returns:
        Every pair with a joint instance; confusion in bits. All kernels give the same joint counts,
        and confusion over all instances within 1e-12.

    Raises:
        InputError: If the device does not exist, or PyTorch is not installed.

    The dense kernel takes (scores at the threshold) * n_nodes / 2 steps, the sparse one the sum
    over instances of (nodes at the threshold)^2 / 2; the cheaper is chosen. Both use all cores, and
    the order of instances changes no result, except by rounding.
    """
    used = _used(aggregated, threshold)
    if device is not None:
        from audit.engine.scores.score_tensors import met_on

        return _collect(met_on(device, aggregated, threshold, used, progress), used)
    kernel = _cheaper_kernel(_widths(aggregated, threshold), len(used))
    with ThreadPoolExecutor(cores()) as pool:
        return _collect(kernel(aggregated, threshold, used, pool, progress), used)


def support_at(aggregated: Sparse, threshold: float) -> IntArray:
    """Number of instances on which each node's score reaches a threshold, int64, (n_nodes,)."""
    reached = aggregated.indices[aggregated.data >= threshold]
    return np.bincount(reached, minlength=aggregated.shape[1]).astype(np.int64)


def _used(scores: Sparse, threshold: float) -> IntArray:
    """Nodes that reach the threshold in any instance, ascending."""
    some = np.zeros(scores.shape[1], np.bool_)
    some[scores.indices[scores.data >= threshold]] = True
    return np.flatnonzero(some)


def _widths(scores: Sparse, threshold: float) -> IntArray:
    """Nodes at the threshold of each instance, shape (n_instances,)."""
    reached = scores.data >= threshold
    bounds = zip(scores.indptr, scores.indptr[1:], strict=False)
    return np.array([np.count_nonzero(reached[i:j]) for i, j in bounds], np.int64)


def _at_least(scores: Sparse, threshold: float) -> Sparse:
    """The scores from the threshold up; the given matrix is left as it is."""
    kept = csr_array(scores, copy=True)
    kept.data[kept.data < threshold] = 0
    kept.eliminate_zeros()
    return kept


def _cheaper_kernel(widths: IntArray, n_nodes: int) -> Kernel:
    dense_steps = float(widths.sum()) * n_nodes / 2
    sparse_steps = float((widths.astype(np.float64) ** 2).sum()) / 2
    cheap = dense_steps <= SPARSE_COST * sparse_steps
    return _dense_kernel if cheap and n_nodes <= DENSE_NODES else _sparse_kernel


def _dense_kernel(
    scores: Sparse,
    threshold: float,
    used: IntArray,
    pool: Executor,
    progress: Progress,
) -> list[Met]:
    """Instances block by block; each node beside all after it, on the instances that carry it.

    A score of 0 beside another has no entropy, so none need be left out.
    """
    n, n_nodes = scores.shape[0], len(used)
    joint, entropy = np.zeros((n_nodes, n_nodes)), np.zeros((n_nodes, n_nodes))
    rows = max(SCORES_PER_BLOCK // max(n_nodes, 1), 1)
    factors = safe_factors(scores.data, threshold)
    for start in blocks(progress, COUNTING, range(0, n, rows), "instances"):
        values = scores[start : start + rows].toarray().take(used, axis=1)
        values[values < threshold] = 0
        weighted, carried = times_log(values), (values > 0).astype(np.float32)
        joint += carried.T @ carried

        def add(first: int, values: FloatArray = values, weighted: FloatArray = weighted) -> None:
            add_entropies(first, TASKS, values, weighted, factors, entropy)

        list(pool.map(add, range(min(TASKS, n_nodes))))
    return [
        met_of(node, joint[node, node + 1 :].astype(np.int64), entropy[node, node + 1 :])
        for node in range(n_nodes)
    ]


def times_log(values: FloatArray) -> FloatArray:
    """Values times their natural logarithms; 0 where a value is 0."""
    return values * np.log(np.where(values > 0, values, 1.0))


def _sparse_kernel(
    scores: Sparse,
    threshold: float,
    used: IntArray,
    pool: Executor,
    progress: Progress,
) -> list[Met]:
    """Node by node; each of its scores beside the later scores of the same instance."""
    scores = csr_array(_at_least(scores, threshold)[:, used])
    weighted = times_log(scores.data)
    stored = csr_array((np.arange(scores.nnz) + 1, scores.indices, scores.indptr), scores.shape)
    by_node = csc_array(stored)
    places = by_node.data - 1
    ends = scores.indptr[1:].astype(np.int64)[by_node.indices]
    nodes, n_nodes = scores.indices.astype(np.int32), scores.shape[1]

    def met(node: int) -> Met:
        of_node = slice(by_node.indptr[node], by_node.indptr[node + 1])
        joint, entropy = count_later(
            places[of_node], ends[of_node], scores.data, weighted, nodes, node + 1, n_nodes
        )
        return met_of(node, joint, entropy)

    each = blocks(progress, COUNTING, range(n_nodes), "nodes")
    return [line for _, line in zip(each, pool.map(met, range(n_nodes)), strict=True)]


def _collect(lines: list[Met], used: IntArray) -> PairCounts:
    if not lines:
        return PairCounts.none()
    met, joints, sums = (np.concatenate(column) for column in zip(*lines, strict=True))
    a = np.repeat(used, [len(after) for after, _, _ in lines])
    return PairCounts(a, used[met], joints, sums)
