"""Joint counts and concept confusion of scores: all pairs of nodes, exact, without sampling."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from audit.engine.pairs import PairCounts

Sparse: TypeAlias = csr_array[Any, tuple[int, int]]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
Line: TypeAlias = tuple[IntArray, FloatArray]
"""Of one node: joint and summed entropy with every node after it, shape (n_nodes - node - 1,)."""
Met: TypeAlias = tuple[IntArray, IntArray, FloatArray]
"""Of one node: the nodes after it that it meets, joint and confusion with them."""

INSTANCES_PER_BLOCK = 2_048
"""Instances that the dense kernel holds in the cache at a time."""
SPARSE_COST = 2.0
"""What a pair costs the sparse kernel, in pairs of the dense one; measured."""


def count_score_pairs(aggregated: Sparse, threshold: float) -> PairCounts:
    """Count the instances whose two scores both reach a threshold, and sum their confusion.

    The entropy of two scores a and b normalised to sum to one is
    ``ln(a + b) - (a ln a + b ln b) / (a + b)``, so that each pair costs one logarithm.

    Args:
        aggregated: Aggregated scores, shape (n_instances, n_nodes), canonical CSR.
        threshold: A score below it adds nothing; above 0.

    Returns:
        Every pair with a joint instance; confusion in bits.

    The dense kernel takes n_instances * n_nodes^2 / 2 steps, the sparse one the sum over instances
    of (nodes at the threshold)^2 / 2; the cheaper is chosen. Both use all cores, and give the same
    in whatever order instances come, to rounding.
    """
    kept = _at_least(aggregated, threshold)
    used = np.flatnonzero(np.bincount(kept.indices, minlength=kept.shape[1]))
    compact = csr_array(kept[:, used])
    line_of = _cheaper_kernel(compact)
    with ThreadPoolExecutor(_cores()) as pool:
        met = list(pool.map(lambda node: _met(node, *line_of(node)), range(len(used))))
    return _collect(met, used)


def _at_least(scores: Sparse, threshold: float) -> Sparse:
    kept = csr_array(scores, copy=True)
    kept.data[kept.data < threshold] = 0
    kept.eliminate_zeros()
    return kept


def _cores() -> int:
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available else os.cpu_count() or 1


def _cheaper_kernel(scores: Sparse) -> Callable[[int], Line]:
    dense_steps = scores.shape[0] * scores.shape[1] ** 2
    sparse_steps = float((np.diff(scores.indptr).astype(np.float64) ** 2).sum())
    return (
        _dense_kernel(scores)
        if dense_steps <= SPARSE_COST * sparse_steps
        else _sparse_kernel(scores)
    )


def _dense_kernel(scores: Sparse) -> Callable[[int], Line]:
    """A score of 0 beside any other has no entropy, so that none need be left out."""
    values = np.ascontiguousarray(scores.toarray().T)
    weighted = _times_log(values)
    carried = (values > 0).astype(np.float64)
    joint = (carried @ carried.T).astype(np.int64)

    def line(node: int) -> Line:
        entropy = np.zeros(values.shape[0] - node - 1)
        for start in range(0, values.shape[1], INSTANCES_PER_BLOCK):
            block = slice(start, start + INSTANCES_PER_BLOCK)
            total = values[node + 1 :, block] + values[node, block]
            total[total == 0] = 1.0
            numerator = weighted[node + 1 :, block] + weighted[node, block]
            numerator /= total
            entropy += (np.log(total, out=total) - numerator).sum(axis=1)
        return joint[node, node + 1 :], entropy

    return line


def _times_log(values: FloatArray) -> FloatArray:
    return values * np.log(np.where(values > 0, values, 1.0))


def _sparse_kernel(scores: Sparse) -> Callable[[int], Line]:
    weighted = _times_log(scores.data)
    positions = csr_array((np.arange(scores.nnz) + 1, scores.indices, scores.indptr), scores.shape)
    by_node = csc_array(positions)
    ends = scores.indptr[1:]
    n_nodes = scores.shape[1]

    def line(node: int) -> Line:
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
        return joint, summed

    return line


def _met(node: int, joint: IntArray, entropy: FloatArray) -> Met:
    """The pairs of a line with a joint instance; rounding is kept from leaving [0, joint]."""
    met = np.flatnonzero(joint)
    return node + 1 + met, joint[met], np.clip(entropy[met] / np.log(2), 0, joint[met])


def _collect(lines: list[Met], used: IntArray) -> PairCounts:
    if not lines:
        none = np.empty(0, np.int64)
        return PairCounts(none, none, none, np.empty(0))
    met, joints, sums = (np.concatenate(column) for column in zip(*lines, strict=True))
    a = np.repeat(used, [len(after) for after, _, _ in lines])
    return PairCounts(a, used[met], joints, sums)
