"""Texts that entail each other in a cycle, and a shortest cycle of each such set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from audit.base.cycles import CycleSearch, edge_ends, one_way
from audit.base.dag import IntArray, Sparse
from audit.base.schemas import schema
from audit.entailment.graph.measurements import COMPONENTS
from audit.entailment.graph.text_graph import TextGraph

_OWN = schema(
    ("context relation first", pl.String),
    ("texts edges", pl.Int64),
    ("synonyms", pl.Boolean),
    ("cycle", pl.List(pl.String)),
)


def component_table(merged: TextGraph, by_context: TextGraph) -> pl.DataFrame:
    """Columns `COMPONENTS`: the components of the relations, with what is so within one context."""
    within = _of_members(_components(by_context), merged)
    table = _components(merged).join(within, on=["relation", "first"], how="left")
    return (
        table.with_columns(
            one_context=pl.col("cycle_within").is_not_null(),
            cycle=pl.coalesce("cycle_within", "cycle"),
        )
        .select(pl.col(name).cast(kind) for name, kind in COMPONENTS.items())
        .sort("one_context", "synonyms", "texts", "relation", "first",
              descending=[True, False, True, False, False])
    )  # fmt: skip


def member_table(merged: TextGraph) -> pl.DataFrame:
    """Columns ``relation, text, first``: the texts of components, by the first of each."""
    component = merged.component
    several = np.bincount(component)[component] > 1 if len(component) else np.empty(0, bool)
    first = np.unique(component, return_index=True)[1][component]
    return merged.texts.select("relation", "text", first=pl.col("text").gather(first)).filter(
        pl.Series(several)
    )


def _of_members(within: pl.DataFrame, merged: TextGraph) -> pl.DataFrame:
    """For each component that holds one of a context: the shortest cycle of one, and its head."""
    owner = member_table(merged).rename({"text": "member"})
    return (
        within.filter(~pl.col("synonyms"))
        .rename({"first": "member", "cycle": "cycle_within"})
        .join(owner, on=["relation", "member"])
        .sort(pl.col("cycle_within").list.len(), "context", "member")
        .group_by("relation", "first", maintain_order=True)
        .agg(pl.col("cycle_within").first(), head=pl.col("context").first().replace("", None))
    )


def _components(graph: TextGraph) -> pl.DataFrame:
    return pl.DataFrame(list(_rows(graph)), schema=_OWN, orient="row")


def _rows(graph: TextGraph) -> Iterator[tuple[Any, ...]]:
    """A row of `_OWN` for each component of several texts, in the order of their first ones."""
    alone = one_way(graph.valid)
    edges, edges_alone = (_edges_within(one, graph.component) for one in (graph.valid, alone))
    of_synonyms, of_others = CycleSearch(graph.valid), CycleSearch(graph.valid, alone)
    for number, members in _members(graph.component):
        synonyms = edges_alone[number] == 0
        cycle = (of_synonyms if synonyms else of_others).shortest(members.tolist())
        relation, context, first = graph.texts.row(int(members[0]))
        texts = graph.texts["text"].gather(cycle).to_list()
        yield context, relation, first, len(members), int(edges[number]), synonyms, texts


def _edges_within(edges: Sparse, component: IntArray) -> IntArray:
    """Number of edges inside each component."""
    child, parent = edge_ends(edges)
    inside = component[child] == component[parent]
    return np.asarray(np.bincount(component[child[inside]], minlength=len(component)))


def _members(component: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Components of several nodes, with their nodes in ascending order."""
    size = np.bincount(component)
    inside = np.flatnonzero(size[component] > 1) if len(component) else np.empty(0, np.int64)
    inside = inside[np.argsort(component[inside], kind="stable")]
    numbers, begins = np.unique(component[inside], return_index=True)
    yield from zip(numbers.tolist(), np.split(inside, begins[1:]), strict=False)
