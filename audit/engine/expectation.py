"""What to expect of a pair of nodes, given the length of records or the parents of the nodes.

Every expectation is a sum over strata of what a table of two rows and two columns expects: of
``n`` instances, ``first`` carry the one node and ``second`` the other. Given `parents`, the
instances are those that carry a parent of each; given `length`, all of the stratum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.engine.rows import row_numbers
from audit.engine.sums import Sums

Sparse: TypeAlias = csr_array[Any, tuple[int, int]]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
Counts: TypeAlias = NDArray[Any]
"""Whole numbers, as narrow as they may be."""

DENSE_CELLS = 60_000_000
"""Joint counts of one stratum up to which all that could be asked for are held."""
CHUNK = 1 << 16
"""Comparisons whose tables are worked on at a time: small enough for the processor's cache."""
NO_PARENT = -1
"""Stands for the parents of a comparison given length."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Pairs of nodes, each with one thing to condition on; a pair may stand several times.

    Args:
        pair: Which pair, ascending, shape (n,).
        a: First nodes, shape (n,).
        b: Second nodes, shape (n,).
        parent_a: The parent of a that is conditioned on, shape (n,); `NO_PARENT` given length.
        parent_b: The parent of b, likewise.
    """

    pair: IntArray
    a: IntArray
    b: IntArray
    parent_a: IntArray
    parent_b: IntArray

    @classmethod
    def joined(cls, parts: Sequence[Comparisons]) -> Comparisons:
        """Several sets of comparisons as one; pairs keep the numbers of their own set."""
        columns = ("pair", "a", "b", "parent_a", "parent_b")
        none = np.empty(0, np.int64)
        values = (
            np.concatenate([none, *(getattr(part, name) for part in parts)]) for name in columns
        )
        return cls(*values)

    def __len__(self) -> int:
        return len(self.pair)

    def __getitem__(self, chosen: IntArray | BoolArray | slice) -> Comparisons:
        return Comparisons(
            self.pair[chosen],
            self.a[chosen],
            self.b[chosen],
            self.parent_a[chosen],
            self.parent_b[chosen],
        )

    def pairs(self) -> list[tuple[int, int]]:
        """The two nodes of each comparison."""
        return list(zip(self.a.tolist(), self.b.tolist(), strict=True))

    @property
    def by_length(self) -> BoolArray:
        """Whether a comparison is given length, shape (n,)."""
        return np.asarray(self.parent_a == NO_PARENT)


def comparisons(a: IntArray, b: IntArray, siblings: BoolArray, edges: Sparse) -> Comparisons:
    """One comparison given length for siblings, else one for each choice of two parents.

    Siblings share a parent that is there because one of them is, so it must not be conditioned on.

    Args:
        a: First nodes, shape (n_pairs,), none of them the root.
        b: Second nodes, shape (n_pairs,).
        siblings: Whether the two share a parent, shape (n_pairs,).
        edges: 1 where the column is a parent of the row, shape (n_nodes, n_nodes).
    """
    parents = np.diff(edges.indptr).astype(np.int64)
    choices = np.where(siblings, 1, parents[a] * parents[b])
    pair = np.repeat(np.arange(len(a)), choices)
    choice = np.arange(len(pair)) - np.repeat(np.cumsum(choices) - choices, choices)
    of_a, of_b = np.divmod(choice, np.maximum(parents[b[pair]], 1))

    def parent(node: IntArray, number: IntArray) -> IntArray:
        place = np.minimum(edges.indptr[node] + number, max(edges.nnz - 1, 0))
        return np.where(siblings[pair], NO_PARENT, edges.indices[place]).astype(np.int64)

    return Comparisons(pair, a[pair], b[pair], parent(a[pair], of_a), parent(b[pair], of_b))


