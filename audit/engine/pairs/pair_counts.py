"""Joint counts and concept confusion of all pairs of nodes."""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array, eye_array, triu, vstack

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.base.machine import can_compile, cores
from audit.base.progress import Progress, blocks, silent
from audit.engine.pairs.rows import row_numbers

_Block: TypeAlias = tuple[NDArray[Any], NDArray[np.int32], NDArray[Any]]
"""Of some first nodes: how many second nodes each has, those nodes, and their counts."""

NODES_PER_BLOCK = 512
"""Number of first nodes whose pairs one sparse product counts."""
NODES_PER_THREAD = 32
"""Number of first nodes whose pairs a thread of the compiled loops counts at a time."""
WORTH_COMPILING = 20_000_000
"""Number of increments from which loading the compiled loops saves time."""
VALUES_PER_CHUNK = 1 << 19
"""Number of values in each chunk of a growing array."""


def joint_counts(
    carried: Sparse, progress: Progress = silent, *, compiled: bool | None = None
) -> Sparse:
    """Joint counts of all pairs of nodes.

    Args:
        carried: A stored value where an instance carries a node, shape (n_instances, n_nodes),
            canonical CSR.
        progress: Progress callback, in first nodes counted.
        compiled: Whether numba's loops count; None: if it is installed and worth it. The counts
            are the same either way.

    Returns:
        Strict upper triangle of shape (n_nodes, n_nodes), int32, canonical CSR: a stored value for
        each pair with a joint instance.

    Time grows with the number of `increments`, memory beyond the result with the stored values of
    ``carried``.
    """
    if compiled is None:
        compiled = increments(carried) >= WORTH_COMPILING and can_compile()
    growing = _Growing(np.int64), _Growing(np.int32), _Growing(np.int32)
    for block in (_by_loops if compiled else _by_products)(carried, progress):
        for whole, part in zip(growing, block, strict=True):
            whole.add(part)
    widths, seconds, counts = (whole.all() for whole in growing)
    starts = np.zeros(carried.shape[1] + 1, np.int32 if len(counts) < 2**31 else np.int64)
    np.cumsum(widths, out=starts[1:])
    shape = (carried.shape[1], carried.shape[1])
    return csr_array((counts, seconds, starts), shape=shape)


def increments(carried: Sparse) -> int:
    """Pairs of nodes summed over instances: the additions that an exact count of pairs takes."""
    per_instance = np.diff(carried.indptr).astype(np.int64)
    return int((per_instance * (per_instance - 1)).sum()) // 2


class _Growing:
    """An array of parts that come one by one; memory holds each value once, also at the end.

    Parts are in anonymous maps, because what ``malloc`` frees it may keep.
    """

    def __init__(self, kind: type[np.integer[Any]]) -> None:
        self.kind = np.dtype(kind)
        self.size = 0
        self.chunks: deque[NDArray[Any]] = deque()

    def add(self, part: NDArray[Any]) -> None:
        while len(part):
            used = self.size % VALUES_PER_CHUNK
            if not used:
                room = mmap.mmap(-1, VALUES_PER_CHUNK * self.kind.itemsize)
                self.chunks.append(np.frombuffer(room, self.kind))
            fits = part[: VALUES_PER_CHUNK - used]
            self.chunks[-1][used : used + len(fits)] = fits
            self.size += len(fits)
            part = part[len(fits) :]

    def all(self) -> NDArray[Any]:
        whole = np.empty(self.size, self.kind)
        for start in range(0, self.size, VALUES_PER_CHUNK):
            into = whole[start : start + VALUES_PER_CHUNK]
            into[:] = self.chunks.popleft()[: len(into)]
        return whole


def _starts(carried: Sparse, width: int, progress: Progress) -> Iterator[int]:
    starts = range(0, max(carried.shape[1], 1), width)
    return blocks(progress, "counting pairs", starts, "nodes")


def _by_products(carried: Sparse, progress: Progress) -> Iterator[_Block]:
    """One sparse product a block of first nodes."""
    ones = csc_array(_with_data(carried, np.ones(carried.nnz, np.int32)))
    for start in _starts(carried, NODES_PER_BLOCK, progress):
        first = csr_array(ones[:, start : start + NODES_PER_BLOCK].T)
        block = csr_array(triu(first @ csr_array(ones[:, start:]), k=1, format="csr"))
        block.sort_indices()
        yield np.diff(block.indptr), block.indices + np.int32(start), block.data


def _by_loops(carried: Sparse, progress: Progress) -> Iterator[_Block]:
    """Compiled loops, a block of first nodes a thread at a time."""
    from audit.engine.pairs.compiled import joint_of

    n_nodes = carried.shape[1]
    columns = carried.indices.astype(np.int32, copy=False)
    by_node = csc_array(_with_data(carried, np.arange(carried.nnz, dtype=np.int32)))
    stored, places = by_node.indptr.astype(np.int32), by_node.data
    ends = carried.indptr[1:].astype(np.int32)[by_node.indices]
    del by_node

    def count(start: int) -> _Block:
        stop = min(start + NODES_PER_THREAD, n_nodes)
        block: _Block = joint_of(start, stop, columns, ends, stored, places, n_nodes)
        return block

    with ThreadPoolExecutor(cores()) as threads:
        starts = iter(range(0, max(n_nodes, 1), NODES_PER_THREAD))
        under_way = deque(threads.submit(count, start) for start in islice(starts, 2 * cores()))
        for _ in _starts(carried, NODES_PER_THREAD, progress):
            yield under_way.popleft().result()
            under_way.extend(threads.submit(count, start) for start in islice(starts, 1))


