"""Metrics of a model as they are told: shares of told counts, and means in steps."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from audit.results.metric_list import BESIDE, METRICS
from audit.sharing.told import Rounding, ToldMean, told_mean

Metric: TypeAlias = Mapping[str, Any]
ALL = "all"
"""The scope of all instances."""
_KINDS = {metric.name: metric.kind for metric in (*METRICS, *BESIDE)}
_NOTHING = {"value": None, "low": None, "high": None, "beyond": None}


@dataclass(frozen=True)
class Bounds:
    """Least and greatest values of what metrics are means of.

    Args:
        bits: Greatest entropy: that of as many classes as predictions name.
        height: Greatest height of a node.
    """

    bits: float
    height: float

    def of(self, name: str) -> tuple[float, float] | None:
        """The ends of the values of a metric; None of one that is no mean."""
        kind = _KINDS.get(name, "")
        ends = {"bits": (-self.bits, self.bits), "height": (0.0, self.height)}
        return (0.0, 1.0) if kind in ("mean", "ratio") else ends.get(kind)


def told_metrics(
    metrics: Sequence[Metric], bounds: Bounds, rounding: Rounding
) -> tuple[dict[str, Any], ...]:
    """Metrics as they are told; those of scopes of which nothing is told are left out.

    ``beyond`` is ``below`` or ``above`` where the value is on that side of the one that is told.
    """
    told = [_told(metric, bounds, rounding) for metric in metrics]
    found = {_key(metric): metric for metric in told}
    told = [_net(one, found) if _KINDS.get(one["name"]) == "net" else one for one in told]
    return tuple(one for one in told if one["value"] is not None or one["scope"] == ALL)


def _told(metric: Metric, bounds: Bounds, rounding: Rounding) -> dict[str, Any]:
    name, n = metric["name"], rounding.count(int(metric["n"]))
    made = {**metric, **_NOTHING, "n": n}
    if n is None or metric["value"] is None:
        return made
    kind = _KINDS.get(name)
    if kind == "count":
        return {**made, "value": rounding.count(int(metric["value"]))}
    ends = metric["low"], metric["high"]
    low_end, high_end = (math.nan if end is None else float(end) for end in ends)
    if kind == "share":
        return made | _share(metric, n, (low_end, high_end), rounding)
    between = bounds.of(name)
    if between is None:
        return made
    micro = kind == "ratio" or metric["parameters"].get("average") == "micro"
    times = 2 if micro else 1
    mean = told_mean(metric["value"], n, low_end, high_end, *between, rounding, times=times)
    return made | _numbers(mean)


def _numbers(mean: ToldMean | None) -> dict[str, Any]:
    if mean is None:
        return {}
    ends = (None if math.isnan(end) else end for end in (mean.low, mean.high))
    told = dict(zip(("low", "high"), ends, strict=True))
    return {"value": mean.value, **told, "beyond": mean.beyond or None}


def _share(
    metric: Metric, n: int, ends: tuple[float, float], rounding: Rounding
) -> dict[str, float | None]:
    """A share of told counts, with half widths in the steps of a mean."""
    bins = rounding.bins("instances")
    k = bins.told(round(metric["value"] * metric["n"]))
    if k is None or n < rounding.least or bins.few(k) or bins.all_but_few(k) or k >= n:
        return {}
    middle = told_mean(0.5, n, *ends, 0.0, 1.0, rounding)
    half = math.nan if middle is None else (middle.high - middle.low) / 2
    told = {"low": max(k / n - half, 0.0), "high": min(k / n + half, 1.0)}
    return {"value": k / n, **(dict.fromkeys(told) if math.isnan(half) else told)}


def _net(metric: dict[str, Any], found: Mapping[str, Metric]) -> dict[str, Any]:
    """Equation 1 from what is told of both shares; the distances to their ends are added."""
    both = [found.get(_key({**metric, "name": name})) for name in ("recovered", "lost")]
    if any(one is None or one["value"] is None for one in both):
        return metric
    recovered, lost = (one for one in both if one is not None)
    value = recovered["value"] - lost["value"]
    if recovered["low"] is None or lost["low"] is None:
        return {**metric, "value": value}
    down = math.hypot(recovered["value"] - recovered["low"], lost["high"] - lost["value"])
    up = math.hypot(recovered["high"] - recovered["value"], lost["value"] - lost["low"])
    return {**metric, "value": value, "low": value - down, "high": min(value + up, 1.0)}


def _key(metric: Metric) -> str:
    return json.dumps([metric["name"], metric["scope"], metric["parameters"]], default=str)
