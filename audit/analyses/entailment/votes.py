"""Votes on tuples: agreement by relation, and weak labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.entailment.dataset import EntailmentDataset, in_report_order, with_share
from audit.analyses.entailment.declared import ALL, TABLES
from audit.base.declared import schema
from audit.engine.statistics.intervals import wilson
from audit.engine.statistics.raters import agreement_of_sums, agreement_terms, equal_votes
from audit.engine.statistics.resampling import percentile_interval

REPLICATES = 2_000
"""Number of bootstrap samples."""
_MEASURES = ("pairwise", "fleiss", "alpha")


def agreement(dataset: EntailmentDataset) -> pl.DataFrame:
    """Agreement by relation, ``quality_agreement``; empty where no tuple has two votes."""
    voted = dataset.tuples.filter(pl.col("votes") > 1)
    if voted.is_empty():
        return TABLES["quality_agreement"].frame()
    parts = [*voted.group_by("relation", maintain_order=True), ((ALL,), voted)]
    rows = [row for (relation,), of in parts for row in _rows(str(relation), of)]
    return in_report_order(TABLES["quality_agreement"].frame(rows))


def _rows(relation: str, voted: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Tuples with the same counts add the same terms, so that a bootstrap draws their number."""
    patterns = voted.group_by("votes_valid", "votes").agg(n=pl.len()).sort("votes", "votes_valid")
    valid, votes = patterns["votes_valid"].to_numpy(), patterns["votes"].to_numpy()
    counts = np.column_stack([valid, votes - valid])
    times, terms, equal = patterns["n"].to_numpy(), agreement_terms(counts), equal_votes(counts)
    drawn = np.random.default_rng(0).multinomial(len(voted), times / times.sum(), REPLICATES)
    found = agreement_of_sums(times @ terms, equal=equal)
    sampled = agreement_of_sums(drawn @ terms, equal=equal)
    size = {"relation": relation, "tuples": len(voted), "votes": int(times @ votes)}
    for measure in _MEASURES:
        value = float(getattr(found, measure))
        low, high = percentile_interval(getattr(sampled, measure))
        known = not np.isnan(value)
        yield size | {
            "measure": measure,
            "value": value if known else None,
            "low": float(low) if known else None,
            "high": float(high) if known else None,
            "reason": None if known else _reason(measure, equal=equal),
        }
    unanimous = int(times @ ((valid == 0) | (valid == votes)))
    low_share, high_share = wilson(unanimous, len(voted))
    yield size | {
        "measure": "unanimous",
        "value": unanimous / len(voted),
        "low": low_share,
        "high": high_share,
        "reason": None,
    }


def _reason(measure: str, *, equal: bool) -> str:
    if measure == "fleiss" and not equal:
        return "tuples differ in their number of votes"
    return "all votes are alike"


CARRYING = 0.8
"""Least share of the votes that must be for the label: four of five, as AbsPyramid has it."""


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
    """Weak labels by relation, ``quality_weak``, and each of them, columns `WEAK_LABELS`."""
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
    table = in_report_order(with_share(counts, "weak", "tuples")).select(
        *TABLES["quality_weak"].columns
    )
    return table, marked.drop_nulls("kind").select(*WEAK_LABELS)