def _with_data(pattern: Sparse, data: NDArray[Any]) -> Sparse:
    return csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)


ENTRIES_PER_BLOCK = 16_000_000
"""Number of stored values that a block of instances may expand to while confusion is summed."""


@dataclass(frozen=True)
class PairCounts:
    """All pairs of nodes that some instance carries together, a before b, sorted.

    Args:
        a: Node indices, shape (n_pairs,).
        b: Node indices, shape (n_pairs,), ``a < b``.
        joint: Instances carrying both, int64, shape (n_pairs,), at least 1.
        confusion_sum: Summed entropies of the two values in bits, shape (n_pairs,).
    """

    a: IntArray
    b: IntArray
    joint: IntArray
    confusion_sum: FloatArray

    def __len__(self) -> int:
        return len(self.a)

    def __getitem__(self, chosen: IntArray) -> PairCounts:
        return PairCounts(
            self.a[chosen], self.b[chosen], self.joint[chosen], self.confusion_sum[chosen]
        )

    @classmethod
    def none(cls) -> PairCounts:
        """Counts without any pair."""
        empty = np.empty(0, np.int64)
        return cls(empty, empty, empty, np.empty(0))


def merged(first: PairCounts, second: PairCounts, n_nodes: int) -> PairCounts:
    """Sum of the counts of two sets of instances: joint counts exactly, entropies to rounding."""
    keys = np.concatenate([counts.a * n_nodes + counts.b for counts in (first, second)])
    pairs, pair = np.unique(keys, return_inverse=True)
    joint = np.zeros(len(pairs), np.int64)
    np.add.at(joint, pair, np.concatenate([first.joint, second.joint]))
    confusion_sum = np.zeros(len(pairs))
    np.add.at(confusion_sum, pair, np.concatenate([first.confusion_sum, second.confusion_sum]))
    a, b = np.divmod(pairs, n_nodes)
    return PairCounts(a, b, joint, confusion_sum)


def support(aggregated: Sparse) -> IntArray:
    """Number of instances carrying each node, int64, shape (n_nodes,)."""
    return np.bincount(aggregated.indices, minlength=aggregated.shape[1]).astype(np.int64)


def count_pairs(aggregated: Sparse, progress: Progress = silent) -> PairCounts:
    """Count the instances that carry both nodes of each pair, and sum their confusion.

    Args:
        aggregated: Aggregated values, shape (n_instances, n_nodes), positive where stored,
            canonical CSR.
        progress: Progress callback.

    Returns:
        Every pair with a joint instance, ancestor pairs and the root included; empty arrays where
        there is none.

    Time and memory grow with the sum over instances of (nodes per instance)^2, not with n_nodes^2.
    """
    used = np.flatnonzero(support(aggregated))
    compact = csr_array(aggregated[:, used])
    deficits = _entropy_deficits(compact, progress)
    joint = joint_counts(compact, progress)
    first = np.repeat(np.arange(len(used)), np.diff(joint.indptr))
    confusion = joint.data.astype(np.float64)
    unequal = first * len(used) + joint.indices
    unequal = np.searchsorted(unequal, row_numbers(deficits) * len(used) + deficits.indices)
    confusion[unequal] -= deficits.data
    return PairCounts(used[first], used[joint.indices], joint.data.astype(np.int64), confusion)


def _upper(matrix: Any) -> Sparse:
    upper = csr_array(triu(matrix, k=1, format="csr"))
    upper.sort_indices()
    return upper


def _entropy_deficits(values: Sparse, progress: Progress) -> Sparse:
    """One bit minus the entropy, summed over instances; the upper triangle of (n_nodes, n_nodes).

    Two equal values are one bit and lack nothing, so only pairs of unequal values are visited,
    each from its smaller value, block of instances by block.
    """
    total = csr_array((values.shape[1], values.shape[1]), dtype=np.float64)
    done, n = 0, values.shape[0]
    for block in _blocks(values):
        progress("measuring confusion", done, n, "instances")
        holds, deficits = _larger_beside_smaller(block)
        total = csr_array(total + holds.T @ deficits)
        done += block.shape[0]
    progress("measuring confusion", n, n, "instances")
    return _upper(total + total.T)


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
    same = eye_array(values.shape[1], format="csr")
    for block in _blocks(values):
        holds, entropies = _all_beside_each_value(block)
        # a sparse product adds the terms of a sum in the order of the lines
        total = _upper(vstack([same, holds], "csr").T.tocsr() @ vstack([total, entropies], "csr"))
    return total


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
