"""Measure the graph that an entailment dataset states, its strongly connected components too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.entailment.dataset import RELATIONS, EntailmentDataset
from audit.analyses.entailment.declared import TABLES
from audit.analyses.entailment.graph.condensation import (
    Condensation,
    concept_table,
    redundant_table,
    shape_summary,
    shape_table,
)
from audit.analyses.entailment.graph.text_graph import (
    DENIED,
    TextGraph,
    chain_counts,
    merged_contexts,
    neighbourhood_table,
    stated_edges,
    text_graph,
    violation_table,
)
from audit.base.dag import IntArray, Sparse, edge_ends, one_way, shortest_cycle
from audit.base.declared import schema
from audit.base.progress import Progress, silent
from audit.hierarchies.lint import lint_hierarchy

_KEYS = ["relation", "instance", "concept", "kind"]


def contradiction_table(merged: TextGraph, by_context: TextGraph) -> pl.DataFrame:
    """Contradictions: those of one context first, then by relation and texts."""
    within = (
        _contradictions(by_context)
        .sort(*_KEYS, "context")
        .group_by(_KEYS, maintain_order=True)
        .agg(pl.col("context").first())
    )
    return (
        _contradictions(merged)
        .drop("context")
        .join(within, on=_KEYS, how="left")
        .with_columns(
            one_context=pl.col("context").is_not_null(), head=pl.col("context").replace("", None)
        )
        .pipe(TABLES["graph_contradictions"].cast)
        .sort("one_context", *_KEYS, descending=[True, *[False] * len(_KEYS)])
    )


EDGES = schema(("relation instance concept", pl.String), ("valid invalid heads", pl.Int64))


def _contradictions(graph: TextGraph) -> pl.DataFrame:
    ends = (graph.component[graph.edges[end].to_numpy()] for end in ("child", "parent"))
    child, parent = (pl.Series(end) for end in ends)
    both = (pl.col("valid") > 0) & (pl.col("invalid") > 0)
    kind = pl.when(both).then(pl.lit("edge")).when(DENIED & (child == parent)).then(pl.lit("cycle"))
    return graph.edges.with_columns(kind=kind).drop_nulls("kind")


def measure_graph(
    dataset: EntailmentDataset, progress: Progress = silent
) -> dict[str, pl.DataFrame]:
    """Audit the graph of the edges from instances to concepts, relation by relation.

    An *edge* is an instance and a concept within one relation. It is *valid* if a tuple states it
    as valid, and *denied* if tuples state it as invalid alone. Its *context* is the head that it
    was judged under; where the instance is the whole head, there is one context for the relation.
    A *component* is a strongly connected component of the valid edges with more than one text.

    Returns:
        The tables by name; they have no rows for a dataset without tuples. Beside those declared,
        ``graph_edges`` has a row an edge, sorted: ``valid`` and ``invalid`` count the tuples that
        state it, ``heads`` the head events; ``graph_members`` the texts of components, by their
        first one.
    """
    progress("building the graph")
    stated = stated_edges(dataset.tuples)
    by_context, merged = text_graph(stated), text_graph(merged_contexts(stated))
    condensation = Condensation(merged)
    progress("looking for cycles")
    components = component_table(merged, by_context)
    contradictions = contradiction_table(merged, by_context)
    progress("following chains")
    violations = violation_table(merged, by_context)
    redundant = redundant_table(merged)
    return {
        "graph_edges": merged.edges.select(pl.col(name).cast(kind) for name, kind in EDGES.items()),
        "graph_relations": _summary(dataset, condensation, components, redundant),
        "graph_shape": shape_table(condensation),
        "graph_components": components,
        "graph_contradictions": contradictions,
        "graph_violations": violations,
        "graph_redundant": redundant,
        "graph_concepts": concept_table(merged),
        "graph_lint": _lint(condensation),
        "graph_neighbourhoods": neighbourhood_table(merged, components, contradictions, violations),
        "graph_members": member_table(merged),
    }


def _summary(
    dataset: EntailmentDataset,
    condensation: Condensation,
    components: pl.DataFrame,
    redundant: pl.DataFrame,
) -> pl.DataFrame:
    graph = condensation.graph
    own = pl.col("instance") == pl.col("concept")
    table = dataset.tuples.group_by("relation").agg(
        tuples=pl.len(), self_edges=own.sum(), place=_place().first()
    )
    for further in (
        graph.texts.group_by("relation").agg(texts=pl.len()),
        _edge_counts(graph),
        components.group_by("relation").agg(
            components=pl.len(),
            synonym_components=pl.col("synonyms").sum(),
            texts_on_cycles=pl.col("texts").sum(),
        ),
        redundant.group_by("relation").agg(redundant_edges=pl.len()),
        chain_counts(graph),
        shape_summary(condensation),
    ):
        table = table.join(further, on="relation", how="left")
    counts = [
        name for name, kind in TABLES["graph_relations"].columns.types.items() if kind == pl.Int64
    ]
    return (
        table.sort("place")
        .with_columns(pl.col(counts).fill_null(0))
        .pipe(TABLES["graph_relations"].cast)
    )


def _place() -> pl.Expr:
    """The place of a relation in report order."""
    order = {relation: place for place, relation in enumerate(RELATIONS)}
    return pl.col("relation").replace_strict(order, default=len(order), return_dtype=pl.Int64)


def _edge_counts(graph: TextGraph) -> pl.DataFrame:
    valid = pl.col("valid") > 0
    return graph.edges.group_by("relation").agg(
        edges=pl.len(),
        valid_edges=valid.sum(),
        denied_edges=DENIED.sum(),
        contradictory_edges=(valid & (pl.col("invalid") > 0)).sum(),
    )


def _lint(condensation: Condensation) -> pl.DataFrame:
    """The table ``graph_lint``."""
    rows = (
        {
            "relation": hierarchy.name,
            "rule": one.rule,
            "severity": one.severity,
            "n": len(one.cases),
            "of": one.of,
            "unit": one.unit,
            "first": list(one.cases[0]),
        }
        for hierarchy in condensation.hierarchies()
        for one in lint_hierarchy(hierarchy)
    )
    return TABLES["graph_lint"].frame(rows)


_OWN = schema(
    ("context relation first", pl.String),
    ("texts edges", pl.Int64),
    ("synonyms", pl.Boolean),
    ("cycle", pl.List(pl.String)),
)


def component_table(merged: TextGraph, by_context: TextGraph) -> pl.DataFrame:
    """The components of the relations, with what is so within one context."""
    within = _of_members(_components(by_context), merged)
    table = _components(merged).join(within, on=["relation", "first"], how="left")
    return (
        table.with_columns(
            one_context=pl.col("cycle_within").is_not_null(),
            cycle=pl.coalesce("cycle_within", "cycle"),
        )
        .pipe(TABLES["graph_components"].cast)
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
    for number, members in _members(graph.component):
        synonyms = edges_alone[number] == 0
        cycle = shortest_cycle(graph.valid, members, None if synonyms else alone)
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
