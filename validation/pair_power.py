"""The chart of how often planted pairs are found: by ratio, expected joint count and share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import altair as alt

from reports.charts.palette import LIGHT
from reports.charts.parts import values
from reports.charts.svg import draw
from validation.pair_scores import Outcome
from validation.pair_truth import (
    BY_EXPECTED,
    BY_RATIO,
    BY_SHARE,
    class_of,
    expected_of,
    ratio_of,
    share_of,
)
from validation.pair_worlds import world
from validation.shares import Share

ENOUGH = 5
"""Planted pairs from which a point is drawn."""
SIDE, HEIGHT = 126, 190
_COLOURS = (LIGHT["scale-2"], LIGHT["limit"], LIGHT["scale-3"], LIGHT["scale-4"])
_SHAPES = ("circle", "diamond", "square", "triangle-up")


def power_chart(outcomes: Sequence[Outcome]) -> str:
    """An SVG with a panel for each share of the parent and a line for each ratio."""
    rows = points(outcomes)
    shares = [called for _, called in BY_SHARE]
    panels = [_panel([row for row in rows if row["share"] == name], name) for name in shares]
    chart = alt.hconcat(*panels, spacing=14).properties(
        background="transparent",
        padding=8,
        title=alt.Title(
            "Planted pairs that are found, by the part of its parent that the larger label is",
            anchor="start", fontSize=13, color=LIGHT["ink"], offset=12,
        ),
    )  # fmt: skip
    drawing = draw(chart.configure(**_CONFIG).to_dict(validate=False))
    size = f'width="{drawing.width}" height="{drawing.height}"'
    box = f'viewBox="0 0 {drawing.width} {drawing.height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} role="img">'
        "<title>Share of planted pairs found, by ratio, expected joint count and share</title>"
        f'<rect {size} fill="{LIGHT["paper"]}"/>{drawing.markup}</svg>\n'
    )


def points(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Recall of each class of planted pairs in scored worlds, with its interval."""
    asked: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    for one in outcomes:
        if world(one.world).scored:
            for k, planted in enumerate(one.planted):
                if planted.asked:
                    asked[_classes(one, k)].append(one.found[k])
    found = []
    for (ratio, expected, share), hits in asked.items():
        if len(hits) >= ENOUGH and ratio != BY_RATIO[0][1]:
            of = Share(sum(hits), len(hits))
            row = {"ratio": ratio, "expected": expected, "share": share}
            found.append(row | {"recall": of.value, "low": of.low, "high": of.high})
    return found


def _classes(one: Outcome, k: int) -> tuple[str, str, str]:
    return (
        class_of(ratio_of((one, k)), BY_RATIO),
        class_of(expected_of((one, k)), BY_EXPECTED),
        class_of(share_of((one, k)), BY_SHARE),
    )


def _panel(rows: Sequence[dict[str, Any]], share: str) -> alt.LayerChart | alt.FacetChart:
    first = share == BY_SHARE[0][1]
    order = [called for _, called in BY_EXPECTED]
    ratios = [called for _, called in BY_RATIO[1:]]
    legend = alt.Legend(title="true ratio", orient="right", symbolOpacity=1, symbolSize=70)
    x = alt.X(
        "expected:N",
        scale=alt.Scale(domain=order),
        sort=order,
        axis=alt.Axis(
            title="records expected" if share == BY_SHARE[2][1] else None,
            labelAngle=0,
            labelExpr="replace(datum.label, ' and more', '+')",
            ticks=False,
            grid=False,
            labelOverlap=False,
            labelPadding=6,
        ),
    )
    marks = alt.Axis(
        title="found" if first else None, labels=first, format=".0%", tickCount=5, ticks=False,
        domain=False,
    )  # fmt: skip
    y = alt.Y("recall:Q", scale=alt.Scale(domain=[0, 1]), axis=marks)
    colour = alt.Color(
        "ratio:N", scale=alt.Scale(domain=ratios, range=list(_COLOURS)), sort=ratios, legend=legend
    )
    shape = alt.Shape(
        "ratio:N", scale=alt.Scale(domain=ratios, range=list(_SHAPES)), sort=ratios, legend=legend
    )
    base = alt.Chart(values(rows), title=share).encode(x=x, color=colour)
    return alt.layer(
        base.mark_line(strokeWidth=2).encode(y=y, detail="ratio:N"),
        base.mark_rule(strokeWidth=1.2, opacity=0.45).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_point(filled=True, size=46, opacity=1).encode(y=y, shape=shape),
    ).properties(width=SIDE, height=HEIGHT)


_CONFIG: dict[str, Any] = {
    "aria": False,
    "font": "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "view": {"stroke": LIGHT["line"]},
    "title": {"fontSize": 12, "fontWeight": "normal", "color": LIGHT["ink"]},
    "axis": {
        "labelFontSize": 10,
        "labelColor": LIGHT["ink"],
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titleColor": LIGHT["muted"],
        "gridColor": LIGHT["grid"],
    },
    "legend": {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"},
}
