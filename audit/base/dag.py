"""Directed acyclic graphs as sparse arrays, and the tables of edges and nodes behind them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array, get_index_dtype

from audit.base.errors import HierarchyError, SchemaError, first_cases
from audit.base.plurals import counted

IntArray: TypeAlias = NDArray[np.int64]
UIntArray: TypeAlias = NDArray[np.uint64]
BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
Sparse: TypeAlias = csr_array[Any, tuple[int, int]]

SYNTHETIC_ROOT = "(root)"
"""Id of the root that is added above the tops of a hierarchy if there are several."""
MOST_STEPS = 300_000
"""Nodes that `shortest_cycle` visits in search of a shorter cycle after it has found one."""
_AT_ONCE = 16_384
"""Pairs, or edges, whose ancestors are compared at once."""


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


def shortest_to_leaf(edges: Sparse) -> IntArray:
    """The paper's level: nodes on the shortest path to a leaf, shape (n,); a leaf has 1."""
    from scipy.sparse.csgraph import dijkstra

    leaves = np.flatnonzero(np.bincount(edges.indices, minlength=edges.shape[0]) == 0)
    steps = dijkstra(edges, indices=leaves, unweighted=True, min_only=True)
    return steps.astype(np.int64) + 1


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


def edge_ends(edges: Sparse) -> tuple[IntArray, IntArray]:
    """Child and parent of each stored edge, in the order in which they are stored."""
    child = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
    return child, edges.indices.astype(np.int64)


def strong_components(edges: Sparse) -> IntArray:
    """Strongly connected component of each node, numbered from 0 by first nodes, shape (n,)."""
    from scipy.sparse.csgraph import connected_components

    _, found = connected_components(edges, directed=True, connection="strong")
    _, first, component = np.unique(found, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[component])


def condensed(edges: Sparse, component: IntArray) -> Sparse:
    """Edges between components, shape (n_components, n_components); acyclic, each edge once."""
    child, parent = (component[ends] for ends in edge_ends(edges))
    across = child != parent
    return edge_matrix(child[across], parent[across], int(component.max(initial=-1)) + 1)


def one_way(edges: Sparse) -> Sparse:
    """The edges whose reverse is not an edge."""
    child, parent = edge_ends(edges)
    n = np.int64(edges.shape[0])
    alone = ~np.isin(parent * n + child, child * n + parent)
    return edge_matrix(child[alone], parent[alone], edges.shape[0])


