"""The pairs of labels that a model confuses most."""

from __future__ import annotations

import polars as pl

MOST_CONFUSED = 15
"""Number of most confused pairs that get an interval and are shown in reports."""


def most_confused(pairs: pl.LazyFrame, labelled: pl.Series) -> pl.LazyFrame:
    """The `MOST_CONFUSED` unrelated pairs of labels with the highest confusion, highest first.

    Args:
        pairs: The pair table of the predictions; further columns are kept.
        labelled: Ids of the nodes that are labels.

    Ties are resolved by node order.
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
