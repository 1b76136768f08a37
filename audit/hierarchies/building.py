"""The tables of edges and nodes from which a hierarchy is built: ids, ends of edges, cycles."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from audit.base import dag
from audit.base.dag import SYNTHETIC_ROOT, IntArray, Sparse
from audit.base.errors import HierarchyError, SchemaError, first_cases
from audit.base.paths import shortest_cycle
from audit.base.plurals import counted
from audit.base.readings import Reading


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


def refuse_dangling(edges: pl.DataFrame, nodes: pl.Series) -> None:
    """Raise a `DanglingError` on edges of which an end is not among the nodes."""
    between = pl.all_horizontal(pl.col("child", "parent").is_in(nodes.implode()))
    others = edges.filter(~between).unique(maintain_order=True)
    if len(others):
        raise DanglingError(tuple(others.iter_rows()))


EDGE_SCHEMA = {"child": pl.String, "parent": pl.String}

NODE_SCHEMA = {"node": pl.String, "title": pl.String, "assignable": pl.Boolean}


def declared_nodes(edges: pl.DataFrame, nodes: pl.DataFrame | None) -> pl.DataFrame:
    """All nodes in code-point order, with every column of ``node, title, assignable``."""
    named = pl.concat([edges["child"], edges["parent"]]).unique()
    if nodes is None:
        nodes = pl.DataFrame({"node": named}, schema={"node": pl.String})
    _refuse_bad_ids(pl.concat([nodes["node"], named]), nodes["node"])
    for column in ("title", "assignable"):
        if column not in nodes.columns:
            nodes = nodes.with_columns(pl.lit(None, NODE_SCHEMA[column]).alias(column))
    return nodes.select("node", "title", "assignable").sort("node")


def _refuse_bad_ids(ids: pl.Series, declared: pl.Series) -> None:
    if len(ids) == 0:
        raise HierarchyError("a hierarchy of at least one node is required", found="no node")
    if ids.null_count() or (ids == "").any():
        raise SchemaError("every node needs an id", found="an empty id")
    twice = declared.filter(declared.is_duplicated()).unique().sort()
    if len(twice):
        raise SchemaError("each node may be declared once", found=first_cases(twice.to_list()))


def graph_tables(
    graph: Any, relations: tuple[str, ...]
) -> tuple[pl.DataFrame, pl.DataFrame, tuple[Reading, ...]]:
    """Edges and nodes of a graph of networkx, and which edges were passed over."""
    nodes = [
        (_id(node), said.get("title") or said.get("name"), said.get("assignable"))
        for node, said in graph.nodes(data=True)
    ]
    keyed = list(graph.edges(keys=True)) if graph.is_multigraph() else list(graph.edges)
    kinds = Counter(edge[2] for edge in keyed if len(edge) > 2)
    used = {IS_A, *relations} if IS_A in kinds or relations else set(kinds)
    refuse_unused(relations, kinds, "edges")
    edges = [(_id(e[0]), _id(e[1])) for e in keyed if len(e) < 3 or e[2] in used]
    others = [str(kind) for kind in kinds if kind not in used]
    passed = Reading(
        f"edges of {', '.join(others)} do not count", "edges of is_a are in the graph too",
        len(keyed) - len(edges), f"relations={tuple(others)}", "edges",
    )  # fmt: skip
    return (
        pl.DataFrame(edges, schema=EDGE_SCHEMA, orient="row"),
        pl.DataFrame(nodes, schema=NODE_SCHEMA, orient="row"),
        (passed,) if others else (),
    )


IS_A = "is_a"


def refuse_unused(relations: Sequence[str], used: Iterable[str], what: str) -> None:
    """Raise SchemaError on relations that are not among those used, which edges or terms have."""
    used = sorted(map(str, used))
    if unused := [one for one in relations if one not in used]:
        raise SchemaError(
            f"a relation must be one that {what} have",
            found=first_cases(unused),
            hint=f"{what} have: {', '.join(used) or 'none'}",
        )


def _id(node: Any) -> str:
    return str(int(node)) if isinstance(node, float) and node.is_integer() else str(node)


SHOWN = 20
"""Largest number of nodes of a cycle that a message names."""


class CyclicError(HierarchyError):
    """The edges have a cycle; what was to become a hierarchy is kept, so that it can be examined.

    Args:
        cycle: Ids along a shortest cycle, child -> parent -> ... -> child.
        edges: Columns ``child, parent``, each edge once.
        nodes: Columns ``node, title, assignable``.
    """

    def __init__(
        self,
        cycle: Sequence[str],
        *,
        name: str,
        edges: pl.DataFrame,
        nodes: pl.DataFrame,
    ) -> None:
        self.name, self.edges, self.nodes = name, edges, nodes
        super().__init__(
            "a hierarchy has no cycles",
            found=arrows(cycle),
            hint="each arrow points from child to parent; remove one of these edges. "
            "`audit lint` lists all cycles",
        )


def arrows(cycle: Sequence[str]) -> str:
    """The nodes along a cycle, of a long one the first.

    >>> arrows(["a", "b", "a"])
    'a -> b -> a'
    """
    more = f" -> ... ({len(cycle) - 1:,} nodes)" * (len(cycle) > SHOWN)
    return " -> ".join(cycle[:SHOWN]) + more


def refuse_cycle(matrix: Sparse, name: str, edges: pl.DataFrame, nodes: pl.DataFrame) -> None:
    """Raise a `CyclicError` that names a shortest cycle of edges between nodes, if there is one."""
    if len(dag.topological_order(matrix)) < matrix.shape[0]:
        cycle = [nodes["node"][index] for index in shortest_cycle(matrix)]
        raise CyclicError(cycle, name=name, edges=edges, nodes=nodes)


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
    places = pl.DataFrame({"node": nodes, "index": np.arange(len(nodes))})
    child, parent = (
        edges.select(pl.col(end).alias("node"))
        .join(places, on="node", how="left", maintain_order="left")["index"]
        .to_numpy()
        .astype(np.int64)
        for end in EDGE_SCHEMA
    )
    return child, parent


def graph_digest(nodes: Iterable[tuple[str, str, bool]], edges: Iterable[tuple[Any, ...]]) -> str:
    """Digest of a hierarchy: node, title and assignability of each node, child and parent."""
    digest = hashlib.sha256()
    for node, title, assignable in nodes:
        digest.update(f"{node}\0{title}\0{int(assignable)}\n".encode())
    for child, parent in edges:
        digest.update(f"{child}\0{parent}\n".encode())
    return digest.hexdigest()
