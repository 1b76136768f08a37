"""Tables of the view on a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.results.overview import Rows, rate, titled
from audit.results.record import Record
from audit.results.shared_tables import shared_rows
from audit.results.tables import MODEL

MOST_CONFUSED = 15
"""Number of most confused pairs that get an interval and are shown in reports."""


def model_overview(run: Record) -> dict[str, Rows]:
    """Tables on a model by name; empty ones without a model."""
    model = run.model
    if model is None:
        return {name: [] for name in (*MODEL, "data_beside_model")}
    told = {name: shared_rows(model.frames[name], MODEL[name], run.rounding) for name in MODEL}
    return {**told, "data_beside_model": confused(run)}


def confused(run: Record) -> Rows:
    """The unrelated pairs of labels that the model confuses most, in the data and as predicted."""
    if run.model is None:
        return []
    labelled = run.nodes.filter(pl.col("direct") > run.rounding.width)["node"]
    top = most_confused(run.model.pairs, labelled).collect().drop("joint")
    there = run.pair_table.within(pl.concat([top["a"], top["b"]])).select("a", "b", "joint")
    joined = top.join(there.collect(), on=["a", "b"], how="left", maintain_order="left")
    joint = pl.col("joint").fill_null(pl.lit(run.rounding.count(0), pl.Int64))
    named = titled(joined.with_columns(joint), run, title_a="a", title_b="b")
    return [_confused(row, run) for row in named.iter_rows(named=True)]


_PAIR = ("a", "b", "title_a", "title_b", "relation", "joint", "co_predicted", "confusion",
         "confusion_low", "confusion_high")  # fmt: skip


def _confused(row: Mapping[str, Any], run: Record) -> dict[str, Any]:
    predicted = run.ledger["predictions"]["instances_matched"]
    return {
        **{name: row[name] for name in _PAIR},
        "rate": rate(row["joint"], run.size, run),
        "co_predicted_rate": rate(row["co_predicted"], predicted, run),
    }


def most_confused(pairs: pl.LazyFrame, labelled: pl.Series) -> pl.LazyFrame:
    """The `MOST_CONFUSED` unrelated pairs of labels with the highest confusion, highest first.

    Ties are resolved by node order.
    """
    return (
        pairs.filter(
            ~pl.col("relation").is_in(["ancestor", "overlap"])
            & pl.col("a").is_in(labelled.implode())
            & pl.col("b").is_in(labelled.implode())
        )
        .sort(["confusion", "a", "b"], descending=[True, False, False], nulls_last=True)
        .head(MOST_CONFUSED)
    )
