"""The chart of how often planted pairs are found: by ratio, expected joint count and share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from audit._reports.charts.palette import LIGHT
from audit._reports.charts.parts import Json, Layer, bare_axis, channel
from audit._reports.charts.svg import draw
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
    title = {
        "text": "Planted pairs that are found, by the part of its parent that the larger label is",
        "anchor": "start",
        "fontSize": 13,
        "color": LIGHT["ink"],
        "offset": 12,
    }
    about = {"background": "transparent", "padding": 8, "title": title, "config": _CONFIG}
    drawing = draw({**about, "hconcat": panels, "spacing": 14})
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


def _panel(rows: Sequence[dict[str, Any]], share: str) -> Json:
    first = share == BY_SHARE[0][1]
    order = [called for _, called in BY_EXPECTED]
    ratios = [called for _, called in BY_RATIO[1:]]
    legend = {
        "title": "true ratio",
        "orient": "right",
        "symbolOpacity": 1,
        "symbolSize": 70,
    }
    across = {
        "title": "records expected" if share == BY_SHARE[2][1] else None,
        "labelExpr": "replace(datum.label, ' and more', '+')",
        "labelAngle": 0,
        "labelOverlap": False,
        "labelPadding": 6,
        "ticks": False,
        "grid": False,
    }
    marks = bare_axis("found" if first else None, labels=first, format=".0%", tickCount=5)
    x = channel("expected:N", scale={"domain": order}, sort=order, axis=across)
    y = channel("recall:Q", scale={"domain": [0, 1]}, axis=marks)
    colour, shape = (
        channel(
            "ratio:N", scale={"domain": ratios, "range": list(looks)}, sort=ratios, legend=legend
        )
        for looks in (_COLOURS, _SHAPES)
    )
    base = Layer(rows).encode(x=x, color=colour)
    layers = (
        base.mark("line", strokeWidth=2).encode(y=y, detail="ratio:N"),
        base.mark("rule", strokeWidth=1.2, opacity=0.45).encode(y="low:Q", y2="high:Q"),
        base.mark("point", filled=True, size=46, opacity=1).encode(y=y, shape=shape),
    )
    drawn = [layer.specification() for layer in layers]
    return {"layer": drawn, "title": share, "width": SIDE, "height": HEIGHT}


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
