"""The pictures' Vega-Lite specifications, built with Altair, in colours of the palette.

Sizes are fixed and labels are cut by their characters, so that a picture's layout does not
depend on the fonts at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt

from reports.icicle import COLUMNS, Cell
from reports.palette import LIGHT, SCALE
from reports.words import shortened

WIDTH = 720
"""Width of every picture: a page of the PDF, and of a laptop's text column."""

Rows = Sequence[Mapping[str, Any]]

_FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"
_TEXT = 11
_LINE = 24
"""Height of one line of a ranked picture."""


def residual_spec(rows: Rows, limit: float | None) -> dict[str, Any]:
    """Ranked residual shares: a dot with its interval each, and the policy's limit as a line.

    Args:
        rows: ``label, share, low, high, counts``, in the order to be drawn.
        limit: The share above which the policy reports; None where it says nothing.
    """
    base = alt.Chart(_values(_numbered(rows))).encode(y=_lines())
    share = alt.X("share:Q", scale=alt.Scale(domain=[0, 1]), axis=_axis("share", ".0%"))
    layers = [
        base.mark_rule(color=LIGHT["observed"], strokeWidth=2, opacity=0.55).encode(
            x=alt.X("low:Q"), x2="high:Q"
        ),
        base.mark_point(color=LIGHT["observed"], filled=True, size=70, opacity=1).encode(x=share),
        _left(base),
        _right(base, "counts"),
    ]
    if limit is not None:
        line = alt.Chart(_values([{"limit": limit}])).mark_rule(
            color=LIGHT["limit"], strokeWidth=1.5, strokeDash=[5, 3]
        )
        layers.insert(0, line.encode(x="limit:Q"))
    return _ranked(layers, len(rows), left=250, right=110)


def pairs_spec(rows: Rows) -> dict[str, Any]:
    """Ranked pairs: instances with both nodes, beside those expected under independence.

    Args:
        rows: ``label, observed, expected, lift``, in the order to be drawn.
    """
    base = alt.Chart(_values(_numbered(rows))).encode(y=_lines())
    top = max((max(row["observed"], row["expected"] or 0) for row in rows), default=1)
    observed = alt.X(
        "observed:Q",
        scale=alt.Scale(domain=[0, top], nice=True),
        axis=_axis("instances with both nodes", ",.0f"),
    )
    layers = [
        base.mark_rule(color=LIGHT["expected"], strokeWidth=1).encode(
            x="expected:Q", x2="observed"
        ),
        base.mark_point(
            color=LIGHT["expected"], fill=LIGHT["gap"], strokeWidth=1.8, size=60, opacity=1
        ).encode(x="expected:Q"),
        base.mark_point(color=LIGHT["observed"], filled=True, size=75, opacity=1).encode(
            x=observed
        ),
        _left(base),
        _right(base, "lift"),
    ]
    return _ranked(layers, len(rows), left=330, right=80)


