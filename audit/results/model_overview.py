"""Data of the report's figures on a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from audit.results.overview import Overview
from audit.results.record import Record

MOST_CONFUSED = 15
"""Number of most confused pairs that get an interval and are shown in reports."""
Row = Mapping[str, Any]


def model_overview(run: Record) -> Overview:
    """Metric scopes, behaviours, exchanges, suspects, and pairs of data and model side by side.

    Returns:
        Lists of rows by figure; empty ones without a model.
    """
    model, rounding = run.model, run.rounding
    if model is None:
        return {name: [] for name in _FIGURES}
    depths = dict(run.nodes.select("node", "depth").iter_rows())
    return {
        "answered": [
            {
                **row,
                "branches": [{"node": node, "title": run.titles[node]} for node in row["branches"]],
            }
            for row in model.answered
        ],
        "scopes": [
            {"node": node, "title": run.titles.get(node), "depth": depths[node]}
            for node in sorted(model.scopes)
        ],
        "behaviours": [_behaviour(row, run) for row in model.behaviours],
        "exchanges": [
            {"kind": row["kind"], "exchanges": row["observed"]}
            for row in model.exchanges
            if row["kind"] != "branches"
        ],
        "branch_exchanges": _by_excess(
            {**_ends(row, run), **_excess(row)}
            for row in model.exchanges
            if row["kind"] == "branches"
        ),
        "exchanged_pairs": _exchanged(model.exchanged_pairs, run),
        "exchanged_in_line": _exchanged(model.exchanged_in_line, run),
        "answers": [
            {name: row[name] for name in _ANSWERS} | {"title": run.titles[row["node"]]}
            for row in model.answers
            if rounding.lists(row["falsely"])
        ],
        "suspects": [
            {
                **row,
                "title": run.titles[row["node"]],
                "title_other": None if row["other"] is None else run.titles[row["other"]],
            }
            for row in model.suspects
        ],
        "data_beside_model": confused(run),
    }


_FIGURES = (
    "answered", "scopes", "behaviours", "exchanges", "branch_exchanges", "exchanged_pairs",
    "exchanged_in_line", "answers", "suspects", "data_beside_model",
)  # fmt: skip
_ANSWERS = ("node", "share", "falsely", "missed", "hits", "answers", "labelled", "most")


def _behaviour(row: Row, run: Record) -> dict[str, Any]:
    """A kind of behaviour; examples are single instances, which only exact numbers name."""
    return {
        **{name: row[name] for name in ("name", "title", "instances", "of")},
        "share": _rate(row["instances"], row["of"], run),
        **{end: row[end] for end in ("low", "high")},
        "examples": [] if run.rounding.width else list(row["examples"]),
    }


def _exchanged(rows: Iterable[Row], run: Record) -> list[dict[str, Any]]:
    """Pairs of labels that are exchanged."""
    return _by_excess(
        {
            **_ends(row, run),
            "relation": row["relation"],
            "passes": row["passes"],
            **_excess({**row, "observed": row["counted"]}),
        }
        for row in rows
        if run.rounding.lists(row["counted"])
    )


def _excess(row: Row) -> dict[str, Any]:
    """Exchanges, and beside them how many are expected."""
    observed, expected = row["observed"], row["expected"]
    told = observed is not None and expected is not None
    excess = observed - expected if told else None
    return {"observed": observed, "expected": expected, "excess": excess}


def _ends(row: Row, run: Record) -> dict[str, Any]:
    titles = {f"title_{end}": run.titles[row[end]] for end in ("a", "b")}
    return {"a": row["a"], "b": row["b"], **titles}


def _by_excess(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The largest excess first."""
    return sorted(
        lines,
        key=lambda line: (line["excess"] is None, -(line["excess"] or 0), line["a"], line["b"]),
    )


def confused(run: Record) -> list[dict[str, Any]]:
    """The unrelated pairs of labels that the model confuses most, in the data and as predicted."""
    if run.model is None:
        return []
    labelled = run.nodes.filter(pl.col("direct") > run.rounding.width)["node"]
    top = most_confused(run.model.pairs, labelled).collect()
    there = run.pair_table.within(pl.concat([top["a"], top["b"]]))
    data = there.select("a", "b", pl.col("joint").alias("joint_data"))
    joined = top.join(data.collect(), on=["a", "b"], how="left", maintain_order="left")
    predicted = run.ledger["predictions"]["instances_matched"]
    return [_confused(row, run, predicted) for row in joined.iter_rows(named=True)]


def _confused(row: Row, run: Record, predicted: int | None) -> dict[str, Any]:
    joint = row["joint_data"]
    if joint is None:
        joint = run.rounding.count(0)
    return {
        **{name: row[name] for name in ("a", "b", "relation")},
        "joint": joint,
        "rate": _rate(joint, run.size, run),
        "co_predicted": row["co_predicted"],
        "co_predicted_rate": _rate(row["co_predicted"], predicted, run),
        **{name: row[name] for name in ("confusion", "confusion_low", "confusion_high")},
        **{f"title_{end}": run.titles[row[end]] for end in ("a", "b")},
    }


def _rate(k: int | None, n: int | None, run: Record) -> float | None:
    bins = run.rounding.bins("instances")
    if k is None or not n or bins.few(k) or bins.all_but_few(k):
        return None
    return k / n


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
