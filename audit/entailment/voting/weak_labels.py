"""Labels that too few votes carry."""

from __future__ import annotations

import polars as pl

from audit.base.schemas import schema
from audit.entailment.content.totals import ALL, in_report_order, with_share
from audit.entailment.dataset import EntailmentDataset

CARRYING = 0.8
"""Least share of the votes that must be for the label: four of five, as AbsPyramid has it."""

WEAK = schema(
    ("relation", pl.String),
    ("tuples weak", pl.Int64),
    ("share low high", pl.Float64),
    ("ties against", pl.Int64),
)
"""One row per relation, and `ALL`: tuples with votes, and those with less than `CARRYING` of them
for their label, with their share and its Wilson interval. Among them are ``ties``, half of whose
votes are for it, and those that most votes are ``against``."""

WEAK_LABELS = schema(
    ("id", pl.String),
    ("row", pl.Int64),
    ("relation", pl.String),
    ("valid", pl.Boolean),
    ("for_label votes", pl.Int64),
    ("kind", pl.String),
)
"""One row per weak tuple: how many of its ``votes`` are for its label, and the ``kind``: ``tie``,
``against``, or ``weak``."""


def weak_labels(dataset: EntailmentDataset) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Weak labels by relation, columns `WEAK`, and each of them, columns `WEAK_LABELS`."""
    voted = dataset.tuples.drop_nulls("votes").with_columns(
        for_label=pl.when("valid")
        .then("votes_valid")
        .otherwise(pl.col("votes") - pl.col("votes_valid"))
    )
    twice, votes = 2 * pl.col("for_label"), pl.col("votes")
    marked = voted.with_columns(
        kind=pl.when(twice == votes)
        .then(pl.lit("tie"))
        .when(twice < votes)
        .then(pl.lit("against"))
        .when(pl.col("for_label") < CARRYING * votes - 1e-9)
        .then(pl.lit("weak"))
    )
    counts = pl.concat(
        [
            marked.group_by(relation=relation).agg(
                tuples=pl.len().cast(pl.Int64),
                weak=pl.col("kind").count().cast(pl.Int64),
                ties=(pl.col("kind") == "tie").sum().cast(pl.Int64),
                against=(pl.col("kind") == "against").sum().cast(pl.Int64),
            )
            for relation in (pl.col("relation"), pl.lit(ALL))
        ]
    )
    table = in_report_order(with_share(counts, "weak", "tuples")).select(*WEAK)
    return table, marked.drop_nulls("kind").select(*WEAK_LABELS)
