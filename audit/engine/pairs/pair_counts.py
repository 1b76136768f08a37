"""All pairs of nodes that some instance carries: their joint counts and their concept confusion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array, tril, triu, vstack

from audit.base.arrays import give_back_pages
from audit.base.dag import FloatArray, IntArray, Sparse
from audit.base.progress import Progress, silent
from audit.engine.pairs.rows import row_numbers

ENTRIES_PER_BLOCK = 32_000_000
"""Number of pairs of nodes, each counted once for each instance, that a block of rows may have."""
ROWS_AT_ONCE = 1_024
"""Number of first nodes whose pairs' confusion is added up at a time."""


@dataclass(frozen=True)
class PairCounts:
    """All pairs of nodes that some instance carries together, a before b, sorted.

    Args:
        a: Node indices, int32 or int64, shape (n_pairs,).
        b: Node indices, likewise, ``a < b``.
        joint: Instances carrying both, likewise, at least 1.
        confusion_sum: Summed entropies of the two values in bits, shape (n_pairs,).
    """

    a: NDArray[Any]
    b: NDArray[Any]
    joint: NDArray[Any]
    confusion_sum: FloatArray

    def __len__(self) -> int:
        return len(self.a)

    def __getitem__(self, chosen: IntArray | slice) -> PairCounts:
        return PairCounts(
            self.a[chosen], self.b[chosen], self.joint[chosen], self.confusion_sum[chosen]
        )

    def keys(self, n_nodes: int) -> IntArray:
        """``a * n_nodes + b`` of each pair, ascending, int64, shape (n_pairs,)."""
        keys = self.a.astype(np.int64)
        keys *= n_nodes
        keys += self.b
        return keys


def support(aggregated: Sparse) -> IntArray:
    """Number of instances carrying each node, int64, shape (n_nodes,)."""
    return np.bincount(aggregated.indices, minlength=aggregated.shape[1]).astype(np.int64)


def count_pairs(aggregated: Sparse, progress: Progress = silent) -> PairCounts:
    """Count the instances that carry both nodes of each pair, and sum their confusion.

    Returns:
        Every pair with a joint instance, ancestor pairs and the root included; empty arrays where
        there is none.

    Time and memory grow with the sum over instances of (nodes per instance)^2, not with n_nodes^2.
    """
    sums = PairSums(aggregated.shape[1])
    sums.add(aggregated, progress)
    return sums.counts()


class PairSums:
    """Sums over all pairs of nodes, to which instances can be added.

    They are the same to the last bit however the instances are divided into batches, if these come
    in the same order.
    """

    def __init__(self, n_nodes: int) -> None:
        self._joint: Sparse = csr_array(coo_array((n_nodes, n_nodes), dtype=np.int32))
        self._deficits: Sparse = csr_array(coo_array((n_nodes, n_nodes), dtype=np.float64))

    def add(self, values: Sparse, progress: Progress = silent) -> None:
        """Add instances.

        Args:
            values: Aggregated values, shape (n_instances, n_nodes), positive where stored,
                canonical CSR.
        """
        done, total = 0, values.shape[0]
        for block in _blocks(values):
            progress("counting pairs", done, total, "instances")
            self._joint = csr_array(self._joint + _joint_counts(block))
            self._deficits = _added(self._deficits, *_larger_beside_smaller(block))
            done += block.shape[0]
            give_back_pages()
        progress("counting pairs", done, total, "instances")

    def counts(self) -> PairCounts:
        """The counts of all instances that were added."""
        joint, n_nodes = self._joint, self._joint.shape[0]
        bits, back = joint.data.astype(np.float64), csr_array(tril(self._deficits).T)
        for start in range(0, n_nodes, ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            lacking = csr_array(triu(self._deficits[rows], start + 1) + back[rows])
            keys, keys_lacking = (
                row_numbers(m) * n_nodes + m.indices for m in (joint[rows], lacking)
            )
            bits[joint.indptr[start] + np.searchsorted(keys, keys_lacking)] -= lacking.data
        first = np.repeat(np.arange(n_nodes, dtype=np.int32), np.diff(joint.indptr))
        return PairCounts(first, joint.indices, joint.data, bits)


def _blocks(values: Sparse) -> Iterator[Sparse]:
    """Blocks of rows whose pairs are few enough to be counted at once; a row alone if it is not."""
    pairs = np.cumsum(np.diff(values.indptr).astype(np.int64) ** 2)
    starts = np.flatnonzero(np.diff(pairs // ENTRIES_PER_BLOCK, prepend=-1)).tolist()
    for start, end in pairwise([*starts, values.shape[0]]):
        yield csr_array(values[start:end])


def _joint_counts(block: Sparse) -> Sparse:
    """Joint counts of all pairs of nodes: strict upper triangle, int32, canonical CSR."""
    ones = csr_array((np.ones(block.nnz, np.int32), block.indices, block.indptr), block.shape)
    counts = csr_array(triu(ones.T @ ones, k=1, format="csr"))
    counts.sort_indices()
    return counts


def _added(total: Sparse, holds: Sparse, beside: Sparse) -> Sparse:
    """``total + holds.T @ beside``, added line by line: so a sparse product adds its terms."""
    same = eye_array(total.shape[0], format="csr")
    return csr_array(vstack([same, holds], "csr").T.tocsr() @ vstack([total, beside], "csr"))


def _larger_beside_smaller(block: Sparse) -> tuple[Sparse, Sparse]:
    """Two matrices with a line for each (instance, different value of that instance).

    Two equal values are one bit and lack nothing, so only pairs of unequal values are visited, each
    once.

    Returns:
        1 where the node has that value; and, where a node's value is larger, one bit minus the
        entropy of the two.
    """
    levels = np.unique(block.data)
    rank = np.searchsorted(levels, block.data)
    # asking for the indices has numpy sort stably, fast where instances are in order
    keys, _, line = np.unique(
        row_numbers(block) * len(levels) + rank, return_index=True, return_inverse=True
    )
    instance, own_rank = np.divmod(keys, len(levels))
    shape = (len(keys), block.shape[1])
    holds = coo_array((np.ones(len(line)), (line, block.indices)), shape=shape)
    every = csr_array(block[instance])
    own = np.repeat(levels[own_rank], np.diff(every.indptr))
    larger = np.flatnonzero(every.data > own)
    lacking = 1.0 - binary_entropy(own[larger].astype(float), every.data[larger].astype(float))
    indptr = np.searchsorted(larger, every.indptr)
    return csr_array(holds), csr_array((lacking, every.indices[larger], indptr), shape=shape)


def binary_entropy(u: FloatArray, v: FloatArray) -> FloatArray:
    """Shannon entropy in bits of two positive values normalised to sum to one.

    In [0, 1]; exactly 1 for equal values. Shapes as given.

    >>> binary_entropy(np.array([1.0, 1.0]), np.array([1.0, 3.0])).round(4).tolist()
    [1.0, 0.8113]
    """
    p = u / (u + v)
    q = v / (u + v)
    return -(p * np.log2(p) + q * np.log2(q))
