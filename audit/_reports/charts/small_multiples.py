"""Small multiples: one little chart for each check or metric, all over the same runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from audit._reports.charts.palette import LIGHT
from audit._reports.charts.parts import WIDTH, Json, Layer, channel, specification
from audit._reports.words.words import shortened

COLUMNS = 3
_GAP, _TOP, _PLOT, _BOTTOM = 24, 22, 64, 30
_WIDE, _TALL = (WIDTH - (COLUMNS - 1) * _GAP) // COLUMNS, _TOP + _PLOT + _BOTTOM
_LEFT = 42
"""Room in a panel for the two numbers of its axis."""
_EVERY = 10
"""Greatest number of runs of which each has its number below."""

Bar = tuple[tuple[str, int], ...]
"""Counts of one run from the bottom up, each with its colour role."""


@dataclass(frozen=True, slots=True)
class Point:
    """A value of one run, with the ends of its interval; None without one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One little chart.

    Args:
        runs: What it shows of each run; None where there is nothing to show.
    """

    title: str
    runs: tuple[Bar | Point | None, ...]
    top: str
    bottom: str


_Row = dict[str, Any]


def bars_spec(panels: Sequence[Panel]) -> dict[str, Any]:
    """Stacked counts of each run; every panel reaches up to its own highest bar.

    A run with nothing to show has a short line on the axis, one without any count has nothing.
    """
    bars = [row for place, panel in enumerate(panels) for row in _bars(place, panel)]
    roles = list(dict.fromkeys(row["role"] for row in bars))
    layers = [
        Layer([row for row in bars if row["role"] == role])
        .mark("rect", color=LIGHT[role])
        .encode(**_spans())
        for role in roles
    ]
    return _specification(panels, layers)


def lines_spec(panels: Sequence[Panel], low: float, high: float) -> dict[str, Any]:
    """A value of each run with its interval; a line joins runs that follow each other."""
    if high <= low:
        low, high = low - 0.5, high + 0.5

    def y(place: int, value: float) -> float:
        return _origin(place)[1] + _TOP + _PLOT * (1 - (value - low) / (high - low))

    points = [row for place, panel in enumerate(panels) for row in _points(place, panel, y)]
    joined = [
        {"left": one["left"], "right": two["left"], "top": one["top"], "bottom": two["top"]}
        for one, two in pairwise(points)
        if one["panel"] == two["panel"] and one["run"] + 1 == two["run"]
    ]
    bounded = [
        {"left": row["left"], "right": row["left"], "top": row["high"], "bottom": row["low"]}
        for row in points
        if row["low"] is not None
    ]
    colour = LIGHT["observed"]
    marks = Layer(points).mark("circle", color=colour, size=34, opacity=1)
    layers = [
        Layer(bounded).mark("rule", color=colour, strokeWidth=2, opacity=0.55),
        Layer(joined).mark("rule", color=colour, strokeWidth=1),
    ]
    drawn = [layer.encode(**_spans()) for layer in layers]
    return _specification(panels, [*drawn, marks.encode(x=_pixel("left"), y=_pixel("top"))])


def _specification(panels: Sequence[Panel], layers: Sequence[Layer]) -> dict[str, Any]:
    texts = [row for place, panel in enumerate(panels) for row in _texts(place, panel)]
    axes = [row for place in range(len(panels)) for row in _axes(place)]
    rows = -(-len(panels) // COLUMNS)
    aligned: tuple[tuple[Literal["left", "right", "center"], str], ...] = (
        ("left", "ink"),
        ("right", "muted"),
        ("center", "muted"),
    )
    words = [
        Layer([row for row in texts if row["align"] == align and row["role"] == role])
        .mark("text", align=align, baseline="middle", color=LIGHT[role])
        .encode(x=_pixel("left"), y=_pixel("top"), text="text:N")
        for align, role in aligned
    ]
    grid = Layer(axes).mark("rule", color=LIGHT["line"], strokeWidth=1)
    height = max(rows, 1) * (_TALL + _GAP) - _GAP
    padding = {"left": 0, "right": 0, "top": 4, "bottom": 4}
    return specification([grid.encode(**_spans()), *layers, *words], WIDTH, height, padding)


def _pixel(field: str) -> Json:
    return channel(f"{field}:Q", axis=None, scale=None)


def _spans() -> dict[str, Any]:
    return {"x": _pixel("left"), "x2": "right:Q", "y": _pixel("top"), "y2": "bottom:Q"}


def _origin(place: int) -> tuple[int, int]:
    """The upper left corner of a panel."""
    return place % COLUMNS * (_WIDE + _GAP), place // COLUMNS * (_TALL + _GAP)


def _middle(place: int, run: int, runs: int) -> float:
    """Where a run, numbered from 0, stands in a panel."""
    return round(_origin(place)[0] + _LEFT + (_WIDE - _LEFT) * (run + 0.5) / runs, 2)


def _bars(place: int, panel: Panel) -> Iterator[_Row]:
    sums = [sum(n for _, n in bar) for bar in panel.runs if isinstance(bar, tuple)]
    highest, base = max([1, *sums]), _origin(place)[1] + _TOP + _PLOT
    half = min(14.0, 0.36 * (_WIDE - _LEFT) / len(panel.runs))
    for run, bar in enumerate(panel.runs):
        x, under = _middle(place, run, len(panel.runs)), 0
        sides = {"left": x - half, "right": x + half}
        if bar is None:
            yield {**sides, "top": base - 2, "bottom": base, "role": "grid"}
        for role, n in bar if isinstance(bar, tuple) else ():
            bottom, under = base - _PLOT * under / highest, under + n
            top = base - _PLOT * under / highest
            if n:
                yield {**sides, "top": round(top, 2), "bottom": round(bottom, 2), "role": role}


def _points(place: int, panel: Panel, y: Callable[[int, float], float]) -> Iterator[_Row]:
    for run, point in enumerate(panel.runs):
        if isinstance(point, Point):
            ends = {"low": point.low, "high": point.high}
            yield {
                "panel": place,
                "run": run,
                "left": _middle(place, run, len(panel.runs)),
                "top": round(y(place, point.value), 2),
                **{k: None if v is None else round(y(place, v), 2) for k, v in ends.items()},
            }


def _axes(place: int) -> Iterator[_Row]:
    left, top = _origin(place)
    for y in (top + _TOP, top + _TOP + _PLOT):
        yield {"left": left + _LEFT, "right": left + _WIDE, "top": y, "bottom": y}


def _texts(place: int, panel: Panel) -> Iterator[_Row]:
    left, top = _origin(place)
    title = shortened(panel.title, 36)
    yield {"left": left, "top": top + 8, "text": title, "align": "left", "role": "ink"}
    for text, y in ((panel.top, _TOP), (panel.bottom, _TOP + _PLOT)):
        muted = {"align": "right", "role": "muted"}
        yield {"left": left + _LEFT - 6, "top": top + y, "text": text, **muted}
    runs = len(panel.runs)
    for run in range(runs):
        if runs <= _EVERY or run in (0, runs - 1):
            muted = {"align": "center", "role": "muted"}
            at = {"left": _middle(place, run, runs), "top": top + _TOP + _PLOT + 14}
            yield {**at, "text": str(run + 1), **muted}
