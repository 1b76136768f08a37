"""Edges of an entailment dataset as arrays, and those around the worst findings, for a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from audit.base.dag import IntArray, Sparse, edge_matrix
from audit.base.paths import strong_components
from audit.entailment.dataset import WHOLE
from audit.entailment.graph.measurements import NEIGHBOURHOODS
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


NODE = ("relation", "context", "text")
EDGE = ("relation", "context", "instance", "concept")


@dataclass(frozen=True, eq=False)
class TextGraph:
    """Edges of all relations; texts of different relations or contexts are different nodes.

    Args:
        texts: Columns `NODE`, sorted by them; the number of a row is the index of the node.
        edges: Columns `EDGE` with ``valid, invalid, heads`` (counts of tuples, and of heads) and
            ``child, parent`` (indices of nodes), sorted by `EDGE`.
    """

    texts: pl.DataFrame
    edges: pl.DataFrame

    @cached_property
    def valid(self) -> Sparse:
        """Edges that a tuple states as valid, shape (n, n)."""
        ends = self.ends(pl.col("valid") > 0)
        return edge_matrix(*ends, len(self.texts))

    @cached_property
    def component(self) -> IntArray:
        """Strongly connected component of each node by valid edges, shape (n,)."""
        return strong_components(self.valid)

    @cached_property
    def relation(self) -> IntArray:
        """Number of the relation of each node, in code-point order of their names, shape (n,)."""
        return self.texts["relation"].rank("dense").to_numpy().astype(np.int64) - 1

    def ends(self, rows: pl.Expr) -> tuple[IntArray, IntArray]:
        """Child and parent of some edges."""
        chosen = self.edges.filter(rows)
        return chosen["child"].to_numpy(), chosen["parent"].to_numpy()


DENIED = (pl.col("invalid") > 0) & (pl.col("valid") == 0)
"""Edges that tuples state as invalid alone."""


def stated_edges(tuples: pl.DataFrame) -> pl.DataFrame:
    """One row per edge and context: `EDGE` with ``valid, invalid, heads``.

    The context is the head, or empty for relations whose instance is the whole head. A text that
    is its own concept is not an edge.
    """
    whole = pl.col("relation").is_in(sorted(WHOLE))
    return (
        tuples.filter(pl.col("instance") != pl.col("concept"))
        .with_columns(context=pl.when(whole).then(pl.lit("")).otherwise("head"))
        .group_by(EDGE)
        .agg(
            valid=pl.col("valid").sum().cast(pl.Int64),
            invalid=(~pl.col("valid")).sum().cast(pl.Int64),
            heads=pl.col("head").n_unique().cast(pl.Int64),
        )
    )


def merged_contexts(edges: pl.DataFrame) -> pl.DataFrame:
    """Edges of all contexts together: the same columns, with an empty context."""
    counts = (pl.col(name).sum() for name in ("valid", "invalid", "heads"))
    keys = ("relation", "instance", "concept")
    merged = edges.group_by(keys).agg(*counts).with_columns(context=pl.lit(""))
    return merged.select(*EDGE, "valid", "invalid", "heads")


def text_graph(edges: pl.DataFrame) -> TextGraph:
    """The graph of a table of edges with the columns `EDGE` and ``valid, invalid, heads``."""
    ends = [
        edges.select("relation", "context", pl.col(end).alias("text"))
        for end in ("instance", "concept")
    ]
    texts = pl.concat(ends).unique().sort(NODE)
    position = texts.with_columns(place=pl.int_range(pl.len(), dtype=pl.Int64))
    for name, end in (("child", "instance"), ("parent", "concept")):
        renamed = position.rename({"text": end, "place": name})
        edges = edges.join(renamed, on=["relation", "context", end], how="left")
    return TextGraph(texts, edges.sort("child", "parent"))
