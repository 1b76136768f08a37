"""Changes between the models of two runs: their predictions, metrics and confused pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from audit.alignment.metrics import METRICS
from audit.base.schemas import schema
from audit.engine.statistics.intervals import difference_interval
from audit.results.result import AuditResult
from audit.results.told_metrics import ALL
from audit.runs.compare.causes import same_data
from audit.runs.compare.confusion_changes import (
    KeptModel,
    confusion_changes,
    kept_model,
    top_confused,
    untested_confusions,
)
from audit.runs.compare.told_changes import ToldRuns

State: TypeAlias = Literal["same", "differ", "alike", "only_old", "only_new"]
"""Of the predictions: the same; different; not known to be the same, since files differ, although
every number counted of them is equal; or in one run only."""

_METRICS = schema(
    ("name scope parameters", pl.String),
    ("old new difference low high", pl.Float64),
    ("n_old n_new", pl.Int64),
)
BEYOND = schema(("beyond_old beyond_new", pl.String))
"""Which side of a told value a metric is on, where it is near the end of its range."""


@dataclass(frozen=True, eq=False)
class ModelChanges:
    """What differs between the models of two runs.

    Args:
        predictions: Whether the predictions are the same.
        common: Instances with predictions in both runs; None if they do not both keep some.
        scores_differ: Those of them with another score; None if that is unknown.
        answers_differ: Those of them with other predicted labels; None if that is unknown.
        metrics: ``name, scope, parameters`` (JSON), ``old, new, difference, low, high`` (null where
            undefined, or in one run only) and ``n_old, n_new``; a row per metric of either run.
        confusions: See `audit.runs.compare.confusion_changes.CONFUSIONS`.
        family: Number of confused pairs that were tested; None where it is not told.
    """

    predictions: State
    common: int | None
    scores_differ: int | None
    answers_differ: int | None
    metrics: pl.DataFrame
    confusions: pl.DataFrame
    family: int | None

    @property
    def metrics_in_all_changed(self) -> int:
        """Number of metrics over all instances whose interval of the difference does not hold 0."""
        beyond = (pl.col("low") > 0) | (pl.col("high") < 0)
        return len(self.metrics.filter(beyond & (pl.col("scope") == ALL)))

    @property
    def confusions_changed(self) -> pl.DataFrame:
        """Pairs that changed at the false-discovery rate."""
        return self.confusions.filter("changed")


def told_models(exact: ModelChanges | None, runs: ToldRuns) -> ModelChanges | None:
    """What differs between two models as both runs tell it."""
    if exact is None or not runs.width:
        return exact
    told = replace(
        exact,
        common=runs.in_both(exact.common),
        scores_differ=runs.in_both(exact.scores_differ),
        answers_differ=runs.in_both(exact.answers_differ),
        family=None,
    )
    old, new = runs.old.told, runs.new.told
    if old.model is None or new.model is None:
        return told
    tested = exact.common is not None
    alike = exact.predictions == "same" and (tested or same_data(old, new))
    pairs = top_confused(old, new, runs.width).with_columns(changed=pl.lit(False))
    return replace(
        told,
        metrics=_metric_changes(old, new, exact=alike),
        confusions=runs.confusions(exact.confusions_changed if tested else pairs),
    )


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
        empty = pl.DataFrame(schema=_METRICS | BEYOND)
        return ModelChanges(state, None, None, None, empty, *untested_confusions(None))
    kept = kept_model(old), kept_model(new)
    if kept[0] is not None and kept[1] is not None:
        common = _common(kept[0], kept[1])
        if len(common):
            return _by_instance(kept[0], kept[1], common)
    state = _by_what_was_counted(old, new)
    metrics = _metric_changes(old, new, exact=same_data and state == "same")
    return ModelChanges(state, None, None, None, metrics, *untested_confusions((old, new)))


def _by_instance(old: KeptModel, new: KeptModel, common: pl.Series) -> ModelChanges:
    scores, answers = (_differing(old, new, of, common) for of in ("scores", "decided"))
    whole = len(common) == len(old.ids) == len(new.ids) and old.predicted == new.predicted
    same = whole and not scores and not answers
    return ModelChanges(
        "same" if same else "differ",
        len(common),
        scores,
        answers,
        _metric_changes(old.run, new.run, exact=same),
        *confusion_changes(old, new),
    )


def _metric_changes(old: AuditResult, new: AuditResult, *, exact: bool) -> pl.DataFrame:
    rows = [
        {**key, **_sides(was, now), **_bounds(was, now, exact=exact)}
        for key, was, now in _matched(old.metric_rows, new.metric_rows)
    ]
    return pl.DataFrame(rows, schema=_METRICS | BEYOND)


def _common(old: KeptModel, new: KeptModel) -> pl.Series:
    return old.ids.filter(old.ids.is_in(new.ids.implode()))


def _differing(old: KeptModel, new: KeptModel, of: str, common: pl.Series) -> int:
    """Number of common instances whose scores, or predicted labels, are not the same."""
    tables = [_stored(model, getattr(model, of), common) for model in (old, new)]
    joined = tables[0].join(tables[1], on=["instance", "node"], how="full", coalesce=True)
    other = joined.filter(pl.col("value").ne_missing(pl.col("value_right")))
    return other["instance"].n_unique()


def _stored(model: KeptModel, values: Any, common: pl.Series) -> pl.DataFrame:
    coo = values.tocoo()
    table = pl.DataFrame(
        {
            "instance": model.ids.gather(coo.row),
            "node": pl.Series(model.hierarchy.nodes, dtype=pl.String).gather(coo.col),
            "value": coo.data.astype(np.float64),
        }
    )
    return table.filter(pl.col("instance").is_in(common.implode()))


_ORDER = {metric.name: place for place, metric in enumerate(METRICS)}
_Metric: TypeAlias = Mapping[str, Any]


def measure_changes(runs: ToldRuns) -> list[dict[str, Any]]:
    """What analyses measured over all instances of either run, in the columns of metrics.

    Values and intervals are those that either run tells. Intervals of differences take the runs as
    independent.
    """
    before, after = (
        [
            metric
            for part in run.analyses
            for metric in part.metrics(part.shared(run.rounding))
            if metric["scope"] == ALL
        ]
        for run in (runs.old, runs.new)
    )
    return [
        {
            "name": key["name"],
            "parameters": json.loads(key["parameters"]),
            **_sides(was, now),
            **_bounds(was, now, exact=False),
        }
        for key, was, now in _matched(before, after)
    ]


def _matched(old: Any, new: Any) -> list[tuple[dict[str, str], _Metric | None, _Metric | None]]:
    """The metrics of either run by name, scope and parameters, in report order."""
    sides = [{_key(metric): metric for metric in run} for run in (old, new)]
    keys = sorted(
        {**sides[0], **sides[1]},
        key=lambda key: (key[0] != ALL, key[0], _ORDER.get(key[1], len(_ORDER)), key[1], key[2]),
    )
    return [
        (
            {"scope": scope, "name": name, "parameters": parameters},
            *(side.get((scope, name, parameters)) for side in sides),
        )  # type: ignore[misc]
        for scope, name, parameters in keys
    ]


def _key(metric: _Metric) -> tuple[str, str, str]:
    return metric["scope"], metric["name"], json.dumps(dict(metric["parameters"]), sort_keys=True)


def _sides(was: _Metric | None, now: _Metric | None) -> dict[str, Any]:
    """Both values; no difference where one is only told to be beyond."""
    before, after = was or {}, now or {}
    old, new = before.get("value"), after.get("value")
    beyond = before.get("beyond"), after.get("beyond")
    return {
        "old": old,
        "new": new,
        "difference": None if old is None or new is None or any(beyond) else new - old,
        "n_old": before.get("n"),
        "n_new": after.get("n"),
        "beyond_old": beyond[0],
        "beyond_new": beyond[1],
    }


def _bounds(was: _Metric | None, now: _Metric | None, *, exact: bool) -> dict[str, float | None]:
    """The interval of a difference from the intervals of both; the difference itself if exact."""
    sides = [side for side in (was, now) if side is not None]
    if len(sides) < 2 or any(side[of] is None for side in sides for of in ("value", "low", "high")):
        return {"low": None, "high": None}
    old, new = ((side["value"], side["low"], side["high"]) for side in sides)
    if exact:
        return dict.fromkeys(("low", "high"), new[0] - old[0])
    low, high = difference_interval(new, old)
    return {"low": float(low), "high": float(high)}


def _by_what_was_counted(old: AuditResult, new: AuditResult) -> State:
    """Whether predictions differ, of runs that do not both keep their instances."""
    if _counted(old) != _counted(new):
        return "differ"
    return "same" if _digests(old) == _digests(new) else "alike"


def _counted(run: AuditResult) -> list[Any]:
    """Everything that was counted of the predictions, in a fixed order."""
    assert run.model is not None
    columns = ["a", "b", "joint", "co_predicted", "confusion"]
    pairs = run.model.pairs.select(columns).sort("a", "b").collect()
    metrics = sorted((*_key(metric), metric["value"], metric["n"]) for metric in run.metric_rows)
    behaviours = [(one["name"], one["instances"]) for one in run.model.behaviours]
    return [run.ledger["predictions"], pairs.rows(), metrics, behaviours]


def _digests(run: AuditResult) -> set[str]:
    return {source["sha256"] for source in run.inputs if source["role"] == "predictions"}
