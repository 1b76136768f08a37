"""Metrics as they may be shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit.results.disclosure import is_small, shown_count

SHARES = ("accuracy", "accuracy_alignment", "recovered", "lost")
"""Metrics that are a count divided by n, so that the value discloses a count."""


NET = ("accuracy_alignment", "recovered", "lost")
"""Metrics of which two disclose the third."""


def shared_metrics(metrics: Sequence[Mapping[str, Any]], min_cell: int) -> list[dict[str, Any]]:
    """Metrics as published: withheld if n, or a count that the value discloses, is small."""
    torn = {_of_one_move(metric) for metric in metrics if _gives_away(metric, min_cell)}
    close = _close_accuracies(metrics, min_cell)
    return [
        _withheld(metric, min_cell)
        if _gives_away(metric, min_cell)
        or place in close
        or (metric["name"] in NET and _of_one_move(metric) in torn)
        else dict(metric)
        for place, metric in enumerate(metrics)
    ]


def _close_accuracies(metrics: Sequence[Mapping[str, Any]], min_cell: int) -> set[int]:
    """Places of accuracies with few right answers less than the next shown one of their scope.

    What is right at one cut is right at every coarser one, so that a difference is a cell.
    """
    right = [
        (metric["scope"], metric["n"], -round(metric["value"] * metric["n"]), place)
        for place, metric in enumerate(metrics)
        if metric["name"] == "accuracy"
        and metric["value"] is not None
        and not _gives_away(metric, min_cell)
    ]
    close, shown = set[int](), dict[tuple[str, int], int]()
    for scope, n, less, place in sorted(right):
        before = shown.get((scope, n))
        if before is not None and is_small(before + less, min_cell):
            close.add(place)
        else:
            shown[scope, n] = -less
    return close


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
