"""Votes on tuples, a column an annotator or as counts."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from audit.entailment.dataset import VOTES
from audit.entailment.reading.values import truths

BY = "annotator:"
"""What the column of an annotator begins with in a table of records."""


def with_parsed_votes(records: pl.DataFrame) -> pl.DataFrame:
    """Records with counts ``votes_valid, votes`` and whether they have a ``bad_vote``.

    Columns of annotators become true, false or null. Counts are null where there is no vote.

    Args:
        records: Text columns ``votes_valid`` and ``votes``, or one for each annotator, its name
            after `BY`.
    """
    annotators = [name for name in records.columns if name.startswith(BY)]
    if annotators:
        return _from_annotators(records, annotators)
    if "votes" not in records.columns:
        nothing = pl.lit(None, pl.Int64)
        return records.with_columns(votes_valid=nothing, votes=nothing, bad_vote=False)
    return _from_counts(records)


def votes_of(kept: pl.DataFrame) -> pl.DataFrame:
    """Each known vote of kept records, columns `VOTES`."""
    by_annotator = [
        kept.select("id", annotator=pl.lit(name.removeprefix(BY)), valid=name).drop_nulls("valid")
        for name in kept.columns
        if name.startswith(BY)
    ]
    return pl.concat([pl.DataFrame(schema=VOTES), *by_annotator]).sort("id", "annotator")


def _from_annotators(records: pl.DataFrame, annotators: Sequence[str]) -> pl.DataFrame:
    parsed = records.with_columns(truths(records[name]).alias(name) for name in annotators)
    bad = [parsed[name].is_null() & records[name].is_not_null() for name in annotators]
    votes = pl.sum_horizontal(pl.col(annotators).is_not_null().cast(pl.Int64))
    valid = pl.sum_horizontal(pl.col(annotators).fill_null(False).cast(pl.Int64))
    return parsed.with_columns(
        votes_valid=pl.when(votes > 0).then(valid),
        votes=pl.when(votes > 0).then(votes),
        bad_vote=pl.DataFrame(bad, schema=list(annotators))
        .select(pl.any_horizontal(pl.all()))
        .to_series(),
    )


def _from_counts(records: pl.DataFrame) -> pl.DataFrame:
    plain = records.with_columns(pl.col("votes_valid", "votes").str.strip_suffix(".0"))
    counts = plain.select(pl.col("votes_valid", "votes").cast(pl.Int64, strict=False))
    valid, votes = pl.col("votes_valid"), pl.col("votes")
    given = records.select(valid.is_not_null() | votes.is_not_null()).to_series()
    sound = counts.select((valid >= 0) & (valid <= votes)).to_series().fill_null(False)
    some = given & sound & (counts["votes"] > 0)
    kept = counts.select(pl.when(some).then(pl.col("votes_valid", "votes")))
    return records.with_columns(*kept.get_columns(), bad_vote=given & ~sound)
