"""Tables of metrics over all instances: one of single numbers, and one per kind of cuts."""

from __future__ import annotations

from collections.abc import Sequence

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
from reports.words.parts import Named, Table, column
from reports.words.words import listed

ALL = "all"
"""The scope of a metric over all instances."""

ERRORS = ("accuracy_alignment", "recovered", "lost")
UNCERTAINTY = ("uncertainty_alignment", "abstraction_match")
"""Metrics between two cuts that share a table."""
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
    if not metrics:
        return None
    return Table(
        id="metric-absent",
        caption="Metrics that these predictions cannot give",
        columns=column("Metric", "Reason"),
        rows=tuple((_named(metric["name"]), metric["reason"]) for metric in metrics),
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
    if not metrics:
        return None
    order = {name: place for place, name in enumerate(MEANING)} | {"ties": 0.5}
    ranked = sorted(metrics, key=lambda metric: order.get(metric["name"], len(order)))
    return Table(
        id="metric-table",
        caption=captioned("Metrics over all instances", metrics),
        columns=column("Metric", "Parameters", "Value", "95% interval", "n", numeric="  nnn"),
        rows=tuple(
            (
                _named(metric["name"]),
                unlike(metric, metrics) or "–",
                value(metric),
                interval(metric),
                of(metric),
            )
            for metric in ranked
        ),
    )


def _between(
    found: Sequence[Metric], names: Sequence[str], id_: str, caption: str, unit: str
) -> Table | None:
    metrics = [metric for metric in found if metric["name"] in names]
    cuts: dict[str, dict[str, Metric]] = {}
    for metric in metrics:
        cuts.setdefault(unlike(metric, metrics), {})[metric["name"]] = metric
    if not cuts:
        return None
    return Table(
        id=f"metric-{id_}",
        caption=captioned(caption, metrics),
        columns=column("Cuts", *map(heading, names), unit, numeric=" " + "n" * (len(names) + 1)),
        rows=tuple(
            (
                words[:1].upper() + words[1:],
                *(with_interval(row.get(name)) for name in names),
                listed(list(dict.fromkeys(map(of, row.values())))),
            )
            for words, row in cuts.items()
        ),
    )


def _named(name: str) -> Named:
    return Named(title(name), name)
