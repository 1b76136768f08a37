"""Joint counts and concept confusion of scores: all pairs of nodes, exact, without sampling."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from audit.engine.pairs import PairCounts
from audit.progress import Progress, blocks, silent

Sparse: TypeAlias = csr_array[Any, tuple[int, int]]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
Met: TypeAlias = tuple[IntArray, IntArray, FloatArray]
"""Of one node: the nodes after it that it meets, joint and confusion with them."""
Kernel: TypeAlias = Callable[[Sparse, float, IntArray, Executor, Progress], list[Met]]
"""What counts the pairs of scores at a threshold, of some of the nodes."""

SCORES_PER_BLOCK = 400_000
"""Scores, those of 0 included, that the dense kernel holds in the cache at a time."""
DENSE_NODES = 7_000
"""Nodes up to which the dense kernel is used: it holds n_nodes^2 sums."""
TASKS = 16
"""Parts of one block's nodes that cores share; each node belongs to one, so sums have one order."""
_COUNTING = "counting pairs of scores"
SPARSE_COST = 4.0
"""What a pair costs the sparse kernel, in pairs of the dense one; measured."""


def count_score_pairs(
    aggregated: Sparse, threshold: float, progress: Progress = silent
) -> PairCounts:
    """Count the instances whose two scores both reach a threshold, and sum their confusion.

    The entropy of two scores a and b normalised to sum to one is
    ``ln(a + b) - (a ln a + b ln b) / (a + b)``, so that each pair costs one logarithm.

    Args:
        aggregated: Aggregated scores, shape (n_instances, n_nodes), canonical CSR.
        threshold: A score below it adds nothing; above 0.
        progress: What is told how far the count is.

    Returns:
        Every pair with a joint instance; confusion in bits.

    The dense kernel takes (scores at the threshold) * n_nodes / 2 steps, the sparse one the sum
    over instances of (nodes at the threshold)^2 / 2; the cheaper is chosen. Both use all cores, and
    give the same in whatever order instances come, to rounding.
    """
    widths, used = _reaching(aggregated, threshold)
    kernel = _cheaper_kernel(widths, len(used))
    with ThreadPoolExecutor(_cores()) as pool:
        return _collect(kernel(aggregated, threshold, used, pool, progress), used)


def support_at(aggregated: Sparse, threshold: float) -> IntArray:
    """Instances whose score reaches a threshold, of each node, int64, shape (n_nodes,)."""
    reached = aggregated.indices[aggregated.data >= threshold]
    return np.bincount(reached, minlength=aggregated.shape[1]).astype(np.int64)


def _reaching(scores: Sparse, threshold: float) -> tuple[IntArray, IntArray]:
    """Nodes at the threshold of each instance, shape (n_instances,), and the nodes in any."""
    reached = scores.data >= threshold
    bounds = zip(scores.indptr, scores.indptr[1:], strict=False)
    widths = np.array([np.count_nonzero(reached[i:j]) for i, j in bounds], np.int64)
    some = np.zeros(scores.shape[1], np.bool_)
    some[scores.indices[reached]] = True
    return widths, np.flatnonzero(some)


def _at_least(scores: Sparse, threshold: float) -> Sparse:
    """The scores from the threshold up; the given matrix is left as it is."""
    kept = csr_array(scores, copy=True)
    kept.data[kept.data < threshold] = 0
    kept.eliminate_zeros()
    return kept


def _cores() -> int:
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available else os.cpu_count() or 1


def _cheaper_kernel(widths: IntArray, n_nodes: int) -> Kernel:
    dense_steps = float(widths.sum()) * n_nodes
    sparse_steps = float((widths.astype(np.float64) ** 2).sum())
    cheap = dense_steps <= SPARSE_COST * sparse_steps
    return _dense_kernel if cheap and n_nodes <= DENSE_NODES else _sparse_kernel