@dataclass(frozen=True, eq=False)
class Cells:
    """Which joint counts are asked for: cells of a matrix of some nodes beside all.

    Args:
        columns: Columns of those nodes in `Stratified.support`, shape (n_rows,).
        width: Number of all columns.
        listed: The cells, ``row * width + column``, ascending and different, shape (n_cells,);
            None: all of them.
    """

    columns: IntArray
    width: int
    listed: IntArray | None = None

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.columns) * self.width if self.listed is None else len(self.listed)

    @cached_property
    def in_key_order(self) -> tuple[IntArray, IntArray]:
        """Of those listed ``low * width + high`` by column, ascending, and which cell each is."""
        assert self.listed is not None
        row, column = np.divmod(self.listed, self.width)
        own = self.columns[row]
        keys = np.minimum(own, column) * self.width + np.maximum(own, column)
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def key_range(self, nodes: IntArray, n_nodes: int) -> tuple[int, int]:
        """First key ``a * n_nodes + b`` of a pair of nodes in any cell, and one after the last.

        Args:
            nodes: Node of each column, ascending, shape (width,).
            n_nodes: Number of all nodes.
        """
        if self.listed is None:
            return 0, n_nodes * n_nodes
        keys, _ = self.in_key_order
        first, last = (int(nodes[key // self.width]) for key in (keys[0], keys[-1]))
        return first * n_nodes, (last + 1) * n_nodes


@dataclass(frozen=True, eq=False)
class Stratified:
    """Instances of two direct labels or more, stratum by stratum.

    Args:
        position: Column of each node in ``support``, shape (n_nodes,); nodes that no instance
            carries share the last, which is empty.
        size: Instances of each stratum, shape (n_strata,).
        support: Instances of each stratum carrying each node, shape (n_strata, n_columns).
        free: Sum over nodes of share * (1 - share) of direct labels, shape (n_strata,): how much
            of the records' length nodes compete for.
        beside: The instances of a stratum that carry both nodes of each cell asked for, one of
            which has a child, from its number and the cells.
    """

    position: IntArray
    size: IntArray
    support: IntArray
    free: FloatArray
    beside: Callable[[int, Cells], Counts]


def stratify(direct: Sparse, carried: Sparse, number: IntArray) -> Stratified:
    """Part a dataset into its strata.

    Args:
        direct: Direct labels, 0/1, shape (n_instances, n_nodes).
        carried: A stored value where an instance carries a node, shape (n_instances, n_nodes).
        number: Stratum of each instance, shape (n_instances,), from `audit.engine.strata`.
    """
    used = np.unique(carried.indices)
    position, width = _positions(used, carried.shape[1]), len(used) + 1
    strata = range(int(number.max(initial=-1)) + 1)
    members = [np.flatnonzero(number == stratum) for stratum in strata]
    parts = [_ones(csr_array(carried[rows]), position, width) for rows in members]
    labels = [_columns(csr_array(direct[rows])) for rows in members]
    support = np.array([_columns(part) for part in parts], np.int64).reshape(len(parts), width)
    size = np.array([len(rows) for rows in members], np.int64)

    def beside(stratum: int, cells: Cells) -> Counts:
        joint = csr_array(parts[stratum][:, cells.columns].T @ parts[stratum])
        return joint.toarray().ravel() if cells.listed is None else _looked_up(joint, cells.listed)

    return Stratified(position, size, support, _free(labels, size), beside)


def stratify_counts(
    size: IntArray,
    support: IntArray,
    direct: IntArray,
    joint: Callable[[int, int, int], Iterable[Sums]],
) -> Stratified:
    """The strata of a dataset of which only counts are there; what is expected is the same.

    Args:
        size: Instances of each stratum, shape (n_strata,); a stratum without any is left out.
        support: Instances of each stratum carrying each node, shape (n_strata, n_nodes).
        direct: Instances of each stratum with each node as a label, shape (n_strata, n_nodes).
        joint: The joint counts of a stratum in the order of their keys, some at a time, from its
            number in ``size``, the first key wanted and that after the last: every pair of nodes
            with a joint instance there, but for those of two leaves.
    """
    kept = np.flatnonzero(size)
    used = np.flatnonzero(support[kept].any(axis=0))
    nodes = np.append(used, support.shape[1])
    position = _positions(used, support.shape[1])
    own = np.zeros((len(kept), len(used) + 1), np.int64)
    own[:, :-1] = support[np.ix_(kept, used)]

    def beside(stratum: int, cells: Cells) -> Counts:
        there, narrow = int(kept[stratum]), np.min_scalar_type(size[kept[stratum]])
        joint_there = joint(there, *cells.key_range(nodes, len(position)))
        pairs = ((_columns_of(sums, position), sums.joint) for sums in joint_there if len(sums))
        into = np.zeros(cells.size, narrow)
        (_fill if cells.listed is None else _find)(pairs, own[stratum], cells, into)
        return into

    return Stratified(position, size[kept], own, _free(direct[kept], size[kept]), beside)


def _positions(used: NDArray[np.integer[Any]], n_nodes: int) -> IntArray:
    position = np.full(n_nodes, len(used), np.int64)
    position[used] = np.arange(len(used))
    return position


def _free(labels: Iterable[IntArray], size: IntArray) -> FloatArray:
    """What nodes compete for in each stratum, from the support of its direct labels."""
    shares = (own / n for own, n in zip(labels, size, strict=True))
    return np.array([np.sort(share * (1 - share)).sum() for share in shares], np.float64)


def _ones(carried: Sparse, position: IntArray, width: int) -> Sparse:
    ones = np.ones(carried.nnz, np.int32)
    columns = position[carried.indices].astype(np.int32)
    return csr_array((ones, columns, carried.indptr), shape=(carried.shape[0], width))


def _looked_up(joint: Sparse, cells: IntArray) -> Counts:
    """Some cells of a matrix, ascending."""
    joint.sort_indices()
    keys = row_numbers(joint) * joint.shape[1] + joint.indices
    return _values_at(cells, keys, joint.data)


def _values_at(wanted: IntArray, keys: IntArray, values: Counts) -> Counts:
    """The values of those keys that are there, 0 for others; all keys ascending."""
    found = np.zeros(len(wanted), values.dtype)
    place = np.searchsorted(keys, wanted)
    place[place == len(keys)] = 0
    there = np.flatnonzero(keys[place] == wanted) if len(keys) else place[:0]
    found[there] = values[place[there]]
    return found


_KeyedPairs: TypeAlias = Iterable[tuple[tuple[IntArray, IntArray], IntArray]]
"""Pairs some at a time: the columns of both nodes, and their joint counts."""


def _columns_of(sums: Sums, position: IntArray) -> tuple[IntArray, IntArray]:
    a, b = np.divmod(sums.keys, len(position))
    return position[a], position[b]


def _fill(pairs: _KeyedPairs, own: IntArray, cells: Cells, into: Counts) -> None:
    """The whole matrix, from pairs that stand in it once or twice; supports on its diagonal."""
    row = np.full(cells.width, -1, np.int64)
    row[cells.columns] = np.arange(len(cells.columns))
    for columns, joint in pairs:
        for node, other in (columns, columns[::-1]):
            inside = row[node] >= 0
            into[row[node[inside]] * cells.width + other[inside]] = joint[inside]
    into[np.arange(len(cells.columns)) * cells.width + cells.columns] = own[cells.columns]


def _find(pairs: _KeyedPairs, own: IntArray, cells: Cells, into: Counts) -> None:
    """The cells that are listed, from pairs in the order of their keys."""
    wanted, place = cells.in_key_order
    low, high = np.divmod(wanted, cells.width)
    itself = np.flatnonzero(low == high)
    into[place[itself]] = own[low[itself]]
    for (a, b), joint in pairs:
        keys = a * cells.width + b
        some = slice(*np.searchsorted(wanted, (keys[0], keys[-1] + 1)))
        into[place[some]] += _values_at(wanted[some], keys, joint).astype(into.dtype)


def _columns(matrix: Sparse) -> IntArray:
    return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Margins:
    """Tables of two rows and two columns; every array of the same shape.

    Args:
        n: Instances.
        first: Those that carry the first node.
        second: Those that carry the second.
    """

    n: FloatArray
    first: FloatArray
    second: FloatArray


def margins(strata: Stratified, asked: Comparisons) -> Margins:
    """The table of each comparison in each stratum, shape (n_strata, n)."""
    found = np.zeros((3, len(strata.size), len(asked)))
    for chosen, tables in _parted(strata, asked):
        for stratum, chunk, table in tables:
            places = (stratum, chosen[chunk])
            for column, values in zip(found, (table.n, table.first, table.second), strict=True):
                column[places] = values
    return Margins(*found)


_Tables: TypeAlias = Iterator[tuple[int, slice, Margins]]
"""Stratum, which comparisons, and their tables in it."""


def _parted(strata: Stratified, asked: Comparisons) -> Iterator[tuple[IntArray, _Tables]]:
    """The comparisons given length, then those given parents: where they stand, their tables."""
    lengthwise, given = np.flatnonzero(asked.by_length), np.flatnonzero(~asked.by_length)
    yield lengthwise, _given_length(strata, asked[lengthwise])
    yield given, _given_parents(strata, asked[given])


def _given_length(strata: Stratified, asked: Comparisons) -> _Tables:
    a, b = strata.position[asked.a], strata.position[asked.b]
    for stratum, support in enumerate(strata.support):
        n = np.full(len(asked), float(strata.size[stratum]))
        yield stratum, slice(None), Margins(n, support[a].astype(float), support[b].astype(float))


def _given_parents(strata: Stratified, asked: Comparisons) -> _Tables:
    """Every count wanted is one of a node beside a parent."""
    parents = np.unique(np.concatenate([asked.parent_a, asked.parent_b]))
    line = np.full(len(strata.position), -1, np.int64)
    line[parents] = np.arange(len(parents))
    at, width, count = strata.position, strata.support.shape[1], len(asked)
    of_a, of_b = line[asked.parent_a] * width, line[asked.parent_b] * width
    places = [of_b + at[asked.parent_a], of_b + at[asked.a], of_a + at[asked.b]]
    del asked, of_a, of_b
    cells = Cells(at[parents], width)
    if cells.size > DENSE_CELLS:
        listed, place = np.unique(np.concatenate(places), return_inverse=True)
        cells, places = replace(cells, listed=listed), np.split(place, 3)
        del place
    for stratum in range(len(strata.size) if count else 0):
        yield from _tables(stratum, strata.beside(stratum, cells), places)


def _tables(stratum: int, joint: Counts, places: Sequence[IntArray]) -> _Tables:
    """Tables of a stratum, some at a time; its joint counts are given up at the end."""
    for start in range(0, len(places[0]), CHUNK):
        chunk = slice(start, start + CHUNK)
        yield stratum, chunk, Margins(*(joint[place[chunk]].astype(float) for place in places))


@dataclass(frozen=True, eq=False)
class Expected:
    """What tables expect, summed over strata; every array of shape (n,).

    Args:
        joint: Joint instances.
        variance: Of their number, the margins held fixed (hypergeometric).
        n: Instances of the tables.
        first: Those that carry the first node.
        second: Those that carry the second.
    """

    joint: FloatArray
    variance: FloatArray
    n: FloatArray
    first: FloatArray
    second: FloatArray

    def __getitem__(self, chosen: IntArray | BoolArray | slice) -> Expected:
        return Expected(
            self.joint[chosen],
            self.variance[chosen],
            self.n[chosen],
            self.first[chosen],
            self.second[chosen],
        )


def expect(strata: Stratified, asked: Comparisons) -> Expected:
    """Sum the expectations of comparisons over strata.

    Time grows with the sum over instances of (nodes per instance)^2, and with comparisons times
    strata; memory with comparisons, and with nodes in use times their parents up to `DENSE_CELLS`.
    """
    sums: list[list[FloatArray]] = [[], [], [], [], []]
    places = []
    for chosen, tables in _parted(strata, asked):
        part = [np.zeros(len(chosen)) for _ in sums]
        by_length = bool(len(chosen)) and bool(asked.by_length[chosen[0]])
        for stratum, chunk, table in tables:
            free = float(strata.free[stratum]) if by_length else math.inf
            part[0][chunk] += joint_expected(table, free)
            part[1][chunk] += joint_variance(table)
            part[2][chunk] += table.n
            part[3][chunk] += table.first
            part[4][chunk] += table.second
        places.append(chosen)
        for column, values in zip(sums, part, strict=True):
            column.append(values)
    order = np.concatenate(places)
    return Expected(*(_in_order(column, order) for column in sums))


def _in_order(parts: list[FloatArray], order: IntArray) -> FloatArray:
    """Parts put where they belong; the parts are given up, so that memory holds them once."""
    placed = np.empty(len(order))
    placed[order] = np.concatenate(parts)
    parts.clear()
    return placed


def joint_expected(table: Margins, free: float | FloatArray) -> FloatArray:
    """Joint instances that tables expect, not below 0; 0 for an empty table.

    Args:
        table: Margins of any shape.
        free: What nodes compete for (`Stratified.free`), a number or of the tables' shape;
            infinite where the number of labels is not what is conditioned on. Hajek's correction
            for samples of fixed size.
    """
    n = np.maximum(table.n, 1)
    independent = table.first * table.second / n
    if np.all(np.isinf(free)):
        return np.asarray(independent)
    neither = (1 - table.first / n) * (1 - table.second / n)
    varied = (independent > 0) & (neither > 0)
    competing = np.divide(neither, free, out=np.zeros_like(neither), where=varied)
    return np.asarray(np.maximum(independent * (1 - competing), 0))


def joint_variance(table: Margins) -> FloatArray:
    """Hypergeometric variance of the joint instances of tables; 0 for less than two instances."""
    n, first, second = table.n, table.first, table.second
    product = first * (n - first) * second * (n - second)
    return product / np.maximum(n * n * (n - 1), 1)
