"""Changes between the models of two runs: their predictions and metrics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from audit.base.declared import schema
from audit.engine.statistics.intervals import difference_interval
from audit.results.metric_list import ALL, METRICS
from audit.results.result import AuditResult
from audit.runs.compare.counts import p_of_interval, q_values, within_rate
from audit.runs.compare.releases import SIDES, beside
from audit.runs.compare.told import ToldRuns
from audit.runs.instances import answered

State: TypeAlias = Literal["same", "differ", "only_old", "only_new"]
"""Of the predictions: the same; not known to be the same; or in one run only."""
_METRICS = schema(
    ("name scope parameters", pl.String),
    ("old new difference low high", pl.Float64),
    ("n_old n_new", pl.Int64),
    ("beyond_old beyond_new", pl.String),
)
_ORDER = [metric.name for metric in METRICS]
_Metric: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class ModelChanges:
    """What differs between the models of two runs.

    Args:
        predictions: Whether the predictions are the same.
        metrics: As `metric_changes`, a row per metric of either run.
        common: Instances with predictions in both runs; None if they do not both keep some.
        scores_differ: Those of them with another score; None if that is unknown.
        answers_differ: Those of them with other predicted labels; None if that is unknown.
        exact: Whether labels and predictions are the same, so that no difference is chance.
    """

    predictions: State
    metrics: pl.DataFrame
    common: int | None = None
    scores_differ: int | None = None
    answers_differ: int | None = None
    exact: bool = False

    def told(self, runs: ToldRuns) -> ModelChanges:
        """The changes of counts and metrics as both runs tell them; these if that is exactly."""
        if not runs.width:
            return self
        metrics = self.metrics
        if not metrics.is_empty():
            sides = (run.told.metric_rows for run in (runs.old, runs.new))
            metrics = metric_changes(*sides, exact=self.exact)
        counts = (self.common, self.scores_differ, self.answers_differ)
        common, scores, answers = map(runs.in_both, counts)
        return ModelChanges(self.predictions, metrics, common, scores, answers)


def changed_metrics(metrics: pl.DataFrame) -> int:
    """Number of metrics whose difference is beyond chance, as tests of all of them say together."""
    known = metrics.drop_nulls(("difference", "low", "high"))
    apart, low, high = (known[name].to_numpy() for name in ("difference", "low", "high"))
    p_value = p_of_interval(apart, np.where(apart > 0, apart - low, high - apart))
    return int(within_rate(q_values(p_value, np.ones(len(known), np.bool_))).sum())


def metric_rows(metrics: pl.DataFrame) -> list[dict[str, Any]]:
    """Metrics as ``comparison.json`` lists them: without their scope, parameters as they are."""
    rows = metrics.drop("scope").iter_rows(named=True)
    return [{**row, "parameters": json.loads(row["parameters"])} for row in rows]


def model_changes(old: AuditResult, new: AuditResult, *, same_data: bool) -> ModelChanges | None:
    """Compare the models of two runs; None if neither has predictions.

    Intervals of differences are those of `difference_interval`, which takes the runs as
    independent.
    """
    if old.model is None or new.model is None:
        if old.model is new.model:
            return None
        return ModelChanges("only_new" if old.model is None else "only_old", metric_changes((), ()))
    before, after = (_kept_answers(run) for run in (old, new))
    common = before.select("instance").unique().join(after, on="instance", how="semi")
    if common.is_empty():
        alike = _as_read(old) == _as_read(new)
        exact = same_data and alike
        metrics = metric_changes(old.metric_rows, new.metric_rows, exact=exact)
        return ModelChanges("same" if alike else "differ", metrics, exact=exact)
    key = ["instance", "node"]
    joined = beside((before, after), key, "full").join(common, on="instance", how="semi")
    scores, answers = (
        joined.filter(
            pl.col(f"{name}_old").fill_null(nothing) != pl.col(f"{name}_new").fill_null(nothing)
        )["instance"].n_unique()
        for name, nothing in (("score", 0.0), ("answer", False))
    )
    whole = {len(common)} == {one["instance"].n_unique() for one in (before, after)}
    matched = {run.ledger["predictions"]["instances_matched"] for run in (old, new)}
    same = whole and len(matched) == 1 and not (scores or answers)
    metrics = metric_changes(old.metric_rows, new.metric_rows, exact=same)
    state: State = "same" if same else "differ"
    return ModelChanges(state, metrics, len(common), scores, answers, exact=same)


def _kept_answers(run: AuditResult) -> pl.DataFrame:
    """``instance, node, score, answer`` of the predictions that a run keeps; else no row."""
    if run.instances is None:
        return pl.DataFrame(schema={"instance": pl.String})
    rows = run.instances.filter(pl.col("score").is_not_null()).sort("instance", "node")
    answer = answered(run.ledger["predictions"]).over("instance")
    return rows.select("instance", "node", "score", answer=answer).collect()


def _as_read(run: AuditResult) -> list[Any]:
    """The predictions of a run by their files, and by what was counted of them."""
    files = {source["sha256"] for source in run.inputs if source["role"] == "predictions"}
    return [files, run.ledger["predictions"], [*map(dict, run.metric_rows)]]


def metric_changes(
    old: Iterable[_Metric], new: Iterable[_Metric], *, exact: bool = False
) -> pl.DataFrame:
    """The metrics of either run by name, scope and parameters, in report order.

    Args:
        exact: Whether nothing is left to chance, so that a difference is its own interval.

    Returns:
        ``name, scope, parameters`` (JSON), ``old, new, difference, low, high`` (null where
        undefined, or in one run only), ``n_old, n_new``, and which side of a told value a metric is
        on, where it is near the end of its range (``beyond_old, beyond_new``).
    """
    before, after = ({_metric_key(metric): metric for metric in side} for side in (old, new))
    rows = [
        {
            **dict(zip(("scope", "name", "parameters"), key, strict=True)),
            **_compared(before.get(key, {}), after.get(key, {}), exact=exact),
        }
        for key in sorted({**before, **after}, key=_place)
    ]
    return pl.DataFrame(rows, schema=_METRICS)


def _metric_key(metric: _Metric) -> tuple[str, str, str]:
    """What metrics of two runs are matched by: scope, name, and parameters as JSON."""
    return metric["scope"], metric["name"], json.dumps(dict(metric["parameters"]), sort_keys=True)


def _place(key: tuple[str, str, str]) -> tuple[Any, ...]:
    """Sort key: metrics over all instances first, then by scope, in the order of `METRICS`."""
    scope, name, parameters = key
    place = _ORDER.index(name) if name in _ORDER else len(_ORDER)
    return scope != ALL, scope, place, name, parameters


def _compared(old: _Metric, new: _Metric, *, exact: bool) -> dict[str, Any]:
    """Both values and their difference with its interval; none where one is told to be beyond."""
    row: dict[str, Any] = {}
    for side, metric in zip(SIDES, (old, new), strict=True):
        row[side], row[f"n_{side}"] = metric.get("value"), metric.get("n")
        row[f"beyond_{side}"] = metric.get("beyond")
    now, was = ((one.get("value"), one.get("low"), one.get("high")) for one in (new, old))
    if None not in (row["old"], row["new"]) and not (row["beyond_old"] or row["beyond_new"]):
        row["difference"] = row["new"] - row["old"]
    if None not in (*now, *was):
        apart = row["new"] - row["old"]
        low, high = (apart, apart) if exact else difference_interval(now, was)
        row |= {"low": float(low), "high": float(high)}
    return row


def measure_changes(runs: ToldRuns) -> pl.DataFrame:
    """What analyses measured over all instances of either run, as `metric_changes`.

    Values and intervals are those that either run tells. Intervals of differences take the runs as
    independent.
    """
    sides = (
        [
            metric
            for part in run.analyses
            for metric in part.metrics(part.shared(run.rounding))
            if metric["scope"] == ALL
        ]
        for run in runs.sides.values()
    )
    return metric_changes(*sides)
