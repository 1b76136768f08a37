"""Vega-Lite specifications of the figures on entailment graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from reports.charts.concept_charts import CURVES, TICKS
from reports.charts.palette import LIGHT
from reports.charts.parts import WIDTH, Rows, specification, values

SIDE = 280
"""Height in pixels; the width is one and a half of it."""


def reliability_spec(curves: Sequence[Rows]) -> dict[str, Any]:
    """Shares of valid tuples over mean scores, with the diagonal of a calibrated model.

    Args:
        curves: Per curve its rows ``mean_score, valid_share, low, high``, by score; at most as
            many as `CURVES`. Bounds may be None.
    """
    unit = alt.Scale(domain=[0, 1])
    x = alt.X("mean_score:Q", scale=unit, axis=_axis("mean score", titleY=30))
    y = alt.Y("valid_share:Q", scale=unit, axis=_axis("share of valid tuples", titleX=-40))
    ends = alt.Chart(values([{"mean_score": at, "valid_share": at} for at in (0, 1)]))
    layers: list[Any] = [
        ends.mark_line(color=LIGHT["expected"], strokeWidth=1.2, strokeDash=[5, 3]).encode(x=x, y=y)
    ]
    for rows, (role, shape) in zip(curves, CURVES, strict=False):
        base = alt.Chart(values(rows)).encode(x=x)
        bounded = alt.Chart(values([row for row in rows if row["low"] is not None]))
        layers += [
            bounded.mark_rule(color=LIGHT[role], strokeWidth=2, opacity=0.45).encode(
                x=x, y=alt.Y("low:Q", scale=unit), y2="high:Q"
            ),
            base.mark_line(color=LIGHT[role], strokeWidth=1.6).encode(y=y),
            base.mark_point(color=LIGHT[role], filled=True, shape=shape, size=52, opacity=1).encode(
                y=y
            ),
        ]
    padding = {"left": 60, "right": WIDTH - 60 - 3 * SIDE // 2, "top": 10, "bottom": 44}
    return specification(layers, 3 * SIDE // 2, SIDE, padding)


def _axis(title: str, **place: Any) -> alt.Axis:
    return alt.Axis(
        title=title,
        values=list(TICKS),
        labelExpr="format(datum.value, '~g')",
        domain=False,
        ticks=False,
        **place,
    )