def shortest_cycle(
    edges: Sparse, among: IntArray | None = None, through: Sparse | None = None
) -> list[int]:
    """A shortest cycle, child -> parent -> ... -> child; empty where there is none.

    Once a cycle is known the search ends after `MOST_STEPS`, with the shortest that was met.

    Args:
        among: Ascending nodes, of which it is; None: all.
        through: Edges of which its last one is; None: any.
    """
    if among is None:
        component = strong_components(edges)
        several = np.bincount(component)[component] > 1
        among = np.flatnonzero(several | (edges.diagonal() != 0))
    last = edges if through is None else through
    within, best, steps = {*among.tolist()}, list[int](), 0
    for start in among.tolist():
        came_from, far, queue = {start: start}, {start: 0}, [start]
        for node in queue:
            if best and far[node] >= len(best) - 2:
                break
            if start in row(last, node):
                best = [start, node]
                while best[-1] != start:
                    best.append(came_from[best[-1]])
                break
            for parent in row(edges, node).tolist():
                if parent in within and parent not in far:
                    came_from[parent], far[parent] = node, far[node] + 1
                    queue.append(parent)
        steps += len(queue)
        if best and steps > MOST_STEPS:
            break
    return best[::-1]


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
    ways = csr_array((edges @ reach).multiply(edges))  # to the parent of each edge, itself included
    ways.sort_indices()
    possible = np.flatnonzero(ways.data > 1)
    parts = np.array_split(possible, len(possible) // _AT_ONCE + 1) if len(possible) else []
    for some in parts:
        others = rows(edges, child[some])
        edge = np.repeat(some, n_parents[child[some]])
        below = (others != parent[edge]) & (np.asarray(reach[others, parent[edge]]) != 0)
        met, first = np.unique(edge[below], return_index=True)
        through[met] = others[below][first]
    return through


EDGE_SCHEMA = {"child": pl.String, "parent": pl.String}
NODE_SCHEMA = {"node": pl.String, "title": pl.String, "assignable": pl.Boolean}
SHOWN = 20
"""Largest number of nodes of a cycle that a message names."""


class DanglingError(HierarchyError):
    """An edge has an end that is not a node; ``edges`` has each such edge once."""

    def __init__(self, edges: tuple[tuple[str, str], ...]) -> None:
        self.edges = edges
        have = "has" if len(edges) == 1 else "have"
        super().__init__(
            "both ends of every edge must be nodes",
            found=f"{counted(len(edges), 'edges')} that {have} an end that is not a node: "
            f"{first_cases(f'{child} -> {parent}' for child, parent in edges)}",
            hint="each arrow points from child to parent, and an obsolete node does not count as "
            "one; add what is missing, or remove the edges",
        )


def declared_nodes(edges: pl.DataFrame, nodes: pl.DataFrame | None) -> pl.DataFrame:
    """All nodes in code-point order, with every column of ``node, title, assignable``.

    Raises:
        DanglingError: If an end of an edge is not among nodes that are given.
        HierarchyError: If there is none.
        SchemaError: If an id is empty, or declared twice.
    """
    ends = pl.concat([edges["child"], edges["parent"]])
    nodes = ends.unique().to_frame("node") if nodes is None else nodes
    ids = nodes["node"]
    if not len(ids) + len(ends):
        raise HierarchyError("a hierarchy of at least one node is required", found="no node")
    if any(one.null_count() or (one == "").any() for one in (ids, ends)):
        raise SchemaError("every node needs an id", found="an empty id")
    if (twice := ids.filter(ids.is_duplicated()).unique().sort()).len():
        raise SchemaError("each node may be declared once", found=first_cases(twice.to_list()))
    between = pl.all_horizontal(pl.col("child", "parent").is_in(ids.implode()))
    dangling = edges.filter(~between).unique(maintain_order=True)
    if len(dangling):
        raise DanglingError(tuple(dangling.iter_rows()))
    lacking = {name: pl.lit(None, of) for name, of in NODE_SCHEMA.items() if name not in nodes}
    return nodes.with_columns(**lacking).select(*NODE_SCHEMA).sort("node")


def graph_tables(graph: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Edges, child to parent, and nodes of a networkx graph; SchemaError of a multigraph."""
    if graph.is_multigraph():
        raise SchemaError(
            "a graph with one edge between two nodes is required",
            found="a multigraph, whose edges may be of several relations",
            hint="build a networkx.DiGraph of one relation, or name the file that it was made of",
        )
    nodes = [
        (_node_id(node), said.get("title") or said.get("name"), said.get("assignable"))
        for node, said in graph.nodes(data=True)
    ]
    edges = [(_node_id(child), _node_id(parent)) for child, parent in graph.edges]
    return (
        pl.DataFrame(edges, schema=EDGE_SCHEMA, orient="row"),
        pl.DataFrame(nodes, schema=NODE_SCHEMA, orient="row"),
    )


def refuse_unused(relations: Sequence[str], used: Iterable[str], what: str) -> None:
    """Raise SchemaError if a relation is none of those ``used`` by ``what``, such as edges."""
    used = sorted(map(str, used))
    if unused := [one for one in relations if one not in used]:
        raise SchemaError(
            f"a relation must be one that {what} have",
            found=first_cases(unused),
            hint=f"{what} have: {', '.join(used) or 'none'}",
        )


def _node_id(node: Any) -> str:
    """Id of a node of networkx: itself as text, a whole number of type float as ``401``."""
    return str(int(node)) if isinstance(node, float) and node.is_integer() else str(node)


def refuse_cycle(cycle: Sequence[str]) -> None:
    """Raise HierarchyError that names the first nodes of a cycle; nothing if it is empty."""
    more = f" -> ... ({len(cycle) - 1:,} nodes)" * (len(cycle) > SHOWN)
    if cycle:
        raise HierarchyError(
            "a hierarchy has no cycles",
            found=" -> ".join(cycle[:SHOWN]) + more,
            hint="each arrow points from child to parent; remove one of these edges",
        )


def rooted(nodes: pl.DataFrame, edges: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The nodes and edges with `SYNTHETIC_ROOT` above several tops; unchanged if there is one."""
    tops = nodes.filter(~pl.col("node").is_in(edges["child"].implode()))["node"]
    if len(tops) < 2:
        return nodes, edges
    tops = tops.filter(tops != SYNTHETIC_ROOT)
    hung = pl.DataFrame({"child": tops, "parent": [SYNTHETIC_ROOT] * len(tops)})
    if SYNTHETIC_ROOT not in nodes["node"]:
        root = pl.DataFrame([(SYNTHETIC_ROOT, "Root", False)], schema=NODE_SCHEMA, orient="row")
        nodes = pl.concat([nodes, root]).sort("node")
    return nodes, pl.concat([edges, hung])


def end_indices(edges: pl.DataFrame, nodes: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Places of each edge's child and of its parent among the nodes, shape (n_edges,) each."""
    ids = pl.Enum(nodes)
    child, parent = (edges[end].cast(ids).to_physical().to_numpy() for end in EDGE_SCHEMA)
    return child.astype(np.int64), parent.astype(np.int64)
