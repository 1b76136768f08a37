"""Tables of metrics over all instances: one of single numbers, and one per kind of cuts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reports.words.metric_words import (
    MEANING,
    Metric,
    cut,
    heading,
    in_common,
    interval,
    of,
    others,
    title,
    value,
    with_interval,
)
from reports.words.parts import Named, Table
from reports.words.shown_numbers import UNDEFINED
from reports.words.table_specs import Spec, optional_table, texts, written
from reports.words.words import capitalised, listed

ALL = "all"
"""The scope of a metric over all instances."""

ERRORS = ("accuracy_alignment", "recovered", "lost")
UNCERTAINTY = ("uncertainty_alignment", "abstraction_match")
"""Metrics between two cuts that share a table."""
_METRIC = texts("Metric", lambda metric: Named(title(metric["name"]), metric["name"]))
_MASS = ("residual_from", "residual_to")


def terms(metrics: Sequence[Metric]) -> tuple[tuple[str, str], ...]:
    """Explanations of the metrics that were measured."""
    present = {metric["name"] for metric in metrics}
    return tuple(meaning for name, meaning in MEANING.items() if name in present)


def whole(metrics: Sequence[Metric], beside: Sequence[Metric]) -> tuple[Table, ...]:
    """Tables of the metrics over all instances; tables without rows are left out.

    Args:
        metrics: The shared view's metrics.
        beside: Numbers needed to interpret them: tied answers, and mass above a cut.
    """
    found = [metric for metric in (*metrics, *beside) if metric["scope"] == ALL]
    between = (*ERRORS, *UNCERTAINTY, *_MASS)
    tables = (
        _single([metric for metric in found if metric["name"] not in between]),
        _between(found, ERRORS, "errors", "Errors mended on the way up", "Errors"),
        _between(
            found,
            (*UNCERTAINTY, *_MASS),
            "uncertainty",
            "Uncertainty resolved on the way up",
            "Instances",
        ),
    )
    return tuple(table for table in tables if table is not None)


def absent(metrics: Sequence[Metric]) -> Table | None:
    """Table of metrics that cannot be computed, with reasons; None if there are none."""
    return optional_table(
        "metric-absent",
        "Metrics that these predictions cannot give",
        metrics,
        _METRIC,
        texts("Reason", "reason"),
    )


def captioned(caption: str, metrics: Sequence[Metric]) -> str:
    """A caption with the parameters that all of its metrics share."""
    alike = in_common(metrics)
    return f"{caption} ({'; '.join(alike)})" if alike else caption


def unlike(metric: Metric, metrics: Sequence[Metric]) -> str:
    """A metric's cut, and those of its parameters that differ between the given metrics."""
    alike = in_common(metrics)
    return "; ".join(filter(None, [cut(metric), *(x for x in others(metric) if x not in alike)]))


def _single(metrics: Sequence[Metric]) -> Table | None:
    order = {name: place for place, name in enumerate(MEANING)} | {"ties": 0.5}
    return optional_table(
        "metric-table",
        captioned("Metrics over all instances", metrics),
        sorted(metrics, key=lambda metric: order.get(metric["name"], len(order))),
        _METRIC,
        texts("Parameters", lambda metric: unlike(metric, metrics) or UNDEFINED),
        written("Value", value),
        written("95% interval", interval),
        written("n", of),
    )


def _between(
    found: Sequence[Metric], names: Sequence[str], id_: str, caption: str, unit: str
) -> Table | None:
    metrics = [metric for metric in found if metric["name"] in names]
    cuts: dict[str, dict[str, Metric]] = {}
    for metric in metrics:
        cuts.setdefault(unlike(metric, metrics), {})[metric["name"]] = metric
    return optional_table(
        f"metric-{id_}",
        captioned(caption, metrics),
        list(cuts.items()),
        texts("Cuts", lambda line: capitalised(line[0])),
        *(metric_column(name, lambda line: line[1]) for name in names),
        written(unit, lambda line: listed(list(dict.fromkeys(map(of, line[1].values()))))),
    )


def metric_column(name: str, measured: Callable[[Any], Mapping[str, Metric]]) -> Spec:
    """The column of a metric with its intervals.

    Args:
        name: Name of the metric.
        measured: What a line has measured, by the names of metrics.
    """
    return written(heading(name), lambda line: with_interval(measured(line).get(name)))
