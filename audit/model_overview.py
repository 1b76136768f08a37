"""The few numbers behind the report's pictures of a model, suppressed like all that is shared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from audit.disclosure import is_small, shown_count
from audit.overview import Overview
from audit.pair_table import most_confused


def model_overview(
    nodes: pl.DataFrame,
    pairs: pl.LazyFrame,
    model_pairs: pl.LazyFrame | None,
    metrics: Sequence[Mapping[str, Any]],
    behaviours: Sequence[Mapping[str, Any]],
    *,
    instances: int,
    predicted: int,
    min_cell: int,
) -> Overview:
    """Scopes of the metrics, behaviours, and the pairs of data and model side by side.

    Args:
        nodes: The run's nodes.
        pairs: The run's pairs.
        model_pairs: The run's pairs of the predictions; None without predictions.
        metrics: The run's metrics.
        behaviours: The run's behaviours.
        instances: Number of instances.
        predicted: Number of those that have predictions.
        min_cell: Smallest count that may be shown. Examples are shown only where it is 1.

    Returns:
        Lists of rows by the picture they belong to; all empty without predictions.
    """
    titles = dict(nodes.select("node", "title").iter_rows())
    depths = dict(nodes.select("node", "depth").iter_rows())
    scopes = sorted({metric["scope"] for metric in metrics} - {"all"})
    return {
        "scopes": [
            {"node": node, "title": titles.get(node), "depth": depths[node]} for node in scopes
        ],
        "behaviours": [_behaviour(behaviour, min_cell) for behaviour in behaviours],
        "data_beside_model": []
        if model_pairs is None
        else [
            {**row, "title_a": titles[row["a"]], "title_b": titles[row["b"]]}
            for row in _beside(nodes, pairs, model_pairs, instances, predicted, min_cell)
        ],
    }


SHARES = ("accuracy", "accuracy_alignment", "recovered", "lost")
"""Metrics that are counts over their n, so that a value gives a count away."""
NET = ("accuracy_alignment", "recovered", "lost")
"""Metrics of which two give the third away."""


def shared_metrics(metrics: Sequence[Mapping[str, Any]], min_cell: int) -> list[dict[str, Any]]:
    """Metrics as published: withheld where n, or a count that the value gives away, is small."""
    torn = {_of_one_move(metric) for metric in metrics if _gives_away(metric, min_cell)}
    return [
        _withheld(metric, min_cell)
        if _gives_away(metric, min_cell) or (metric["name"] in NET and _of_one_move(metric) in torn)
        else dict(metric)
        for metric in metrics
    ]


def _of_one_move(metric: Mapping[str, Any]) -> tuple[object, ...]:
    parameters = metric["parameters"]
    family = "net" if metric["name"] in NET else metric["name"]
    return family, metric["scope"], *sorted(parameters.items())


def _gives_away(metric: Mapping[str, Any], min_cell: int) -> bool:
    value, n = metric["value"], metric["n"]
    if is_small(n, min_cell):
        return True
    if value is None:
        return False
    if metric["name"] == "ties":
        return is_small(round(value), min_cell)
    if metric["name"] not in SHARES:
        return False
    counted = round(abs(value) * n)
    return is_small(counted, min_cell) or is_small(n - counted, min_cell)


def _withheld(metric: Mapping[str, Any], min_cell: int) -> dict[str, Any]:
    hidden = dict.fromkeys(("value", "low", "high"))
    return {**metric, **hidden, "n": shown_count(metric["n"], [], min_cell)}


def _behaviour(behaviour: Mapping[str, Any], min_cell: int) -> dict[str, Any]:
    shown = shown_count(behaviour["instances"], [behaviour["of"]], min_cell)
    hidden = isinstance(shown, str) or not behaviour["of"]
    return {
        "name": behaviour["name"],
        "title": behaviour["title"],
        "instances": shown,
        "of": behaviour["of"],
        "share": None if hidden else behaviour["instances"] / behaviour["of"],
        "low": None if hidden else behaviour["low"],
        "high": None if hidden else behaviour["high"],
        "examples": list(behaviour["examples"]) if min_cell == 1 else [],
    }


def _beside(
    nodes: pl.DataFrame,
    pairs: pl.LazyFrame,
    model_pairs: pl.LazyFrame,
    instances: int,
    predicted: int,
    min_cell: int,
) -> Iterable[dict[str, Any]]:
    """The unrelated pairs of labels that the model confuses most, with what the data does."""
    labelled = nodes.filter(pl.col("direct") > 0)["node"]
    top = most_confused(model_pairs, labelled)
    data = pairs.select("a", "b", pl.col("joint").alias("joint_data"))
    rows = top.join(data, on=["a", "b"], how="left", maintain_order="left").collect()
    for row in rows.iter_rows(named=True):
        joint, together = row["joint_data"] or 0, row["co_predicted"]
        shown_joint = shown_count(joint, [instances], min_cell)
        shown_together = shown_count(together, [predicted], min_cell)
        withheld = isinstance(shown_joint, str) or isinstance(shown_together, str)
        yield {
            "a": row["a"],
            "b": row["b"],
            "relation": row["relation"],
            "joint": shown_joint,
            "rate": None if isinstance(shown_joint, str) else joint / instances,
            "co_predicted": shown_together,
            "co_predicted_rate": None if isinstance(shown_together, str) else together / predicted,
            "confusion": None if withheld else row["confusion"],
            "confusion_low": None if withheld else row["confusion_low"],
            "confusion_high": None if withheld else row["confusion_high"],
        }
