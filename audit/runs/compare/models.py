"""Changes between the models of two runs: their predictions, metrics and confused pairs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from audit.base.declared import schema
from audit.engine.statistics.intervals import difference_interval
from audit.results.metric_list import ALL, METRICS
from audit.results.result import AuditResult
from audit.runs.compare.confusions import (
    CONFUSIONS,
    KeptModel,
    confusion_changes,
    told_confusions,
    top_confused,
    untested,
)
from audit.runs.compare.releases import SIDES, beside
from audit.runs.compare.told import ToldRuns

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
        common: Instances with predictions in both runs; None if they do not both keep some.
        scores_differ: Those of them with another score; None if that is unknown.
        answers_differ: Those of them with other predicted labels; None if that is unknown.
        metrics: As `metric_changes`, a row per metric of either run.
        confusions: See `CONFUSIONS`.
    """

    predictions: State
    metrics: pl.DataFrame
    confusions: pl.DataFrame
    common: int | None = None
    scores_differ: int | None = None
    answers_differ: int | None = None

    @property
    def confusions_changed(self) -> pl.DataFrame:
        """Pairs that changed at the false-discovery rate."""
        return self.confusions.filter("changed")


def changed_metrics(metrics: pl.DataFrame) -> int:
    """Number of metrics whose interval of the difference does not hold 0."""
    return len(metrics.filter((pl.col("low") > 0) | (pl.col("high") < 0)))


def metric_rows(metrics: pl.DataFrame) -> list[dict[str, Any]]:
    """Metrics as ``comparison.json`` lists them: without their scope, parameters as they are."""
    rows = metrics.drop("scope").iter_rows(named=True)
    return [{**row, "parameters": json.loads(row["parameters"])} for row in rows]


def model_changes(old: AuditResult, new: AuditResult, *, same_data: bool) -> ModelChanges | None:
    """Compare the models of two runs; None if neither has predictions.

    Intervals of differences are those of `difference_interval`, which takes the runs as
    independent. Confused pairs are tested if both runs keep their instances, and have some in
    common.
    """
    if old.model is None or new.model is None:
        if old.model is new.model:
            return None
        state: State = "only_new" if old.model is None else "only_old"
        return ModelChanges(state, metric_changes((), ()), pl.DataFrame(schema=CONFUSIONS))
    if old.instances is None or new.instances is None:
        return _by_counts(old, new, same_data=same_data)
    before, after = KeptModel.read(old), KeptModel.read(new)
    common = before.ids.filter(before.ids.is_in(after.ids.implode()))
    if not len(common):
        return _by_counts(old, new, same_data=same_data)
    scores, answers = (_differing(before, after, of, common) for of in ("scores", "decided"))
    whole = len(common) == len(before.ids) == len(after.ids)
    same = whole and before.predicted == after.predicted and not (scores or answers)
    metrics = metric_changes(old.metric_rows, new.metric_rows, exact=same)
    pairs = confusion_changes(before, after)
    state = "same" if same else "differ"
    return ModelChanges(state, metrics, pairs, len(common), scores, answers)


def _by_counts(old: AuditResult, new: AuditResult, *, same_data: bool) -> ModelChanges:
    """Models of runs that do not both keep instances that the other has."""
    state: State = "same" if _as_read(old) == _as_read(new) else "differ"
    exact = same_data and state == "same"
    metrics = metric_changes(old.metric_rows, new.metric_rows, exact=exact)
    return ModelChanges(state, metrics, untested(old, new))


def _as_read(run: AuditResult) -> list[Any]:
    """The predictions of a run by their files, and by what was counted of them."""
    files = {source["sha256"] for source in run.inputs if source["role"] == "predictions"}
    return [files, run.ledger["predictions"], [*map(dict, run.metric_rows)]]


def _differing(old: KeptModel, new: KeptModel, of: str, common: pl.Series) -> int:
    """Number of common instances whose scores, or predicted labels, are not the same."""
    sides = []
    for model in (old, new):
        coo = getattr(model, of).tocoo()
        nodes = pl.Series(model.run.hierarchy.nodes, dtype=pl.String).gather(coo.col)
        stored = {"instance": model.ids.gather(coo.row), "node": nodes}
        table = pl.DataFrame({**stored, "value": coo.data.astype(np.float64)})
        sides.append(table.filter(pl.col("instance").is_in(common.implode())))
    joined = beside(sides, ["instance", "node"], "full")
    other = joined.filter(pl.col("value_old").ne_missing(pl.col("value_new")))
    return other["instance"].n_unique()


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
    before, after = ({_key(metric): metric for metric in side} for side in (old, new))
    rows = [
        {
            **dict(zip(("scope", "name", "parameters"), key, strict=True)),
            **_compared(before.get(key, {}), after.get(key, {}), exact=exact),
        }
        for key in sorted({**before, **after}, key=_place)
    ]
    return pl.DataFrame(rows, schema=_METRICS)


def _key(metric: _Metric) -> tuple[str, str, str]:
    return metric["scope"], metric["name"], json.dumps(dict(metric["parameters"]), sort_keys=True)


def _place(key: tuple[str, str, str]) -> tuple[Any, ...]:
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


def told_models(
    exact: ModelChanges | None, runs: ToldRuns, *, same_data: bool
) -> ModelChanges | None:
    """What differs between two models as both runs tell it."""
    if exact is None or not runs.width:
        return exact
    old, new = runs.old.told, runs.new.told
    known = replace(
        exact,
        common=runs.in_both(exact.common),
        scores_differ=runs.in_both(exact.scores_differ),
        answers_differ=runs.in_both(exact.answers_differ),
    )
    if old.model is None or new.model is None:
        return known
    tested = exact.common is not None
    alike = exact.predictions == "same" and (tested or same_data)
    pairs = exact.confusions_changed if tested else top_confused(old, new, runs.width)
    return replace(
        known,
        metrics=metric_changes(old.metric_rows, new.metric_rows, exact=alike),
        confusions=told_confusions(pairs.select("a", "b"), (old, new), changed=tested),
    )
