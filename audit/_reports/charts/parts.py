"""Building blocks of figures: layers, ranked lines, axes, labels, and drawn shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Literal

from audit._reports.charts.palette import LIGHT
from audit._reports.words.shown_numbers import Rows

Json = dict[str, Any]
_TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}


def channel(stated: str, **how: Any) -> Json:
    """A field as a channel of an encoding, with its type: ``count:Q``, or without: ``count``.

    >>> channel("count:Q", sort=None)
    {'field': 'count', 'type': 'quantitative', 'sort': None}
    """
    name, _, letter = stated.partition(":")
    return {"field": name, **({"type": _TYPES[letter]} if letter else {}), **how}


def bare_axis(title: str | None, **how: Any) -> Json:
    """An axis without its line and without ticks."""
    return {"title": title, "domain": False, "ticks": False, **how}


@dataclass(frozen=True, slots=True)
class Layer:
    """A mark for each of some rows; each method returns another layer that has more.

    Args:
        channels: What is encoded, by channel: a dictionary, or a field with its type.
        only: Condition on rows that are drawn; empty for all.
    """

    rows: Rows
    style: Mapping[str, Any] = field(default_factory=dict)
    channels: Mapping[str, str | Json] = field(default_factory=dict)
    only: str = ""

    def mark(self, kind: str, **style: Any) -> Layer:
        """The same rows with a mark of a kind."""
        return replace(self, style={"type": kind, **style})

    def encode(self, **channels: str | Json) -> Layer:
        """The same with further channels."""
        return replace(self, channels={**self.channels, **channels})

    def where(self, only: str) -> Layer:
        """The same, of rows that meet a condition."""
        return replace(self, only=only)

    def specification(self) -> Json:
        """The layer in Vega-Lite, where the far end of a span has the type of its near one."""
        encoding = {
            name: channel(stated) if isinstance(stated, str) else stated
            for name, stated in self.channels.items()
        }
        for end in {"x2", "y2"} & encoding.keys():
            encoding[end] = {k: v for k, v in encoding[end].items() if k != "type"}
        filtered = {"transform": [{"filter": self.only}]} if self.only else {}
        data = {"values": [dict(row) for row in self.rows]}
        return {"data": data, "mark": dict(self.style), "encoding": encoding, **filtered}


WIDTH = 720
"""Width of every figure in pixels: fits a page of the PDF, and the text column on a laptop."""


FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"
TEXT = 11
"""Font size in pixels."""
ADVANCE = 6.8
"""Pixels of a character at that size on average, at most: those of DejaVu Sans, a wide font."""
_LINE = 24
"""Height of one line of a ranked figure in pixels."""


def lines(order: Sequence[int] | None = None) -> Json:
    """Axis of the numbered lines of a ranked figure, with a rule for each."""
    scale = {} if order is None else {"scale": {"domain": list(order)}}
    return channel("line:O", sort=None, axis=bare_axis(None, labels=False, grid=True), **scale)


def left_labels(base: Layer) -> Layer:
    """The label of each line, drawn as text, since two lines may have the same label."""
    labels = base.mark("text", align="right", dx=-12, color=LIGHT["ink"])
    return labels.encode(x={"value": 0}, text="label:N")


def right_texts(base: Layer, field: str) -> Layer:
    """Text of a field at the right end of each line."""
    figures = base.mark("text", align="left", dx=12, color=LIGHT["muted"])
    return figures.encode(x={"value": "width"}, text=f"{field}:N")


def axis(title: str, form: str) -> Json:
    """A numeric axis below the figure, in a d3 format."""
    return bare_axis(title, format=form, tickCount=5, labelFlush=False)


def ranked(layers: Sequence[Layer], lines: int, *, left: int, right: int) -> dict[str, Any]:
    """Layers over numbered lines, with room for labels at the left and texts at the right."""
    padding = {"left": left, "right": right, "top": 6, "bottom": 40}
    specified = specification(layers, WIDTH - left - right, _LINE * lines, padding)
    return {**specified, "usermeta": {"line": _LINE}}


def dots_spec(
    rows: Rows, title: str, *, limit: float | None = None, left: int = 250, right: int = 110
) -> dict[str, Any]:
    """Ranked shares from 0 to 1: dots with intervals, and a limit as a line.

    Args:
        rows: ``label, share, low, high, counts``, in the order to be drawn.
    """
    base = Layer(numbered(rows)).encode(y=lines())
    share = channel("share:Q", scale={"domain": [0, 1]}, axis=axis(title, ".0%"))
    layers = [
        interval(base),
        dot(base, share, 70),
        left_labels(base),
        right_texts(base, "counts"),
    ]
    if limit is not None:
        line = Layer([{"limit": limit}]).mark(
            "rule", color=LIGHT["limit"], strokeWidth=1.5, strokeDash=[5, 3]
        )
        layers.insert(0, line.encode(x="limit:Q"))
    return ranked(layers, len(rows), left=left, right=right)


def dot(base: Layer, x: Json, size: int = 75) -> Layer:
    """The number observed in each line, as a filled dot."""
    mark = base.mark("point", color=LIGHT["observed"], filled=True, size=size, opacity=1)
    return mark.encode(x=x)


def ring(base: Layer, x: str) -> Layer:
    """What the number of each line is compared with, as a ring."""
    mark = base.mark(
        "point", color=LIGHT["expected"], fill=LIGHT["gap"], strokeWidth=1.8, size=60, opacity=1
    )
    return mark.encode(x=x)


def at_zero(role: str = "ink", width: float = 1, scale: Json | None = None) -> Layer:
    """A rule across all lines at zero."""
    rule = Layer([{"zero": 0}]).mark("rule", color=LIGHT[role], strokeWidth=width)
    return rule.encode(x=channel("zero:Q", **({} if scale is None else {"scale": scale})))


def ends(row: Mapping[str, Any], value: str) -> dict[str, float]:
    """The interval of a number to be drawn: from the number to itself where there is none."""
    known = row["low"] is not None and row["high"] is not None
    return {end: row[end] if known else row[value] for end in ("low", "high")}


def interval(base: Layer, color: str = LIGHT["observed"]) -> Layer:
    """An interval from ``low`` to ``high``, drawn behind its mark."""
    rule = base.mark("rule", color=color, strokeWidth=2, opacity=0.55)
    return rule.encode(x=channel("low:Q"), x2="high:Q")


def specification(
    layers: Sequence[Layer], width: int, height: int, padding: Mapping[str, int]
) -> dict[str, Any]:
    """Combine layers to a full specification, in the report's font and without background.

    It is not validated by Vega-Lite's schema, since that takes longer than drawing.
    """
    return {
        "width": width,
        "height": height,
        "padding": dict(padding),
        "autosize": "none",
        "background": "transparent",
        "config": _CONFIG,
        "layer": [layer.specification() for layer in layers],
    }


def numbered(rows: Rows) -> Rows:
    """Rows with their line number."""
    return [{"line": place, **row} for place, row in enumerate(rows)]


def having(rows: Rows, field: str) -> Layer:
    """A chart of the rows that have a number in a field."""
    return Layer([row for row in rows if row[field] is not None])


def rect(x: float, y: float, width: float, height: float, role: str) -> str:
    """A filled rectangle."""
    return (
        f'<rect x="{_short(x)}" y="{_short(y)}" width="{_short(width)}" '
        f'height="{_short(height)}" fill="{LIGHT[role]}"/>'
    )


def text(
    x: float,
    y: float,
    words: str,
    *,
    role: str = "ink",
    anchor: Literal["start", "end"] = "start",
    bold: bool = False,
) -> str:
    """A line of text."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{_short(x)}" y="{_short(y)}" text-anchor="{anchor}" fill="{LIGHT[role]}" '
        f'font-family="{escape(FONT)}" font-size="{TEXT}"{weight}>{escape(words)}</text>'
    )


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


_CONFIG: dict[str, Any] = {
    "aria": False,
    "font": FONT,
    "view": {"stroke": None},
    "text": {"fontSize": TEXT},
    "axis": {
        "labelFontSize": TEXT,
        "labelColor": LIGHT["ink"],
        "titleFontSize": TEXT,
        "titleFontWeight": "normal",
        "titleColor": LIGHT["muted"],
        "gridColor": LIGHT["grid"],
    },
}