def _dense_kernel(
    scores: Sparse, threshold: float, used: IntArray, pool: Executor, progress: Progress
) -> list[Met]:
    """Instances block by block; each node beside all after it, on the instances that carry it.

    A score of 0 beside another has no entropy, so none need be left out.
    """
    n, n_nodes = scores.shape[0], len(used)
    joint, entropy = np.zeros((n_nodes, n_nodes)), np.zeros((n_nodes, n_nodes))
    rows = max(SCORES_PER_BLOCK // max(n_nodes, 1), 1)
    factors = _safe_factors(scores.data, threshold)
    for start in blocks(progress, _COUNTING, range(0, n, rows), "instances"):
        values = scores[start : start + rows].toarray()[:, used]
        values[values < threshold] = 0
        weighted, carried = _times_log(values), (values > 0).astype(np.float64)
        joint += carried.T @ carried

        def add(nodes: range, values: FloatArray = values, weighted: FloatArray = weighted) -> None:
            for node in nodes:
                entropy[node, node + 1 :] += _entropy_with_later(values, weighted, node, factors)

        list(pool.map(add, (range(task, n_nodes, TASKS) for task in range(TASKS))))
    return [
        _met(node, joint[node, node + 1 :].astype(np.int64), entropy[node, node + 1 :])
        for node in range(n_nodes)
    ]


def _safe_factors(values: FloatArray, threshold: float) -> int:
    """How many sums of two values can be multiplied without leaving the range of a float."""
    if not len(values):
        return 1
    least, largest = max(float(values.min()), threshold), 2 * float(values.max())
    furthest = max(abs(np.log10(least)), abs(np.log10(largest)), 1.0)
    return max(int(300 / furthest), 1)


def _entropy_with_later(
    values: FloatArray, weighted: FloatArray, node: int, factors: int
) -> FloatArray:
    """Summed entropy of one node with every node after it, shape (n_nodes - node - 1,).

    The logarithms of several sums are one logarithm of their product.
    """
    carrying = np.flatnonzero(values[:, node])
    if not len(carrying):
        return np.zeros(values.shape[1] - node - 1)
    total = values[carrying, node + 1 :]
    total += values[carrying, node, np.newaxis]
    numerator = weighted[carrying, node + 1 :]
    numerator += weighted[carrying, node, np.newaxis]
    numerator /= total
    products = np.multiply.reduceat(total, np.arange(0, len(carrying), factors), axis=0)
    entropy: FloatArray = np.log(products).sum(axis=0) - numerator.sum(axis=0)
    return entropy


def _times_log(values: FloatArray) -> FloatArray:
    return values * np.log(np.where(values > 0, values, 1.0))


def _sparse_kernel(
    scores: Sparse, threshold: float, used: IntArray, pool: Executor, progress: Progress
) -> list[Met]:
    """Node by node; each of its scores beside the later scores of the same instance."""
    scores = csr_array(_at_least(scores, threshold)[:, used])
    weighted = _times_log(scores.data)
    positions = csr_array((np.arange(scores.nnz) + 1, scores.indices, scores.indptr), scores.shape)
    by_node = csc_array(positions)
    ends = scores.indptr[1:]
    n_nodes = scores.shape[1]

    def met(node: int) -> Met:
        stored = slice(by_node.indptr[node], by_node.indptr[node + 1])
        start = by_node.data[stored]
        width = ends[by_node.indices[stored]] - start
        within = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
        other = np.repeat(start, width) + within
        total = np.repeat(scores.data[start - 1], width) + scores.data[other]
        numerator = np.repeat(weighted[start - 1], width) + weighted[other]
        entropy = np.log(total) - numerator / total
        after = scores.indices[other] - (node + 1)
        length = n_nodes - node - 1
        joint = np.bincount(after, minlength=length).astype(np.int64)
        summed = np.bincount(after, weights=entropy, minlength=length).astype(np.float64)
        return _met(node, joint, summed)

    each = blocks(progress, _COUNTING, range(n_nodes), "nodes")
    return [line for _, line in zip(each, pool.map(met, range(n_nodes)), strict=True)]


def _met(node: int, joint: IntArray, entropy: FloatArray) -> Met:
    """The pairs of a line with a joint instance; rounding is kept from leaving [0, joint]."""
    met = np.flatnonzero(joint)
    return node + 1 + met, joint[met], np.clip(entropy[met] / np.log(2), 0, joint[met])


def _collect(lines: list[Met], used: IntArray) -> PairCounts:
    if not lines:
        return PairCounts.none()
    met, joints, sums = (np.concatenate(column) for column in zip(*lines, strict=True))
    a = np.repeat(used, [len(after) for after, _, _ in lines])
    return PairCounts(a, used[met], joints, sums)
