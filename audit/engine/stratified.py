"""A dataset in strata, and how many instances of each carry both of two nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
Counts: TypeAlias = NDArray[Any]
"""Whole numbers, as narrow as they may be."""


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
