"""The concepts of each relation that most edges have."""

from __future__ import annotations

import polars as pl

from audit.entailment.dataset import with_share
from audit.entailment.declared import TABLES
from audit.entailment.graph.text_graph import TextGraph
from audit.hierarchies.catch_alls import read_title

_GENERAL = frozenset(
    read_title(
        "action activity anything be being do doing entity event everything happening item matter "
        "object occurrence situation some something stuff thing"
    ).words
)
"""Words that distinguish no instance from another, besides those of catch-alls in titles."""


def concept_table(merged: TextGraph) -> pl.DataFrame:
    """Of each relation the concepts of valid edges, those with most first."""
    valid = merged.edges.filter(pl.col("valid") > 0)
    concepts = (
        valid.with_columns(of=pl.len().over("relation"))
        .group_by("relation", "concept")
        .agg(edges=pl.len(), of=pl.col("of").first())
        .sort("relation", "edges", "concept", descending=[False, True, False])
    )
    table = with_share(concepts, "edges", "of").with_columns(
        pl.Series("says_nothing", list(map(says_nothing, concepts["concept"])), pl.Boolean)
    )
    named = table.rename({"low": "share_low", "high": "share_high"})
    return named.pipe(TABLES["graph_concepts"].cast)


def says_nothing(text: str) -> bool:
    """Whether a text is made of words that name nothing in particular.

    >>> says_nothing("some thing"), says_nothing("other activities"), says_nothing("wild thing")
    (True, True, False)
    """
    return not read_title(text).words - _GENERAL
