"""What to expect of a pair of nodes, given the length of records or the parents of the nodes.

Every expectation is a sum over strata of what a table of two rows and two columns expects: of
``n`` instances, ``first`` carry the one node and ``second`` the other. Given `parents`, the
instances are those that carry a parent of each; given `length`, all of the stratum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.engine.stratified import Cells, Counts, Sparse, Stratified

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]

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

    def __getitem__(self, chosen: IntArray | BoolArray) -> Expected:
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
