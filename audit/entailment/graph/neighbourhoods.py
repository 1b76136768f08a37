"""The edges around the worst findings, for a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from audit.entailment.graph.measurements import NEIGHBOURHOODS
from audit.entailment.graph.text_graph import TextGraph
from audit.results.findings import finding_id

MOST_TEXTS = 12
"""Texts of one picture."""
MOST_FINDINGS = 3
"""Pictures for each check."""
ONE, ACROSS = "one context", "across contexts"
"""Last parts of the keys of findings that lie within one context, or need several."""


def neighbourhood_table(
    merged: TextGraph,
    components: pl.DataFrame,
    contradictions: pl.DataFrame,
    violations: pl.DataFrame,
    concepts: pl.DataFrame,
) -> pl.DataFrame:
    """Columns `NEIGHBOURHOODS`, in the order of the checks."""
    tables = [
        _neighbourhood(merged, finding, relation, texts)
        for rows in (
            _of_components(components),
            _of_edges("contradiction", contradictions, ("instance", "concept")),
            _of_edges("transitivity", violations, ("instance", "through", "concept")),
            _of_concepts(concepts),
        )
        for finding, relation, texts in rows
    ]
    empty = pl.DataFrame(schema=NEIGHBOURHOODS)
    return pl.concat([empty, *tables])


_Pictures = Iterator[tuple[str, str, Sequence[str]]]
"""Id of a finding, its relation, and the texts in the middle of the picture."""


def _of_components(components: pl.DataFrame) -> _Pictures:
    worst = components.filter(~pl.col("synonyms")).head(MOST_FINDINGS)
    for relation, first, cycle in worst.select("relation", "first", "cycle").iter_rows():
        yield finding_id("cycle", relation, first), relation, cycle[:-1]


def _of_edges(check: str, table: pl.DataFrame, texts: Sequence[str]) -> _Pictures:
    """The first cases of the findings of a relation, as many as there is room for."""
    keys = ("relation", "one_context")
    for (relation, one), cases in list(table.group_by(keys, maintain_order=True))[:MOST_FINDINGS]:
        some = [text for case in cases.select(texts).head(3).iter_rows() for text in case]
        yield finding_id(check, str(relation), ONE if one else ACROSS), str(relation), some


def _of_concepts(concepts: pl.DataFrame) -> _Pictures:
    worst = concepts.filter("catch_all").sort("excess", descending=True).head(MOST_FINDINGS)
    for relation, concept in worst.select("relation", "concept").iter_rows():
        yield finding_id("catch_all", relation, concept), relation, [concept]


def _neighbourhood(
    graph: TextGraph, finding: str, relation: str, texts: Sequence[str]
) -> pl.DataFrame:
    """Edges among the texts and their nearest neighbours, those with the most tuples first."""
    edges = graph.edges.filter(pl.col("relation") == relation)
    chosen = list(texts)
    ends = pl.col("instance"), pl.col("concept")
    touching = edges.filter(pl.any_horizontal(end.is_in(chosen) for end in ends)).sort(
        pl.col("valid") + pl.col("invalid"), "instance", "concept", descending=[True, False, False]
    )
    near = (text for edge in touching.select("instance", "concept").iter_rows() for text in edge)
    among = list(dict.fromkeys([*chosen, *near]))[:MOST_TEXTS]
    return (
        edges.filter(pl.all_horizontal(end.is_in(among) for end in ends))
        .with_columns(finding=pl.lit(finding))
        .rename({"instance": "text", "concept": "above"})
        .drop("child", "parent")
        .rename({"text": "child", "above": "parent"})
        .select(pl.col(name).cast(kind) for name, kind in NEIGHBOURHOODS.items())
        .sort("child", "parent")
    )
