"""The tables of edges and nodes from which a hierarchy is built: ids, ends of edges, cycles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import SYNTHETIC_ROOT, IntArray
from audit.base.errors import HierarchyError, SchemaError, first_cases
from audit.base.plurals import counted

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
    """Edges and nodes of a graph of networkx."""
    if graph.is_multigraph():
        raise SchemaError(
            "a graph with one edge between two nodes is required",
            found="a multigraph, whose edges may be of several relations",
            hint="build a networkx.DiGraph of one relation, or name the file that it was made of",
        )
    nodes = [
        (_id(node), said.get("title") or said.get("name"), said.get("assignable"))
        for node, said in graph.nodes(data=True)
    ]
    edges = [(_id(child), _id(parent)) for child, parent in graph.edges]
    return (
        pl.DataFrame(edges, schema=EDGE_SCHEMA, orient="row"),
        pl.DataFrame(nodes, schema=NODE_SCHEMA, orient="row"),
    )


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


def refuse_cycle(cycle: Sequence[str]) -> None:
    """Raise HierarchyError with the nodes along a cycle, of a long one the first."""
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
