"""Checks on the tables of edges and nodes from which a hierarchy is built."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from audit.base import dag
from audit.base.cycles import shortest_cycle
from audit.base.dag import SYNTHETIC_ROOT, IntArray, Sparse
from audit.base.errors import HierarchyError, SchemaError, first_cases
from audit.hierarchies.dangling import DroppedEdges

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


SHOWN = 20
"""Largest number of nodes of a cycle that a message names."""


class CyclicError(HierarchyError):
    """The edges have a cycle; what was to become a hierarchy is kept, so that it can be examined.

    Args:
        cycle: Ids along a shortest cycle, child -> parent -> ... -> child.
        name: Name of the hierarchy.
        edges: Columns ``child, parent``, each edge once.
        nodes: Columns ``node, title, assignable``.
        dropped: The dangling edges that are not among ``edges``.
    """

    def __init__(
        self,
        cycle: Sequence[str],
        *,
        name: str,
        edges: pl.DataFrame,
        nodes: pl.DataFrame,
        dropped: DroppedEdges,
    ) -> None:
        self.name, self.edges, self.nodes, self.dropped = name, edges, nodes, dropped
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


def refuse_cycle(
    matrix: Sparse, name: str, edges: pl.DataFrame, nodes: pl.DataFrame, dropped: DroppedEdges
) -> None:
    """Raise a `CyclicError` that names a shortest cycle, if there is one.

    Args:
        matrix: Edges between ``nodes``, in their order.
        name: Name of the hierarchy.
        edges: Columns ``child, parent``.
        nodes: Columns ``node, title, assignable``.
        dropped: The dangling edges that are not among ``edges``.
    """
    if len(dag.topological_order(matrix)) < matrix.shape[0]:
        cycle = [nodes["node"][index] for index in shortest_cycle(matrix)]
        raise CyclicError(cycle, name=name, edges=edges, nodes=nodes, dropped=dropped)


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
