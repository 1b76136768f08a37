"""Wording of metrics: titles, meanings, cuts and formatted values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from audit._reports.words.words import (
    UNDEFINED,
    Value,
    decimal,
    number,
    percent,
    points,
    span,
    stated_tables,
)
from audit.results.printed import Share

_STATED = stated_tables("metric_words")

Metric: TypeAlias = Mapping[str, Any]
"""One metric of the shared view."""

TITLES: dict[str, str] = _STATED["titles"]
"""Title of each metric, in report order."""

BESIDE: dict[str, str] = _STATED["beside"]
"""Titles of the numbers needed to interpret the metrics."""

_PLAIN = {"uncertainty_alignment": 3, "mistake_severity": 2, "ties": 0}
"""Number of decimals of the metrics that are not shares."""
_CUTS = (("depth", "depth_from", "depth_to"), ("level", "level_from", "level_to"))
_BETWEEN = "from\N{NO-BREAK SPACE}{} to\N{NO-BREAK SPACE}{}"
_OTHERS = {
    "aggregation": "aggregation: {}",
    "threshold": "threshold {}",
    "up": "levels up: {}",
    "average": "{} average",
    "subgraphs": "{}",
}


def title(name: str) -> str:
    """A metric's title; for an unknown metric, its name."""
    return (TITLES | BESIDE).get(name, name.replace("_", " ").capitalize())


def heading(name: str) -> str:
    """A metric's title as a column heading, with its unit if it has one."""
    return f"{title(name)} (bits)" if name == "uncertainty_alignment" else title(name)


def value(metric: Metric, field: str = "value") -> str:
    """A metric's value, or an end of its interval, as a reader would write it."""
    found = metric[field]
    if found is None:
        return "not defined" if metric["n"] == 0 else UNDEFINED
    places = _PLAIN.get(metric["name"])
    text = percent(found) if places is None and found >= 0 else _signed(found, places)
    beyond = metric.get("beyond") if field == "value" else None
    return f"{beyond} {text}" if beyond else text


def change(name: str, difference: float | None) -> str:
    """A difference of two values of a metric, signed: percentage points if the metric is a share.

    >>> change("accuracy", 0.1032), change("mistake_severity", -0.5), change("accuracy", None)
    ('+10.3', '−0.50', '–')
    """
    places = _PLAIN.get(name)
    if difference is None or places is None:
        return points(difference)
    return f"{'+' if difference > 0 else ''}{_signed(difference, places)}"


def change_unit(name: str) -> str:
    """The unit of `change`, after a space; empty if the metric is no share."""
    return "" if name in _PLAIN else " points"


def interval(metric: Metric) -> str:
    """A metric's interval in words; a dash if it has none."""
    if metric["low"] is None or metric["high"] is None:
        return UNDEFINED
    return span(value(metric, "low"), value(metric, "high"))


def with_interval(metric: Metric | None) -> str:
    """A metric's value, and its interval in brackets; only the value of what stands beside."""
    if metric is None:
        return UNDEFINED
    if metric["name"] in BESIDE:
        return value(metric)
    between = interval(metric).replace(" ", "\N{NO-BREAK SPACE}")
    return value(metric) if between == UNDEFINED else f"{value(metric)} ({between})"


def of(metric: Metric) -> str:
    """A metric's denominator, with its unit."""
    n: Value = metric["n"]
    return number(n)


def cut(metric: Metric) -> str:
    """The depths or levels that a metric is between; empty if there are none."""
    parameters = metric["parameters"]
    for word, start, end in _CUTS:
        named = [
            f"{word}\N{NO-BREAK SPACE}{parameters[name]}"
            for name in (start, end)
            if _has(parameters, name)
        ]
        if named:
            return _BETWEEN.format(*named) if len(named) == 2 else f"at {named[0]}"
    return ""


def others(metric: Metric) -> tuple[str, ...]:
    """A metric's parameters other than its cut, in words; those of analyses by their names."""
    known = {*_OTHERS, *(name for _, *ends in _CUTS for name in ends)}
    further = {name: f"{name.replace('_', ' ')} {{}}" for name in metric["parameters"]}
    forms = _OTHERS | {name: form for name, form in further.items() if name not in known}
    return tuple(
        form.format(_plain(metric["parameters"][name]))
        for name, form in forms.items()
        if _has(metric["parameters"], name)
    )


def by(metric: Metric) -> str:
    """What distinguishes a metric from others of its name: its cut and its other parameters."""
    return "; ".join(filter(None, [cut(metric), *others(metric)]))


def in_common(metrics: Sequence[Metric]) -> tuple[str, ...]:
    """Parameters other than the cut that all metrics share, in words."""
    alike = [set(others(metric)) for metric in metrics]
    return tuple(
        one for one in (others(metrics[0]) if metrics else ()) if all(one in x for x in alike)
    )


def threshold(found: float) -> str:
    """A threshold without an exponent.

    >>> threshold(1e-05), threshold(0.5)
    ('0.00001', '0.5')
    """
    return f"{Decimal(str(found)):f}"


def _signed(found: float, places: int | None) -> str:
    if places is not None:
        text = decimal(abs(found), places)
    elif isinstance(found, Share):
        text = percent(Share(abs(found), found.n))
    else:
        text = f"{abs(found):.1%}"
    return f"−{text}" if found < 0 and text.strip("0.%") else text


def _has(parameters: Mapping[str, Any], name: str) -> bool:
    return parameters.get(name) is not None


def _plain(found: Any) -> str:
    if isinstance(found, list | tuple):
        within = " over " if all(isinstance(part, list | tuple) for part in found) else ", "
        return within.join(_plain(part) for part in found)
    return found if isinstance(found, str) else threshold(found)
