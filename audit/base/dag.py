"""Algorithms on directed acyclic graphs as arrays: order, closure, distances, common ancestors.

A graph is its edge matrix: ``edges[child, parent] = 1``, shape (n, n), canonical CSR.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, get_index_dtype

IntArray: TypeAlias = NDArray[np.int64]
UIntArray: TypeAlias = NDArray[np.uint64]
BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
Sparse: TypeAlias = csr_array[Any, tuple[int, int]]

SYNTHETIC_ROOT = "(root)"
"""Id of the root that is added above the tops of a hierarchy if there are several."""
_AT_ONCE = 65_536
"""Pairs whose ancestors are compared at once."""


def edge_matrix(child: IntArray, parent: IntArray, n: int) -> Sparse:
    """Edge matrix of shape (n, n) from index arrays; a repeated edge counts once."""
    matrix = csr_array((np.ones(len(child), np.int64), (child, parent)), shape=(n, n))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def row(matrix: Sparse, index: int) -> IntArray:
    """Column indices stored in one row."""
    return matrix.indices[matrix.indptr[index] : matrix.indptr[index + 1]].astype(np.int64)


def rows(matrix: Sparse, indices: IntArray) -> IntArray:
    """Column indices stored in several rows, one row after the other."""
    starts, stops = matrix.indptr[indices], matrix.indptr[indices + 1]
    return _stretches(matrix.indices, starts, stops - starts).astype(np.int64, copy=False)


def _stretches(values: NDArray[Any], starts: NDArray[Any], widths: NDArray[Any]) -> NDArray[Any]:
    """Stretches of an array of values, one after the other."""
    shifts = np.repeat(starts - np.cumsum(widths) + widths, widths)
    return values[shifts + np.arange(len(shifts))]


def topological_order(edges: Sparse) -> IntArray:
    """Node indices, parents before children; shorter than n where there is a cycle."""
    return np.concatenate([np.empty(0, np.int64), *levels(edges)])


def levels(edges: Sparse) -> Iterator[IntArray]:
    """Nodes of each depth, from the tops on, ascending; a cycle and what is below are left out."""
    children, waiting = csr_array(edges.T), np.diff(edges.indptr)
    ready = np.flatnonzero(waiting == 0)
    while len(ready):
        yield ready
        met, times = np.unique(rows(children, ready), return_counts=True)
        waiting[met] -= times
        ready = met[waiting[met] == 0]


def closure(edges: Sparse) -> Sparse:
    """``closure[i, a] = 1`` where a is i or an ancestor of i; shape (n, n), canonical CSR, int64.

    From the tops on, a node takes what its parents reach, so that time grows with what is stored,
    times the parents of a node.
    """
    n = edges.shape[0]
    reach, used = np.empty(edges.nnz + n, np.int64), 0
    (starts, widths), n_parents = np.zeros((2, n), np.int64), np.diff(edges.indptr)
    for nodes in levels(edges):
        parents, place = rows(edges, nodes), np.arange(len(nodes))
        child = np.repeat(np.repeat(place, n_parents[nodes]), widths[parents])
        taken = child * n + _stretches(reach, starts[parents], widths[parents])
        keys = np.sort(np.concatenate([taken, place * n + nodes]), kind="stable")
        keys = keys[np.flatnonzero(np.diff(keys, prepend=-1))]
        if used + len(keys) > len(reach):
            reach = np.concatenate([reach, np.empty(used + len(keys), np.int64)])
        reach[used : used + len(keys)] = keys % n
        widths[nodes] = np.bincount(keys // n)
        starts[nodes] = used + np.cumsum(widths[nodes]) - widths[nodes]
        used += len(keys)
    indices = _stretches(reach, starts, widths)
    indptr = np.concatenate([[0], np.cumsum(widths)])
    kind = get_index_dtype(maxval=used)  # products of it have as small numbers
    places = indices.astype(kind), indptr.astype(kind)
    return csr_array((np.ones(used, np.int64), *places), shape=(n, n))


def longest_from_top(edges: Sparse) -> IntArray:
    """Depth: edges on the longest path from a top (a node without parents), shape (n,)."""
    distance = np.zeros(edges.shape[0], np.int64)
    for depth, nodes in enumerate(levels(edges)):
        distance[nodes] = depth
    return distance


def longest_to_leaf(edges: Sparse) -> IntArray:
    """Height: edges on the longest path to a leaf, shape (n,); a leaf has 0."""
    return longest_from_top(csr_array(edges.T))


def shortest_to_leaf(edges: Sparse) -> IntArray:
    """The paper's level: nodes on the shortest path to a leaf, shape (n,); a leaf has 1."""
    level = np.zeros(edges.shape[0], np.int64)
    ready = np.flatnonzero(np.diff(csr_array(edges.T).indptr) == 0)
    while len(ready):
        level[ready] = level.max() + 1
        above = np.unique(rows(edges, ready))
        ready = above[level[above] == 0]
    return level


class CommonAncestors:
    """Finds the common ancestors of pairs of nodes; the nodes are put in order once.

    Args:
        reach: Closure, shape (n, n).
        depth: Shape (n,).
        height: Shape (n,).
    """

    def __init__(self, reach: Sparse, depth: IntArray, height: IntArray) -> None:
        self._by_preference = np.lexsort((np.arange(len(depth)), height, -depth))
        rank = np.argsort(self._by_preference)
        ranks = (reach.data.astype(np.int8), rank[reach.indices], reach.indptr)
        self._ranked = csr_array(ranks, shape=reach.shape)
        self._ranked.sort_indices()

    def lowest(self, a: IntArray, b: IntArray) -> IntArray:
        """Lowest common ancestor of each pair: the deepest node at or above both nodes.

        Ties go to the node of smaller height, then to the first in node order; -1 where a pair
        shares no ancestor (several tops). Time grows with n_pairs times the number of ancestors.
        """
        found = np.full(len(a), -1, np.int64)
        for start in range(0, len(a), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            shared = csr_array(self._ranked[a[part]].multiply(self._ranked[b[part]]))
            some = np.flatnonzero(np.diff(shared.indptr))
            found[start + some] = self._by_preference[shared.indices[shared.indptr[some]]]
        return found


def share_parent(edges: Sparse, a: IntArray, b: IntArray) -> BoolArray:
    """Whether the two nodes of each pair have a parent in common, shape (n_pairs,)."""
    return np.asarray(edges[a].multiply(edges[b]).sum(axis=1)).ravel() > 0


def sharing_descendant(edges: Sparse, reach: Sparse) -> IntArray:
    """Keys ``a * n + b`` of the pairs that share a descendant, ascending.

    Two upward paths can only part at a node with several parents, so only such nodes are visited.
    Of pairs one of which is above the other, some are told and some are not.
    """
    forks = reach[np.flatnonzero(np.diff(edges.indptr) > 1)]
    overlap = csr_array(forks.T @ forks).tocoo()
    return np.sort(overlap.row.astype(np.int64) * edges.shape[0] + overlap.col)


def among(keys: IntArray, wanted: IntArray) -> BoolArray:
    """Whether each of the wanted keys is one of some keys, which are ascending."""
    if not len(keys):
        return np.zeros(len(wanted), np.bool_)
    place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    return np.asarray(keys[place] == wanted)
