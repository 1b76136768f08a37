"""Which nodes of a directed acyclic graph paths lead to, without the closure, which may not fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from audit.base.cycles import edge_ends
from audit.base.dag import BoolArray, IntArray, Sparse, longest_from_top, rows

_BITS = 64
TARGETS = 16 * _BITS
"""Parents whose descendants are marked at a time: a bit of each node for each of them."""


def leads_to(edges: Sparse, low: IntArray, high: IntArray) -> BoolArray:
    """Whether the second node of each pair is the first one or is above it, shape (n_pairs,).

    Time grows with the edges times the number of different second nodes over `TARGETS`, memory with
    the nodes.
    """
    met = np.zeros(len(low), np.bool_)
    n, levels = edges.shape[0], list(_levels(edges)) if len(low) else []
    for block, asked, bit in _blocks(high):
        mask = np.uint64(1) << (bit % _BITS).astype(np.uint64)
        met[asked] = (_reach(levels, block, n)[low[asked], bit // _BITS] & mask) != 0
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
    levels = list(_levels(edges)) if len(possible) else []
    for block, asked, bit in _blocks(parent[possible]):
        reach = _reach(levels, block, edges.shape[0])
        through[possible[asked]] = _first_below(edges, reach, possible[asked], bit)
    return through


def _blocks(targets: IntArray) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Different targets in blocks, where those of a block stand, and which of it each is."""
    different, number = np.unique(targets, return_inverse=True)
    for start in range(0, len(different), TARGETS):
        asked = np.flatnonzero((number >= start) & (number < start + TARGETS))
        yield different[start : start + TARGETS], asked, number[asked] - start


def _levels(edges: Sparse) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Nodes of each depth from 1 on, the stored edges to their parents, and where each begins."""
    depth = longest_from_top(edges)
    order = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[order], np.arange(1, int(depth.max(initial=0)) + 2))
    for start, stop in pairwise(bounds.tolist()):
        nodes = order[start:stop]
        yield nodes, *_rows(edges, nodes)


def _rows(edges: Sparse, nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Parents of several nodes one after the other, and where those of each node begin."""
    counts = (edges.indptr[nodes + 1] - edges.indptr[nodes]).astype(np.int64)
    return rows(edges, nodes), np.cumsum(counts) - counts


def _reach(
    levels: list[tuple[IntArray, IntArray, IntArray]], targets: IntArray, n: int
) -> NDArray[np.uint64]:
    """A bit of each node for each target at or above it, shape (n, words)."""
    reach = np.zeros((n, -(-len(targets) // _BITS)), np.uint64)
    place = np.arange(len(targets))
    reach[targets, place // _BITS] = np.uint64(1) << (place % _BITS).astype(np.uint64)
    for nodes, parents, begins in levels:
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
