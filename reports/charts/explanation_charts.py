"""Vega-Lite specifications of the figures on explanations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from reports.charts.palette import LIGHT
from reports.charts.parts import (
    WIDTH,
    Rows,
    axis,
    interval,
    left_labels,
    lines,
    numbered,
    ranked,
    right_texts,
    specification,
    values,
)

PEAKS = "peaks"
"""The place on the axis of curves behind every fixed k."""
SERIES = (
    ("observed", "circle", "dot"),
    ("model", "diamond", "diamond"),
    ("expected", "square", ""),
)
"""Colour role, mark and shape in the key of each curve of a figure, in order."""


def means_spec(rows: Rows, title: str, *, left: int = 250) -> dict[str, Any]:
    """Lines with a dot, its interval, and a ring for what it is compared with; zero is marked.

    Args:
        rows: ``label, value, low, high, beside, counts``, in drawing order; bounds and ``beside``
            may be None.
        title: Title of the axis.
        left: Room for the labels.
    """
    drawn = numbered(rows)
    base = alt.Chart(values(drawn)).encode(y=lines())
    bounded = alt.Chart(values([row for row in drawn if row["low"] is not None]))
    compared = alt.Chart(values([row for row in drawn if row["beside"] is not None]))
    reach = [row[name] for row in rows for name in ("value", "low", "high", "beside")]
    known = [float(value) for value in reach if value is not None]
    ends = [min(0.0, *known), max(0.0, *known)]
    scale = alt.Scale(domain=ends if ends[0] < ends[1] else [0, 1], nice=True)
    zero = alt.Chart(values([{"zero": 0}])).mark_rule(color=LIGHT["ink"], strokeWidth=1)
    layers = [
        zero.encode(x=alt.X("zero:Q", scale=scale)),
        interval(bounded.encode(y=lines())),
        compared.mark_point(
            color=LIGHT["expected"], fill=LIGHT["gap"], strokeWidth=1.8, size=60, opacity=1
        ).encode(y=lines(), x="beside:Q"),
        base.mark_point(color=LIGHT["observed"], filled=True, size=75, opacity=1).encode(
            x=alt.X("value:Q", scale=scale, axis=axis(title, "~g"))
        ),
        left_labels(base),
        right_texts(base, "counts"),
    ]
    return ranked(layers, len(rows), left=left, right=150)


def curves_spec(curves: Sequence[Rows], places: Sequence[str]) -> dict[str, Any]:
    """Agreement over the number of tokens chosen, with its chance as a dashed line.

    Args:
        curves: Per curve its rows ``k, value, low, high, chance``; the row whose ``k`` is `PEAKS`
            stands apart, as a mark with an interval. At most as many curves as `SERIES`.
        places: All places on the axis, in order.
    """
    x = alt.X("k:O", sort=None, scale=alt.Scale(domain=list(places)), axis=_below())
    scale = alt.Scale(domain=[0, 1])
    ticks = axis("agreement", "~g")
    ticks.titleX = -44
    y, beside = (alt.Y(f"{name}:Q", scale=scale, axis=ticks) for name in ("value", "chance"))
    layers = []
    for rows, (role, shape, _) in zip(curves, SERIES, strict=False):
        colour = LIGHT[role]
        fixed = alt.Chart(values([row for row in rows if row["k"] != PEAKS])).encode(x=x)
        peaks = alt.Chart(values([row for row in rows if row["k"] == PEAKS])).encode(x=x)
        ends = [row for row in rows if row["k"] == PEAKS and row["low"] is not None]
        layers += [
            fixed.mark_line(color=colour, strokeWidth=1.4, strokeDash=[4, 3]).encode(y=beside),
            fixed.mark_line(color=colour, strokeWidth=1.8).encode(y=y),
            fixed.mark_point(color=colour, filled=True, shape=shape, size=34, opacity=1).encode(
                y=y
            ),
            alt.Chart(values(ends))
            .mark_rule(color=colour, strokeWidth=2, opacity=0.55)
            .encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q"),
            peaks.mark_point(
                color=colour, fill=LIGHT["gap"], shape=shape, size=60, strokeWidth=1.6, opacity=1
            ).encode(y=beside),
            peaks.mark_point(color=colour, filled=True, shape=shape, size=95, opacity=1).encode(
                y=y
            ),
        ]
    padding = {"left": 64, "right": 20, "top": 8, "bottom": 44}
    return specification(layers, WIDTH - 84, 250, padding)


def _below() -> alt.Axis:
    return alt.Axis(
        title="tokens that each method chooses", labelAngle=0, domain=False, ticks=False, grid=False
    )
