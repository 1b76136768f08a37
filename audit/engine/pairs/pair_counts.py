"""All pairs of nodes that some instance carries: their joint counts and their concept confusion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array, eye_array, triu, vstack

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.base.progress import Progress, silent
from audit.engine.pairs.joint import NODES_PER_BLOCK, Block, joint_counts, pair_matrix
from audit.engine.pairs.rows import row_numbers

ENTRIES_PER_BLOCK = 8_000_000
"""Number of stored values that a block of instances may expand to while confusion is summed."""


def entropy_deficits(values: Sparse, progress: Progress) -> Sparse:
    """One bit minus the entropy, summed over instances; the upper triangle of (n_nodes, n_nodes).

    Two equal values are one bit and lack nothing, so only pairs of unequal values are visited, each
    once.

    Args:
        values: Aggregated values, shape (n_instances, n_nodes), positive where stored,
            canonical CSR.
    """
    total = _by_products(values, progress)
    found = total.tocoo()
    ends = np.minimum(found.row, found.col), np.maximum(found.row, found.col)
    both = csr_array((found.data, ends), shape=total.shape)
    both.sum_duplicates()
    return both


def _by_products(values: Sparse, progress: Progress) -> Sparse:
    """Deficits from the smaller value to the larger one, a block of instances at a time."""
    total = csr_array((values.shape[1], values.shape[1]), dtype=np.float64)
    done, n = 0, values.shape[0]
    for block in _blocks(values):
        progress("measuring confusion", done, n, "instances")
        total = _added(total, *_larger_beside_smaller(block))
        done += block.shape[0]
    progress("measuring confusion", n, n, "instances")
    return total


def _added(total: Sparse, holds: Sparse, beside: Sparse) -> Sparse:
    """``total + holds.T @ beside``, added line by line: so a sparse product adds its terms."""
    same = eye_array(total.shape[0], format="csr")
    return csr_array(vstack([same, holds], "csr").T.tocsr() @ vstack([total, beside], "csr"))


def _blocks(values: Sparse) -> list[Sparse]:
    """Row blocks small enough to expand: each stored value may be repeated once per value."""
    per_row = np.diff(values.indptr).astype(np.int64)
    expanded = np.cumsum(per_row * np.minimum(per_row, len(np.unique(values.data))))
    starts = np.flatnonzero(np.diff(expanded // ENTRIES_PER_BLOCK, prepend=-1))
    ends = np.append(starts, values.shape[0])[1:]
    bounds = zip(starts.tolist(), ends.tolist(), strict=True)
    return [csr_array(values[start:end]) for start, end in bounds]


def _larger_beside_smaller(block: Sparse) -> tuple[Sparse, Sparse]:
    """Two matrices with a line for each (instance, different value of that instance).

    Returns:
        1 where the node has that value; and, where a node's value is larger, one bit minus the
        entropy of the two.
    """
    instance = row_numbers(block)
    levels, rank, line_instance, line_rank, holds = _values_of_instances(block)
    smallest = np.full(block.shape[0], len(levels))
    np.minimum.at(smallest, instance, rank)
    candidates = np.flatnonzero(rank > smallest[instance])
    per_row = np.bincount(instance[candidates], minlength=block.shape[0])
    first = np.cumsum(per_row) - per_row
    width = per_row[line_instance]
    beside = np.repeat(np.arange(len(line_rank)), width)
    within = np.arange(len(beside)) - np.repeat(np.cumsum(width) - width, width)
    source = candidates[first[line_instance[beside]] + within]

    larger = rank[source] > line_rank[beside]
    source, beside = source[larger], beside[larger]
    smaller_value, larger_value = levels[line_rank[beside]], block.data[source]
    deficit = 1.0 - binary_entropy(smaller_value.astype(float), larger_value.astype(float))
    deficits = coo_array((deficit, (beside, block.indices[source])), shape=holds.shape)
    return holds, csr_array(deficits)


def _values_of_instances(
    block: Sparse,
) -> tuple[NDArray[Any], IntArray, IntArray, IntArray, Sparse]:
    """The lines of a block: each (instance, different value of that instance).

    Returns:
        The different values, the rank of each stored one, the instance and the rank of each line,
        and a matrix that is 1 where the node has the value of the line.
    """
    levels = np.unique(block.data)
    rank = np.searchsorted(levels, block.data)
    # asking for the indices has numpy sort stably, fast where instances are in order
    keys, _, line = np.unique(
        row_numbers(block) * len(levels) + rank, return_index=True, return_inverse=True
    )
    line_instance, line_rank = np.divmod(keys, len(levels))
    shape = (len(keys), block.shape[1])
    holds = coo_array((np.ones(len(line)), (line, block.indices)), shape=shape)
    return levels, rank, line_instance, line_rank, csr_array(holds)


def confusion_added(values: Sparse, before: Sparse) -> Sparse:
    """Earlier sums of confusion, with the entropies of further instances added one by one.

    A sum is the same to the last bit however its instances are divided into batches.

    Args:
        values: Aggregated values, shape (n_instances, n_nodes), positive where stored.
        before: The earlier sums, shape (n_nodes, n_nodes), with an entry, which may be 0, for each
            pair of nodes that an instance carries, first node before second.
    """
    total = before
    for block in _blocks(values):
        added = _added_above(total, *_all_beside_each_value(block))
        total = pair_matrix(added, values.shape[1], np.float64)
    return total


def _added_above(total: Sparse, holds: Sparse, beside: Sparse) -> Iterator[Block]:
    """What is above the diagonal of ``total + holds.T @ beside``, some first nodes at a time."""
    by_node = csc_array(holds)
    for start in range(0, total.shape[0], NODES_PER_BLOCK):
        some = slice(start, start + NODES_PER_BLOCK)
        lines, others = csr_array(by_node[:, some]), csr_array(beside[:, start:])
        before = csr_array(total[some, start:])
        added = csr_array(triu(_added(before, lines, others), k=1, format="csr"))
        added.sort_indices()
        yield np.diff(added.indptr), added.indices + np.int32(start), added.data


def _all_beside_each_value(block: Sparse) -> tuple[Sparse, Sparse]:
    """Two matrices with a line for each (instance, different value of that instance).

    Returns:
        1 where the node has that value; and the entropy of that value and each node's.
    """
    levels, _, of_line, line_rank, holds = _values_of_instances(block)
    every = csr_array(block[of_line])
    own = np.repeat(levels[line_rank].astype(float), np.diff(every.indptr))
    every.data = binary_entropy(own, every.data.astype(float))
    return holds, every


def pairs_outside(values: Sparse, outside: BoolArray) -> tuple[IntArray, FloatArray]:
    """List the pairs of nodes of each instance in which at least one node is outside.

    Args:
        values: Aggregated values, shape (n_instances, n_nodes), canonical CSR.
        outside: Which nodes are, shape (n_nodes,).

    Returns:
        ``a * n_nodes + b`` of each pair, a before b, those of a pair in the order of its instances;
        and the entropy of its two values in bits; shapes (n_listed,).
    """
    start = values.indptr.astype(np.int64)[row_numbers(values)]
    at, own = np.arange(values.nnz), outside[values.indices]
    before = np.concatenate([[0], np.cumsum(own)])
    with_any = _each_with(at[own], at, start[own], at[own])
    with_outside = _each_with(at[~own], at[own], before[start[~own]], before[at[~own]])
    first, second = np.concatenate([with_any, with_outside], axis=1)
    nodes, value = values.indices.astype(np.int64), values.data.astype(float)
    keys = nodes[first] * values.shape[1] + nodes[second]
    return keys, binary_entropy(value[first], value[second])


def _each_with(second: IntArray, others: IntArray, begin: IntArray, end: IntArray) -> IntArray:
    """Each of ``others[begin:end]`` above its ``second``, shape (2, n_pairs)."""
    width = end - begin
    place = np.arange(width.sum()) + np.repeat(begin - np.cumsum(width) + width, width)
    return np.stack([others[place], np.repeat(second, width)])


def binary_entropy(u: FloatArray, v: FloatArray) -> FloatArray:
    """Shannon entropy in bits of two positive values normalised to sum to one.

    In [0, 1]; exactly 1 for equal values. Shapes as given.

    >>> binary_entropy(np.array([1.0, 1.0]), np.array([1.0, 3.0])).round(4).tolist()
    [1.0, 0.8113]
    """
    p = u / (u + v)
    q = v / (u + v)
    return -(p * np.log2(p) + q * np.log2(q))


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

    @classmethod
    def none(cls) -> PairCounts:
        """Counts without any pair."""
        empty = np.empty(0, np.int64)
        return cls(empty, empty, empty, np.empty(0))


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
    used = np.flatnonzero(support(aggregated)).astype(np.int32)
    compact = csr_array(aggregated[:, used])
    deficits = entropy_deficits(compact, progress)
    joint = joint_counts(compact, progress)
    first, second = np.repeat(used, np.diff(joint.indptr)), used[joint.indices]
    counts = PairCounts(first, second, joint.data, joint.data.astype(np.float64))
    n_nodes, ends = aggregated.shape[1], (row_numbers(deficits), deficits.indices)
    unequal = used[ends[0]].astype(np.int64) * n_nodes + used[ends[1]]
    counts.confusion_sum[np.searchsorted(counts.keys(n_nodes), unequal)] -= deficits.data
    return counts
