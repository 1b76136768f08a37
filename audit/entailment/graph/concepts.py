"""The concepts of each relation that most edges have."""

from __future__ import annotations

import polars as pl

from audit.engine.statistics.intervals import wilson
from audit.entailment.graph.measurements import CONCEPTS
from audit.entailment.graph.text_graph import TextGraph
from audit.hierarchies.catch_alls import read_title

MOST = 50
"""Concepts listed for each relation."""

_GENERAL = frozenset(
    read_title(
        "action activity anything be being do doing entity event everything happening item matter "
        "object occurrence situation some something stuff thing"
    ).words
)
"""Words that distinguish no instance from another, besides those of catch-alls in titles."""


def concept_table(merged: TextGraph) -> pl.DataFrame:
    """Columns `CONCEPTS`: of each relation the concepts with the most valid edges."""
    valid = merged.edges.filter(pl.col("valid") > 0)
    largest = (
        valid.with_columns(of=pl.len().over("relation"))
        .group_by("relation", "concept")
        .agg(edges=pl.len(), of=pl.col("of").first())
        .sort("relation", "edges", "concept", descending=[False, True, False])
        .group_by("relation", maintain_order=True)
        .head(MOST)
    )
    bounds = [wilson(k, n) for k, n in largest.select("edges", "of").iter_rows()]
    table = largest.with_columns(
        pl.Series("share_low", [low for low, _ in bounds], pl.Float64),
        pl.Series("share_high", [high for _, high in bounds], pl.Float64),
        pl.Series("says_nothing", list(map(says_nothing, largest["concept"])), pl.Boolean),
        share=pl.col("edges") / pl.col("of"),
    )
    return table.select(pl.col(name).cast(kind) for name, kind in CONCEPTS.items())


def says_nothing(text: str) -> bool:
    """Whether a text is made of words that name nothing in particular.

    >>> says_nothing("some thing"), says_nothing("other activities"), says_nothing("wild thing")
    (True, True, False)
    """
    return not read_title(text).words - _GENERAL
