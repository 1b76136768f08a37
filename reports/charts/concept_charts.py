"""Vega-Lite specifications of the figures on concepts: accuracies in lines, and curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from reports.charts.palette import LIGHT
from reports.charts.parts import (
    TEXT,
    WIDTH,
    Rows,
    left_labels,
    lines,
    ranked,
    right_texts,
    specification,
    values,
)
from reports.words.words import shortened

STEP = 1.18
"""Distance between the zeros of two panels, whose axes have length 1."""
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
CURVES = (
    ("observed", "circle"),
    ("model", "diamond"),
    ("expected", "square"),
    ("pass", "triangle-up"),
    ("limit", "cross"),
    ("ink", "triangle-down"),
)
"""Colour role and mark of each curve, in order."""


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
        panels: Title of each panel.
        limit: The limit on accuracies, drawn in each panel; None without one.
        marks: What is drawn of each line, the last on top.
        left: Room for the labels.
        right: Room for the counts.
        title: Title of the axis.
        ticks: Ticks of each panel.
    """
    places = [mark.field for mark in marks]
    axis = _axis([tick + STEP * panel for panel in range(len(panels)) for tick in ticks], title)
    fields = ("low", "high", "chance", "zone_from", "zone_to", *places)
    drawn = [{**row, **{name: _on_panel(row, name) for name in fields}} for row in rows]
    scale = alt.Scale(domain=[0, 1 + STEP * (len(panels) - 1)])
    labels = {row["line"]: row["label"] for row in rows}
    base = alt.Chart(values([{"line": n, "label": labels[n]} for n in sorted(labels)]))
    layers: list[Any] = [
        _having(drawn, "zone_from")
        .mark_bar(color=LIGHT["pass-tint"], height=17)
        .encode(y=lines(), x=alt.X("zone_from:Q", scale=scale), x2="zone_to:Q"),
        *_rules([] if limit is None else [limit + STEP * n for n in range(len(panels))], scale),
        _having(drawn, "chance")
        .mark_tick(color=LIGHT["expected"], thickness=2.5, size=16, orient="vertical", opacity=1)
        .encode(y=lines(), x=alt.X("chance:Q", scale=scale)),
        _having(drawn, "low")
        .mark_rule(color=LIGHT[marks[-1].role], strokeWidth=2, opacity=0.55)
        .encode(y=lines(), x=alt.X("low:Q", scale=scale), x2="high:Q"),
        *(_points(drawn, mark, scale, axis) for mark in marks),
        left_labels(base.encode(y=lines(sorted(labels)))),
        right_texts(alt.Chart(values(drawn)).encode(y=lines()), "counts"),
        *_titles(panels, scale),
    ]
    specified = ranked(layers, len(labels), left=left, right=right)
    specified["padding"]["top"] = 26 if any(panels) else 6
    return specified


def _on_panel(row: Any, name: str) -> float | None:
    value = row.get(name)
    return None if value is None else value + STEP * row["panel"]


def _having(rows: Rows, field: str) -> alt.Chart:
    return alt.Chart(values([row for row in rows if row[field] is not None]))


def _rules(places: Sequence[float], scale: alt.Scale) -> list[Any]:
    rule = alt.Chart(values([{"at": place} for place in places]))
    return [
        rule.mark_rule(color=LIGHT["limit"], strokeWidth=1.2, strokeDash=[5, 3]).encode(
            x=alt.X("at:Q", scale=scale)
        )
    ]


def _axis(at: Sequence[float], title: str) -> alt.Axis:
    return alt.Axis(
        title=title, values=list(at), domain=False, ticks=False, labelFlush=False, grid=True,
        labelExpr=f"format(datum.value - {STEP} * floor(datum.value / {STEP} + 1e-6), '~g')",
    )  # fmt: skip


def _points(rows: Rows, mark: Mark, scale: alt.Scale, axis: alt.Axis) -> alt.Chart:
    having, colour = _having(rows, mark.field), LIGHT[mark.role]
    points = (
        having.mark_point(shape=mark.shape, color=colour, filled=True, size=70, opacity=1)
        if mark.own
        else having.mark_point(
            shape=mark.shape, color=colour, fill=LIGHT["gap"], strokeWidth=1.8, size=60, opacity=1
        )
    )
    drawn: alt.Chart = points.encode(y=lines(), x=alt.X(f"{mark.field}:Q", scale=scale, axis=axis))
    return drawn


