"""Votes on tuples: agreement by relation, and weak labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.entailment.dataset import in_report_order, over_all, with_share
from audit.analyses.entailment.declared import ALL, TABLES
from audit.base.declared import finite, schema
from audit.engine.statistics.intervals import wilson
from audit.engine.statistics.raters import agreement_of_sums, agreement_terms, equal_votes
from audit.engine.statistics.resampling import percentile_interval

REPLICATES = 2_000
"""Number of bootstrap samples."""
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


def agreement(tuples: pl.DataFrame) -> pl.DataFrame:
    """Agreement by relation, ``quality_agreement``; empty where no tuple has two votes."""
    voted = tuples.filter(pl.col("votes") > 1)
    parts = voted.partition_by("relation", as_dict=True) | {(ALL,): voted}
    rows = [row for (name,), part in parts.items() if len(part) for row in _rows(name, part)]
    return in_report_order(TABLES["quality_agreement"].frame(rows))


def _rows(relation: str, voted: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Tuples with the same counts add the same terms, so that a bootstrap draws their number."""
    patterns = voted.group_by("votes_valid", "votes").agg(n=pl.len()).sort("votes", "votes_valid")
    valid, votes, times = patterns.to_numpy().T
    counts = np.column_stack([valid, votes - valid])
    terms, equal = agreement_terms(counts), equal_votes(counts)
    drawn = np.random.default_rng(0).multinomial(len(voted), times / times.sum(), REPLICATES)
    found, sampled = (agreement_of_sums(n @ terms, equal=equal) for n in (times, drawn))
    about = {"relation": relation, "tuples": len(voted), "votes": int(times @ votes)}
    for measure in ("pairwise", "fleiss", "alpha"):
        value = finite(float(getattr(found, measure)))
        unequal = measure == "fleiss" and not equal
        why = "tuples differ in their number of votes" if unequal else "all votes are alike"
        low, high = map(float, percentile_interval(getattr(sampled, measure)))
        known = {"reason": why} if value is None else {"value": value, "low": low, "high": high}
        yield about | {"measure": measure} | known
    unanimous = int(times @ ((valid == 0) | (valid == votes)))
    low, high = wilson(unanimous, len(voted))
    share = {"value": unanimous / len(voted), "low": low, "high": high}
    yield about | {"measure": "unanimous"} | share


def weak_labels(tuples: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Weak labels by relation, ``quality_weak``, and each of them, columns `WEAK_LABELS`."""
    votes, valid = pl.col("votes"), pl.col("votes_valid")
    own = pl.col("for_label")
    marked = (
        tuples.drop_nulls("votes")
        .with_columns(for_label=pl.when("valid").then(valid).otherwise(votes - valid))
        .with_columns(
            kind=pl.when(2 * own == votes)
            .then(pl.lit("tie"))
            .when(2 * own < votes)
            .then(pl.lit("against"))
            .when(own < CARRYING * votes - 1e-9)
            .then(pl.lit("weak"))
        )
    )
    kinds = {"ties": pl.col("kind") == "tie", "against": pl.col("kind") == "against"}
    counted = {name: one.sum() for name, one in kinds.items()}
    counts = over_all(marked, "relation", tuples=pl.len(), weak=pl.col("kind").count(), **counted)
    table = TABLES["quality_weak"].cast(with_share(counts, "weak", "tuples"))
    return table, marked.drop_nulls("kind").select(*WEAK_LABELS)
