"""Edges with an answer against another: stated both ways, or denied within a cycle."""

from __future__ import annotations

import polars as pl

from audit.entailment.graph.measurements import CONTRADICTIONS
from audit.entailment.graph.text_graph import DENIED, TextGraph

_KEYS = ["relation", "instance", "concept", "kind"]


def contradiction_table(merged: TextGraph, by_context: TextGraph) -> pl.DataFrame:
    """Columns `CONTRADICTIONS`: those of one context first, then by relation and texts."""
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
        .select(pl.col(name).cast(kind) for name, kind in CONTRADICTIONS.items())
        .sort("one_context", *_KEYS, descending=[True, *[False] * len(_KEYS)])
    )


def _contradictions(graph: TextGraph) -> pl.DataFrame:
    ends = (graph.component[graph.edges[end].to_numpy()] for end in ("child", "parent"))
    child, parent = (pl.Series(end) for end in ends)
    both = (pl.col("valid") > 0) & (pl.col("invalid") > 0)
    kind = pl.when(both).then(pl.lit("edge")).when(DENIED & (child == parent)).then(pl.lit("cycle"))
    return graph.edges.with_columns(kind=kind).drop_nulls("kind")