def _titles(panels: Sequence[str], scale: alt.Scale) -> list[Any]:
    named = [{"at": STEP * place, "text": text} for place, text in enumerate(panels) if text]
    titles = alt.Chart(values(named)).mark_text(
        align="left", baseline="bottom", dy=-8, color=LIGHT["muted"], fontWeight="bold"
    )
    return [titles.encode(x=alt.X("at:Q", scale=scale), y=alt.value(0), text="text:N")]


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
        places: All places on the axis, in order.
        title: Title of the axis of places.
        limit: A limit, drawn across; None without one.
        level: The level of chance, drawn across; None without one.
    """
    left, right, height = 56, 200, 250
    width = WIDTH - left - right
    x = alt.X(
        "place:Q",
        scale=alt.Scale(domain=[-0.25, len(places) - 0.75]),
        axis=alt.Axis(title=title, labels=False, domain=False, ticks=False, grid=False, titleY=30),
    )
    ticks = alt.Axis(
        title="share",
        values=list(TICKS),
        labelExpr="format(datum.value, '~g')",
        domain=False,
        ticks=False,
        titleX=-40,
    )
    y = alt.Y("value:Q", scale=alt.Scale(domain=[0, 1]), axis=ticks)
    layers: list[Any] = [
        alt.Chart(values([{"value": at}]))
        .mark_rule(color=LIGHT[role], strokeWidth=1.2, strokeDash=[5, 3])
        .encode(y=y)
        for at, role in ((limit, "limit"), (level, "expected"))
        if at is not None
    ]
    for (_, rows), (role, shape) in zip(curves, CURVES, strict=False):
        base = alt.Chart(values([row for row in rows if row["value"] is not None]))
        bounded = alt.Chart(values([row for row in rows if row["low"] is not None]))
        layers += [
            bounded.mark_rule(color=LIGHT[role], strokeWidth=2, opacity=0.45).encode(
                x=x, y=alt.Y("low:Q", scale=alt.Scale(domain=[0, 1])), y2="high:Q"
            ),
            base.mark_line(color=LIGHT[role], strokeWidth=1.8).encode(x=x, y=y),
            base.mark_point(color=LIGHT[role], filled=True, shape=shape, size=52, opacity=1).encode(
                x=x, y=y
            ),
        ]
    layers += [*_ends(curves, width, height), _below(places, x, height)]
    padding = {"left": left, "right": right, "top": 8, "bottom": 44}
    return specification(layers, width, height, padding)


def _below(places: Sequence[str], x: alt.X, height: int) -> alt.Chart:
    """The names of places below the axis, cut to their room; drawn as text, as any name may be."""
    room = max(4, 76 // max(len(places), 1))
    named = [{"place": n, "text": shortened(name, room)} for n, name in enumerate(places)]
    text = alt.Chart(values(named)).mark_text(baseline="top", color=LIGHT["ink"])
    below: alt.Chart = text.encode(x=x, y=alt.value(height + 8), text="text:N")
    return below


def _ends(curves: Sequence[tuple[str, Rows]], width: int, height: int) -> list[alt.Chart]:
    """Mark and name of each curve, right of its last value, apart where they would overlap."""
    ends = sorted(
        ([-row["value"] for row in rows if row["value"] is not None][-1], place, name)
        for place, (name, rows) in enumerate(curves)
    )
    least = TEXT + 4.0
    lowest = [height - least * place for place in reversed(range(len(ends)))]
    drawn: list[alt.Chart] = []
    above = -least
    for (value, place, name), most in zip(ends, lowest, strict=True):
        above = min(max((1 + value) * height, above + least), most)
        end = alt.Chart(values([{"value": 1 - above / height, "text": shortened(name, 28)}]))
        role, shape = CURVES[place]
        y = alt.Y("value:Q", scale=alt.Scale(domain=[0, 1]))
        drawn += [
            end.mark_point(color=LIGHT[role], filled=True, shape=shape, size=52, opacity=1).encode(
                x=alt.value(width + 12), y=y
            ),
            end.mark_text(align="left", color=LIGHT["ink"]).encode(
                x=alt.value(width + 22), y=y, text="text:N"
            ),
        ]
    return drawn
