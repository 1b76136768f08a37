"""Metrics of a model as they are told: shares of told counts, and means in steps."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from audit.results.metric_list import ALL, BESIDE, METRICS
from audit.sharing.told import Rounding, told_mean

Metric: TypeAlias = Mapping[str, Any]
_KINDS = {metric.name: metric.kind for metric in (*METRICS, *BESIDE)}
_NOTHING = {"value": None, "low": None, "high": None, "beyond": None}


def told_metrics(
    metrics: Sequence[Metric], classes: int, height: float, rounding: Rounding
) -> tuple[dict[str, Any], ...]:
    """Metrics as they are told; those of scopes of which nothing is told are left out.

    ``beyond`` is ``below`` or ``above`` where the value is on that side of the one that is told.

    Args:
        classes: Number of classes that predictions name, whose logarithm is the greatest entropy.
        height: Greatest height of a node.
    """
    bits = math.log2(max(classes, 2))
    ends = {"bits": (-bits, bits), "height": (0.0, float(max(height, 1)))}
    ends |= dict.fromkeys(("mean", "ratio"), (0.0, 1.0))
    told = [{**metric, **_NOTHING, **_told(metric, ends, rounding)} for metric in metrics]
    found = {_key(metric): metric for metric in told}
    for one in told:
        if _KINDS.get(one["name"]) == "net":
            one |= _net(*(found.get(_key(one, name)) for name in ("recovered", "lost")))
    return tuple(one for one in told if one["value"] is not None or one["scope"] == ALL)


def _told(
    metric: Metric, ends: Mapping[str, tuple[float, float]], rounding: Rounding
) -> dict[str, Any]:
    name, value, bins = metric["name"], metric["value"], rounding.bins("instances")
    n, kind = bins.told(int(metric["n"])), _KINDS.get(name, "")
    if n is None or value is None:
        return {"n": n}
    if kind == "count":
        return {"n": n, "value": bins.told(int(value))}
    own = _number(metric["low"]), _number(metric["high"])
    if kind == "share":
        k = bins.told(round(value * metric["n"]))
        if k is None or n < rounding.least or bins.few(k) or bins.all_but_few(k) or k >= n:
            return {"n": n}
        middle = told_mean(0.5, n, *own, 0.0, 1.0, rounding)
        half = math.nan if middle is None else (middle.high - middle.low) / 2
        low, high, beyond = max(k / n - half, 0.0), min(k / n + half, 1.0), ""
        value = k / n
    elif kind in ends:
        micro = kind == "ratio" or metric["parameters"].get("average") == "micro"
        mean = told_mean(value, n, *own, *ends[kind], rounding, times=2 if micro else 1)
        if mean is None:
            return {"n": n}
        value, low, high, beyond = mean.value, mean.low, mean.high, mean.beyond
    else:
        return {"n": n}
    told = {name: None if math.isnan(end) else end for name, end in (("low", low), ("high", high))}
    return {"n": n, "value": value, **told, "beyond": beyond or None}


def _number(end: float | None) -> float:
    return math.nan if end is None else float(end)


def _net(recovered: Metric | None, lost: Metric | None) -> dict[str, float]:
    """Equation 1 from what is told of both shares; the distances to their ends are added."""
    if recovered is None or lost is None or None in (recovered["value"], lost["value"]):
        return {}
    value = recovered["value"] - lost["value"]
    if None in (recovered["low"], lost["low"]):
        return {"value": value}
    down = math.hypot(recovered["value"] - recovered["low"], lost["high"] - lost["value"])
    up = math.hypot(recovered["high"] - recovered["value"], lost["value"] - lost["low"])
    return {"value": value, "low": value - down, "high": min(value + up, 1.0)}


def _key(metric: Metric, name: str = "") -> str:
    return json.dumps([name or metric["name"], metric["scope"], metric["parameters"]], default=str)
