"""Directed graphs: components, cycles, and nodes that paths lead to, without the closure.

A graph is its edge matrix, as in `audit.base.dag`: ``edges[child, parent] = 1``, canonical CSR.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, Sparse, edge_matrix, levels, row, rows

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
    from scipy.sparse.csgraph import connected_components

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


_BITS = 64
TARGETS = 16 * _BITS
"""Parents whose descendants are marked at a time: a bit of each node for each of them."""


_PARENTS = 2**20
"""Parents, of the children of edges, that are looked at at once."""


def leads_to(edges: Sparse, low: IntArray, high: IntArray) -> BoolArray:
    """Whether the second node of each pair is the first one or is above it, shape (n_pairs,).

    Time grows with the edges times the number of different second nodes over `TARGETS`, memory with
    the nodes.
    """
    met = np.zeros(len(low), np.bool_)
    n, layers = edges.shape[0], list(_layers(edges)) if len(low) else []
    for block, asked, bit in _blocks(high):
        mask = np.uint64(1) << (bit % _BITS).astype(np.uint64)
        met[asked] = (_reach(layers, block, n)[low[asked], bit // _BITS] & mask) != 0
    return met


def shortcuts(edges: Sparse) -> IntArray:
    """For each stored edge the first other parent of its child that is below its parent.

    An edge (child, parent) is a shortcut if a longer path leads from the child to the parent. That
    path starts with another parent of the child, which is below this one. What is left without
    shortcuts is the transitive reduction.

    Memory grows with the nodes, and time with the edges times the number of parents in question
    over `TARGETS`, however many pairs of a node and its ancestor there are.

    Args:
        edges: Edge matrix of a directed acyclic graph, shape (n, n), canonical CSR.

    Returns:
        Shape (n_edges,), in the order in which edges are stored; -1 for others.
    """
    child, parent = edge_ends(edges)
    parents_of = np.diff(edges.indptr).astype(np.int64)
    children_of = np.bincount(parent, minlength=edges.shape[0])
    possible = np.flatnonzero((parents_of[child] > 1) & (children_of[parent] > 1))
    through = np.full(len(child), -1, np.int64)
    layers = list(_layers(edges)) if len(possible) else []
    for block, asked, bit in _blocks(parent[possible]):
        reach = _reach(layers, block, edges.shape[0])
        piece = np.cumsum(parents_of[child[possible[asked]]]) // _PARENTS
        for part in np.split(np.arange(len(asked)), np.flatnonzero(np.diff(piece)) + 1):
            some = possible[asked[part]]
            through[some] = _first_below(edges, reach, some, bit[part])
    return through


def _blocks(targets: IntArray) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Different targets in blocks, where those of a block stand, and which of it each is."""
    different, number = np.unique(targets, return_inverse=True)
    for start in range(0, len(different), TARGETS):
        asked = np.flatnonzero((number >= start) & (number < start + TARGETS))
        yield different[start : start + TARGETS], asked, number[asked] - start


def _layers(edges: Sparse) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Nodes of each depth from 1 on, the stored edges to their parents, and where each begins."""
    for nodes in islice(levels(edges), 1, None):
        yield nodes, *_rows(edges, nodes)


def _rows(edges: Sparse, nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Parents of several nodes one after the other, and where those of each node begin."""
    counts = (edges.indptr[nodes + 1] - edges.indptr[nodes]).astype(np.int64)
    return rows(edges, nodes), np.cumsum(counts) - counts


def _reach(
    layers: list[tuple[IntArray, IntArray, IntArray]], targets: IntArray, n: int
) -> NDArray[np.uint64]:
    """A bit of each node for each target at or above it, shape (n, words)."""
    reach = np.zeros((n, -(-len(targets) // _BITS)), np.uint64)
    place = np.arange(len(targets))
    reach[targets, place // _BITS] = np.uint64(1) << (place % _BITS).astype(np.uint64)
    for nodes, parents, begins in layers:
        reach[nodes] |= np.bitwise_or.reduceat(reach[parents], begins, axis=0)
    return reach


def _first_below(
    edges: Sparse, reach: NDArray[np.uint64], asked: IntArray, bit: IntArray
) -> IntArray:
    """First parent of each edge's child, other than the edge's own, that is below that one."""
    child = np.searchsorted(edges.indptr, asked, side="right") - 1
    others, begins = _rows(edges, child)
    edge = np.repeat(np.arange(len(asked)), np.diff(np.append(begins, len(others))))
    mask = np.uint64(1) << (bit[edge] % _BITS).astype(np.uint64)
    below = (reach[others, bit[edge] // _BITS] & mask) != 0
    below &= others != edges.indices[asked][edge]
    met, first = np.unique(edge[below], return_index=True)
    through = np.full(len(asked), -1, np.int64)
    through[met] = others[below][first]
    return through