def matrix_spec(rows: Rows, labels: Sequence[str]) -> dict[str, Any]:
    """Branches against branches: a shaded cell with its share, the own share on the diagonal.

    Args:
        rows: ``row, column`` (numbers from 1), ``role`` (of the palette), ``text``.
        labels: Label of each branch, in order.
    """
    side = min(44, 440 // max(len(labels), 1))
    order = [str(place + 1) for place in range(len(labels))]
    named = [{"row": place, "label": label} for place, label in zip(order, labels, strict=True)]
    band = alt.Scale(domain=order, paddingInner=0.06, paddingOuter=0)
    cells = alt.Chart(_values(rows)).encode(
        x=alt.X("column:N", scale=band, sort=None, axis=_top_axis()),
        y=alt.Y("row:N", scale=band, sort=None, axis=None),
    )
    names = alt.Chart(_values(named)).encode(y=alt.Y("row:N", scale=band, sort=None, axis=None))
    layers = [
        cells.mark_rect().encode(color=alt.Color("role:N", scale=_roles(), legend=None)),
        *_shaded_text(cells, size=10, align="center"),
        names.mark_text(align="right", dx=-10, color=LIGHT["ink"]).encode(
            x=alt.value(0), text="label:N"
        ),
    ]
    size = side * len(labels)
    padding = {"left": 250, "right": WIDTH - 250 - size, "top": 24, "bottom": 4}
    return _specification(layers, size, size, padding)


def icicle_spec(cells: Sequence[Cell], roles: Mapping[str, str]) -> dict[str, Any]:
    """The upper hierarchy as columns of bars, the branches at the left.

    Args:
        cells: Places of the nodes.
        roles: Palette role by node.
    """
    drawn = [cell for cell in cells if cell.column < COLUMNS]
    columns = max((cell.column for cell in drawn), default=0) + 1
    width, height = WIDTH // columns, min(760, max(160, 14 * len(drawn)))
    rows = [_icicle_row(cell, roles, width, height) for cell in drawn]
    base = alt.Chart(_values(rows))
    rects = base.mark_rect(stroke=LIGHT["gap"], strokeWidth=0.8).encode(
        x=alt.X("left:Q", axis=None, scale=None),
        x2="right:Q",
        y=alt.Y("top:Q", axis=None, scale=None),
        y2="bottom:Q",
        color=alt.Color("role:N", scale=_roles(), legend=None),
    )
    texts = base.transform_filter("datum.label != ''").encode(
        x=alt.X("text_x:Q", axis=None, scale=None), y=alt.Y("text_y:Q", axis=None, scale=None)
    )
    layers = [rects, *_shaded_text(texts, size=10, align="left")]
    padding = {"left": 0, "right": WIDTH - columns * width, "top": 0, "bottom": 0}
    return _specification(layers, columns * width, height, padding)


def _icicle_row(
    cell: Cell, roles: Mapping[str, str], width: int, height: int
) -> dict[str, float | str]:
    top, bottom = round(cell.top * height, 2), round(cell.bottom * height, 2)
    title = cell.row["title"] or ""
    label = shortened(f"{cell.row['node']} {title}".strip(), (width - 10) // 6)
    return {
        "left": cell.column * width,
        "right": (cell.column + 1) * width,
        "top": top,
        "bottom": bottom,
        "text_x": cell.column * width + 5,
        "text_y": round((top + bottom) / 2, 2),
        "role": roles[cell.row["node"]],
        "label": label if bottom - top >= _TEXT else "",
    }


def _shaded_text(
    base: alt.Chart, *, size: int, align: Literal["left", "center"]
) -> list[alt.Chart | alt.LayerChart]:
    """Labels in the colour that reads on the shade below them."""
    dark = "datum.role == 'scale-3' || datum.role == 'scale-4'"
    field = "label:N" if align == "left" else "text:N"
    return [
        base.transform_filter(test)
        .mark_text(fontSize=size, align=align, baseline="middle", color=LIGHT[role])
        .encode(text=field)
        for role, test in (("on-low", f"!({dark})"), ("on-high", dark))
    ]


def _roles() -> alt.Scale:
    roles = ("scale-none", *SCALE)
    return alt.Scale(domain=list(roles), range=[LIGHT[role] for role in roles])


def _lines() -> alt.Y:
    axis = alt.Axis(title=None, domain=False, ticks=False, labels=False, grid=True)
    return alt.Y("line:O", sort=None, axis=axis)


def _left(base: alt.Chart) -> alt.Chart:
    """The label of each line: drawn as text, since two lines may have the same label."""
    labels = base.mark_text(align="right", dx=-12, color=LIGHT["ink"])
    return _encoded(labels, x=alt.value(0), text="label:N")


def _right(base: alt.Chart, field: str) -> alt.Chart:
    """Figures in words at the right end of each line."""
    figures = base.mark_text(align="left", dx=12, color=LIGHT["muted"])
    return _encoded(figures, x=alt.value("width"), text=f"{field}:N")


def _encoded(chart: alt.Chart, **channels: Any) -> alt.Chart:
    encoded: alt.Chart = chart.encode(**channels)
    return encoded


def _axis(title: str, form: str) -> alt.Axis:
    return alt.Axis(
        title=title, format=form, tickCount=5, domain=False, ticks=False, labelFlush=False
    )


def _top_axis() -> alt.Axis:
    return alt.Axis(title=None, orient="top", domain=False, ticks=False, labelAngle=0, grid=False)


def _ranked(layers: Sequence[Any], lines: int, *, left: int, right: int) -> dict[str, Any]:
    padding = {"left": left, "right": right, "top": 6, "bottom": 40}
    return _specification(layers, WIDTH - left - right, _LINE * lines, padding)


def _specification(
    layers: Sequence[Any], width: int, height: int, padding: Mapping[str, int]
) -> dict[str, Any]:
    chart = alt.layer(*layers).properties(
        width=width, height=height, padding=dict(padding), autosize="none", background="transparent"
    )
    specification: dict[str, Any] = chart.configure(**_CONFIG).to_dict()
    return specification


def _numbered(rows: Rows) -> Rows:
    return [{"line": place, **row} for place, row in enumerate(rows)]


def _values(rows: Rows) -> alt.InlineData:
    return alt.InlineData(values=[dict(row) for row in rows])


_CONFIG: dict[str, Any] = {
    "aria": False,
    "font": _FONT,
    "view": {"stroke": None},
    "text": {"fontSize": _TEXT},
    "axis": {
        "labelFontSize": _TEXT,
        "labelColor": LIGHT["ink"],
        "titleFontSize": _TEXT,
        "titleFontWeight": "normal",
        "titleColor": LIGHT["muted"],
        "gridColor": LIGHT["grid"],
    },
}
