"""Directed graphs: components, cycles, and edges that a longer path makes superfluous.

A graph is its edge matrix, as in `audit.base.dag`: ``edges[child, parent] = 1``, canonical CSR.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, Sparse, closure, edge_matrix, row, rows

MOST_STEPS = 300_000
"""Nodes that `CycleSearch` visits in search of a shorter cycle after it has found one."""
_AT_ONCE = 4_096
"""Edges of which other paths are looked for at once."""


def edge_ends(edges: Sparse) -> tuple[IntArray, IntArray]:
    """Child and parent of each stored edge, in the order in which they are stored."""
    child = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
    return child, edges.indices.astype(np.int64)


def strong_components(edges: Sparse) -> IntArray:
    """Number of the strongly connected component of each node, shape (n,).

    Components are numbered from 0 in the order of their first nodes.
    """
    from scipy.sparse.csgraph import connected_components

    _, found = connected_components(edges, directed=True, connection="strong")
    _, first, component = np.unique(found, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[component])


def condensed(edges: Sparse, component: IntArray) -> Sparse:
    """Edges between components, shape (n_components, n_components); acyclic, each edge once."""
    child, parent = (component[ends] for ends in edge_ends(edges))
    across = child != parent
    return edge_matrix(child[across], parent[across], int(component.max(initial=-1)) + 1)


def on_cycle(edges: Sparse, component: IntArray) -> BoolArray:
    """Whether a cycle leads through each node, a cycle of one included, shape (n,)."""
    several = np.bincount(component, minlength=edges.shape[0])[component] > 1
    return np.asarray(several | (edges.diagonal() != 0))


def one_way(edges: Sparse) -> Sparse:
    """The edges whose reverse is not an edge."""
    child, parent = edge_ends(edges)
    n = np.int64(edges.shape[0])
    alone = ~np.isin(parent * n + child, child * n + parent)
    return edge_matrix(child[alone], parent[alone], edges.shape[0])


def shortest_cycle(edges: Sparse) -> list[int]:
    """A shortest cycle as child -> parent -> ... -> child; empty where there is none."""
    suspects = np.flatnonzero(on_cycle(edges, strong_components(edges)))
    return CycleSearch(edges).shortest(suspects.tolist())


class CycleSearch:
    """Looks for shortest cycles among given nodes of one graph, breadth-first from each node.

    Once a cycle is known the search ends after `MOST_STEPS`, with the shortest that was met.

    Args:
        through: Edges of which a cycle must have at least one, the last; None: any cycle.
    """

    def __init__(self, edges: Sparse, through: Sparse | None = None) -> None:
        self._edges, self._last = edges, csr_array((edges if through is None else through).T)
        self._any = through is None

    def shortest(self, among: Sequence[int]) -> list[int]:
        """A shortest cycle among ascending nodes, child -> ... -> child; empty if there is none."""
        suspects, best, steps = {*among}, list[int](), 0
        for start in among:
            closing = {*row(self._last, start).tolist()}
            came_from = {start: start}
            cycle = self._from(start, suspects, closing, came_from, len(best) - 2)
            if self._any:
                suspects.discard(start)  # every cycle through it has been considered
            best, steps = cycle or best, steps + len(came_from)
            if best and steps > MOST_STEPS:
                break
        return best

    def _from(
        self, start: int, within: set[int], closing: set[int], came_from: dict[int, int], most: int
    ) -> list[int]:
        """A shortest cycle from a node, of at most ``most`` edges unless that is negative."""
        frontier = [start] if closing else []
        while frontier and most != 0:
            following = []
            for node in frontier:
                if node in closing:
                    path = [node]
                    while path[-1] != start:
                        path.append(came_from[path[-1]])
                    return [*path[::-1], start]
                for parent in row(self._edges, node).tolist():
                    if parent in within and parent not in came_from:
                        came_from[parent] = node
                        following.append(parent)
            frontier, most = following, most - 1
        return []


def leads_to(edges: Sparse, low: IntArray, high: IntArray) -> BoolArray:
    """Whether the second node of each pair is the first one or is above it, shape (n_pairs,)."""
    return _stored(closure(edges), low, high)


def shortcuts(edges: Sparse) -> IntArray:
    """For each stored edge the first other parent of its child that is below its parent.

    An edge (child, parent) is a shortcut if a longer path leads from the child to the parent. That
    path starts with another parent of the child, which is below this one. What is left without
    shortcuts is the transitive reduction.

    Args:
        edges: Edge matrix of a directed acyclic graph, shape (n, n), canonical CSR.

    Returns:
        Shape (n_edges,), in the order in which edges are stored; -1 for others.
    """
    child, parent = edge_ends(edges)
    reach, n_parents = closure(edges), np.diff(edges.indptr)
    through = np.full(len(child), -1, np.int64)
    possible = np.flatnonzero(n_parents[child] > 1)
    for some in np.array_split(possible, len(possible) // _AT_ONCE + 1):
        others = rows(edges, child[some])
        edge = np.repeat(some, n_parents[child[some]])
        below = (others != parent[edge]) & _stored(reach, others, parent[edge])
        met, first = np.unique(edge[below], return_index=True)
        through[met] = others[below][first]
    return through


def _stored(matrix: Sparse, row: IntArray, column: IntArray) -> BoolArray:
    """Whether each entry is stored."""
    return np.asarray(matrix[row, column]) != 0 if len(row) else np.zeros(0, np.bool_)
