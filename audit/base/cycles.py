"""Cycles of directed graphs: strongly connected components, what is left without them, shortest
cycles.

A graph is its edge matrix, as in `audit.base.dag`: ``edges[child, parent] = 1``, canonical CSR.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from audit.base.dag import BoolArray, IntArray, Sparse, edge_matrix, row

MOST_STEPS = 300_000
"""Nodes that `shortest_cycle` visits in search of a shorter cycle after it has found one."""


def edge_ends(edges: Sparse) -> tuple[IntArray, IntArray]:
    """Child and parent of each stored edge, in the order in which they are stored."""
    child = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
    return child, edges.indices.astype(np.int64)


def strong_components(edges: Sparse) -> IntArray:
    """Number of the strongly connected component of each node, shape (n,).

    Components are numbered from 0 in the order of their first nodes.
    """
    _, found = connected_components(edges, directed=True, connection="strong")
    _, first, component = np.unique(found, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[component]


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
    """Looks for shortest cycles among given nodes of one graph.

    Breadth-first from each node. Once a cycle is known the search ends after `MOST_STEPS`, with the
    shortest that was met: time grows with the edges, not with their square.

    Args:
        edges: Shape (n, n).
        through: Edges of which a cycle must have at least one, the last; None: any cycle.
    """

    def __init__(self, edges: Sparse, through: Sparse | None = None) -> None:
        self._edges = edges
        self._last = None if through is None else csr_array(through.T)
        self._parents = dict[int, list[int]]()

    def shortest(self, among: Sequence[int]) -> list[int]:
        """A shortest cycle among ascending nodes, child -> ... -> child; empty if there is none."""
        suspects = set(among)
        best: list[int] = []
        steps = 0
        for start in among:
            closing = None if self._last is None else set(row(self._last, start).tolist())
            if closing == set():
                continue
            longest = len(best) - 2 if best else len(among)
            cycle, taken = self._from(start, suspects, closing, longest)
            if closing is None:
                suspects.discard(start)  # every cycle through it has been considered
            steps += taken
            best = cycle or best
            if best and steps > MOST_STEPS:
                break
        return best

    def _from(
        self, start: int, within: set[int], closing: set[int] | None, longest: int
    ) -> tuple[list[int], int]:
        """A shortest cycle from a node of at most ``longest`` edges, and how many it met."""
        came_from = {start: start}
        frontier = [start]
        for _ in range(longest):
            following = []
            for node in frontier:
                for parent in self._above(node):
                    if parent == start and (closing is None or node in closing):
                        return [*_trace(came_from, node), start], len(came_from)
                    if parent in within and parent not in came_from:
                        came_from[parent] = node
                        following.append(parent)
            if not following:
                break
            frontier = following
        return [], len(came_from)

    def _above(self, node: int) -> list[int]:
        if node not in self._parents:
            self._parents[node] = row(self._edges, node).tolist()
        return self._parents[node]


def _trace(came_from: dict[int, int], node: int) -> list[int]:
    path = [node]
    while came_from[path[-1]] != path[-1]:
        path.append(came_from[path[-1]])
    return path[::-1]
