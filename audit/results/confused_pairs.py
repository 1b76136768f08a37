"""Which pairs of labels a model confuses most."""

from __future__ import annotations

import polars as pl

MOST_CONFUSED = 15
"""Pairs of a model that get an interval, and that reports show."""


def most_confused(pairs: pl.LazyFrame, labelled: pl.Series) -> pl.LazyFrame:
    """The `MOST_CONFUSED` unrelated pairs of labels with the highest confusion, highest first.

    Args:
        pairs: As `described` gives them, further columns kept.
        labelled: Ids of the nodes that are labels.

    Of equals the first in node order are taken.
    """
    return (
        pairs.filter(
            ~pl.col("relation").is_in(["ancestor", "overlap"])
            & pl.col("a").is_in(labelled.implode())
            & pl.col("b").is_in(labelled.implode())
        )
        .sort(["confusion", "a", "b"], descending=[True, False, False])
        .head(MOST_CONFUSED)
    )
