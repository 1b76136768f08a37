"""Vega-Lite specifications of lines: accuracies in panels, curves over places, scores and k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from audit._reports.charts.palette import LIGHT
from audit._reports.charts.parts import (
    TEXT,
    WIDTH,
    Json,
    Layer,
    axis,
    bare_axis,
    channel,
    having,
    left_labels,
    lines,
    ranked,
    right_texts,
    specification,
)
from audit._reports.words.shown_numbers import Rows
from audit._reports.words.words import shortened

STEP = 1.18
"""Distance between the zeros of two panels, whose axes have length 1."""
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Mark:
    """A number of each line: its field, colour role and shape; drawn empty if it is no ``own``."""

    field: str
    role: str
    shape: str = "circle"
    own: bool = True


DOT = Mark("value", "observed")


def accuracies_spec(
    rows: Rows,
    panels: Sequence[str],
    limit: float | None,
    marks: Sequence[Mark] = (DOT,),
    *,
    left: int = 200,
    right: int = 24,
    title: str = "accuracy",
    ticks: Sequence[float] = TICKS,
) -> dict[str, Any]:
    """Accuracies from 0 to 1 in lines, in one panel or in several beside each other.

    Args:
        rows: ``line`` (its number), ``label``, ``panel`` (its number), ``low, high, chance,
            zone_from, zone_to``, ``counts`` (text at the right), and the fields of the marks; each
            number may be None. The zone is where the line passes.
        marks: What is drawn of each line, the last on top.
    """
    places = [mark.field for mark in marks]
    axis = _accuracy_axis(
        [tick + STEP * panel for panel in range(len(panels)) for tick in ticks], title
    )
    fields = ("low", "high", "chance", "zone_from", "zone_to", *places)
    drawn = [{**row, **{name: _on_panel(row, name) for name in fields}} for row in rows]
    scale = {"domain": [0, 1 + STEP * (len(panels) - 1)]}
    labels = {row["line"]: row["label"] for row in rows}
    base = Layer([{"line": n, "label": labels[n]} for n in sorted(labels)])
    layers: list[Layer] = [
        having(drawn, "zone_from")
        .mark("bar", color=LIGHT["pass-tint"], height=17)
        .encode(y=lines(), x=channel("zone_from:Q", scale=scale), x2="zone_to:Q"),
        *_rules([] if limit is None else [limit + STEP * n for n in range(len(panels))], scale),
        having(drawn, "chance")
        .mark("tick", color=LIGHT["expected"], thickness=2.5, size=16, orient="vertical", opacity=1)
        .encode(y=lines(), x=channel("chance:Q", scale=scale)),
        having(drawn, "low")
        .mark("rule", color=LIGHT[marks[-1].role], strokeWidth=2, opacity=0.55)
        .encode(y=lines(), x=channel("low:Q", scale=scale), x2="high:Q"),
        *(_points(drawn, mark, scale, axis) for mark in marks),
        left_labels(base.encode(y=lines(sorted(labels)))),
        right_texts(Layer(drawn).encode(y=lines()), "counts"),
        *_titles(panels, scale),
    ]
    specified = ranked(layers, len(labels), left=left, right=right)
    specified["padding"]["top"] = 26 if any(panels) else 6
    return specified


def _on_panel(row: Any, name: str) -> float | None:
    value = row.get(name)
    return None if value is None else value + STEP * row["panel"]


def _rules(places: Sequence[float], scale: Json) -> list[Layer]:
    rule = Layer([{"at": place} for place in places])
    return [
        rule.mark("rule", color=LIGHT["limit"], strokeWidth=1.2, strokeDash=[5, 3]).encode(
            x=channel("at:Q", scale=scale)
        )
    ]


def _accuracy_axis(at: Sequence[float], title: str) -> Json:
    label = f"format(datum.value - {STEP} * floor(datum.value / {STEP} + 1e-6), '~g')"
    return bare_axis(title, values=list(at), labelFlush=False, grid=True, labelExpr=label)


def _points(rows: Rows, mark: Mark, scale: Json, axis: Json) -> Layer:
    found, colour = having(rows, mark.field), LIGHT[mark.role]
    empty: Json = {"fill": LIGHT["gap"], "strokeWidth": 1.8, "size": 60}
    look: Json = {"filled": True, "size": 70} if mark.own else empty
    points = found.mark("point", shape=mark.shape, color=colour, opacity=1, **look)
    return points.encode(y=lines(), x=channel(f"{mark.field}:Q", scale=scale, axis=axis))


def _titles(panels: Sequence[str], scale: Json) -> list[Layer]:
    named = [{"at": STEP * place, "text": text} for place, text in enumerate(panels) if text]
    titles = Layer(named).mark(
        "text", align="left", baseline="bottom", dy=-8, color=LIGHT["muted"], fontWeight="bold"
    )
    return [titles.encode(x=channel("at:Q", scale=scale), y={"value": 0}, text="text:N")]


CURVES = (
    ("observed", "circle"),
    ("model", "diamond"),
    ("expected", "square"),
    ("pass", "triangle-up"),
    ("limit", "cross"),
    ("ink", "triangle-down"),
)
"""Colour role and mark of each curve, in order."""
PEAKS = "peaks"
"""The place on the axis of curves behind every fixed k."""
SERIES = (
    ("observed", "circle", "dot"),
    ("model", "diamond", "diamond"),
    ("expected", "square", ""),
)
"""Colour role, mark and shape in the key of each curve of a figure, in order."""
SIDE = 280
"""Height in pixels of curves over scores; the width is one and a half of it."""
_UNIT = {"domain": [0, 1]}


def steps_spec(
    curves: Sequence[tuple[str, Rows]],
    places: Sequence[str],
    title: str,
    limit: float | None,
    *,
    level: float | None = None,
) -> dict[str, Any]:
    """Curves from 0 to 1 over places in order, each named at its right end.

    Args:
        curves: Name and rows ``place`` (its number), ``value, low, high``; at most as many as
            `CURVES`, each with at least one value.
    """
    left, right, height = 56, 200, 250
    width = WIDTH - left - right
    x = channel(
        "place:Q",
        scale={"domain": [-0.25, len(places) - 0.75]},
        axis=bare_axis(title, labels=False, grid=False, titleY=30),
    )
    y = channel("value:Q", scale=_UNIT, axis=_axis("share", titleX=-40))
    layers: list[Layer] = [
        Layer([{"value": at}])
        .mark("rule", color=LIGHT[role], strokeWidth=1.2, strokeDash=[5, 3])
        .encode(y=y)
        for at, role in ((limit, "limit"), (level, "expected"))
        if at is not None
    ]
    for place, (_, rows) in enumerate(curves):
        layers += _curve([row for row in rows if row["value"] is not None], place, x, y, 1.8)
    layers += [*_ends(curves, width, height), _below(places, x, height)]
    padding = {"left": left, "right": right, "top": 8, "bottom": 44}
    return specification(layers, width, height, padding)


def _below(places: Sequence[str], x: Json, height: int) -> Layer:
    """The names of places below the axis, cut to their room; drawn as text, as any name may be."""
    room = max(4, 76 // max(len(places), 1))
    named = [{"place": n, "text": shortened(name, room)} for n, name in enumerate(places)]
    text = Layer(named).mark("text", baseline="top", color=LIGHT["ink"])
    return text.encode(x=x, y={"value": height + 8}, text="text:N")


def _ends(curves: Sequence[tuple[str, Rows]], width: int, height: int) -> list[Layer]:
    """Mark and name of each curve, right of its last value, apart where they would overlap."""
    ends = sorted(
        ([-row["value"] for row in rows if row["value"] is not None][-1], place, name)
        for place, (name, rows) in enumerate(curves)
    )
    least = TEXT + 4.0
    lowest = [height - least * place for place in reversed(range(len(ends)))]
    drawn: list[Layer] = []
    above = -least
    for (value, place, name), most in zip(ends, lowest, strict=True):
        above = min(max((1 + value) * height, above + least), most)
        end = Layer([{"value": 1 - above / height, "text": shortened(name, 28)}])
        role, shape = CURVES[place]
        y = channel("value:Q", scale=_UNIT)
        drawn += [
            _marks(end, role, shape).encode(x={"value": width + 12}, y=y),
            end.mark("text", align="left", color=LIGHT["ink"]).encode(
                x={"value": width + 22}, y=y, text="text:N"
            ),
        ]
    return drawn


def reliability_spec(curves: Sequence[Rows]) -> dict[str, Any]:
    """Shares of valid tuples over mean scores, with the diagonal of a calibrated model.

    Args:
        curves: Per curve its rows ``mean_score, valid_share, low, high``, by score; at most as
            many as `CURVES`. Bounds may be None.
    """
    x = channel("mean_score:Q", scale=_UNIT, axis=_axis("mean score", titleY=30))
    y = channel("valid_share:Q", scale=_UNIT, axis=_axis("share of valid tuples", titleX=-40))
    ends = Layer([{"mean_score": at, "valid_share": at} for at in (0, 1)])
    layers: list[Layer] = [
        ends.mark("line", color=LIGHT["expected"], strokeWidth=1.2, strokeDash=[5, 3]).encode(
            x=x, y=y
        )
    ]
    for place, rows in enumerate(curves):
        layers += _curve(rows, place, x, y, 1.6)
    padding = {"left": 60, "right": WIDTH - 60 - 3 * SIDE // 2, "top": 10, "bottom": 44}
    return specification(layers, 3 * SIDE // 2, SIDE, padding)


def agreement_spec(curves: Sequence[Rows], places: Sequence[str]) -> dict[str, Any]:
    """Agreement over the number of tokens chosen, with its chance as a dashed line.

    Args:
        curves: Per curve its rows ``k, value, low, high, chance``; the row whose ``k`` is `PEAKS`
            stands apart, as a mark with an interval. At most as many curves as `SERIES`.
    """
    chosen = bare_axis("tokens that each method chooses", labelAngle=0, grid=False)
    x = channel("k:O", sort=None, scale={"domain": list(places)}, axis=chosen)
    ticks = {**axis("agreement", "~g"), "titleX": -44}
    y, beside = (channel(f"{name}:Q", scale=_UNIT, axis=ticks) for name in ("value", "chance"))
    ring: Json = {"fill": LIGHT["gap"], "size": 60, "strokeWidth": 1.6}
    layers = []
    for rows, (role, shape, _) in zip(curves, SERIES, strict=False):
        colour = LIGHT[role]
        fixed = Layer([row for row in rows if row["k"] != PEAKS]).encode(x=x)
        peaks = Layer([row for row in rows if row["k"] == PEAKS]).encode(x=x)
        ends = [row for row in rows if row["k"] == PEAKS and row["low"] is not None]
        layers += [
            fixed.mark("line", color=colour, strokeWidth=1.4, strokeDash=[4, 3]).encode(y=beside),
            fixed.mark("line", color=colour, strokeWidth=1.8).encode(y=y),
            _marks(fixed, role, shape, 34).encode(y=y),
            Layer(ends)
            .mark("rule", color=colour, strokeWidth=2, opacity=0.55)
            .encode(x=x, y=channel("low:Q", scale=_UNIT), y2="high:Q"),
            peaks.mark("point", color=colour, shape=shape, opacity=1, **ring).encode(y=beside),
            _marks(peaks, role, shape, 95).encode(y=y),
        ]
    padding = {"left": 64, "right": 20, "top": 8, "bottom": 44}
    return specification(layers, WIDTH - 84, 250, padding)


def _curve(rows: Rows, place: int, x: Json, y: Json, width: float) -> list[Layer]:
    """A line through points with their intervals, in the colour and with the mark of its place."""
    role, shape = CURVES[place]
    curve = Layer(rows).encode(x=x)
    return [
        having(rows, "low")
        .mark("rule", color=LIGHT[role], strokeWidth=2, opacity=0.45)
        .encode(x=x, y=channel("low:Q", scale=_UNIT), y2="high:Q"),
        curve.mark("line", color=LIGHT[role], strokeWidth=width).encode(y=y),
        _marks(curve, role, shape).encode(y=y),
    ]


def _marks(base: Layer, role: str, shape: str, size: int = 52) -> Layer:
    return base.mark("point", color=LIGHT[role], filled=True, shape=shape, size=size, opacity=1)


def _axis(title: str, **place: Any) -> Json:
    label = "format(datum.value, '~g')"
    return bare_axis(title, values=list(TICKS), labelExpr=label, **place)
