"""Vega-Lite specifications of the figures, built with Altair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from reports.charts.palette import LIGHT, SCALE
from reports.charts.parts import (
    WIDTH,
    Rows,
    axis,
    dots_spec,
    interval,
    left_labels,
    lines,
    numbered,
    ranked,
    right_texts,
    specification,
    values,
)


def residual_spec(rows: Rows, limit: float | None) -> dict[str, Any]:
    """Ranked residual shares: dots with intervals, and the policy's limit as a line.

    Args:
        rows: ``label, share, low, high, counts``, in drawing order.
        limit: The policy's limit on shares; None without one.
    """
    return dots_spec(rows, "share", limit=limit)


def pairs_spec(rows: Rows, measured: str = "instances with both nodes") -> dict[str, Any]:
    """Ranked pairs: observed and expected count of each.

    Args:
        rows: ``label, observed, expected, low, high, times``, in drawing order; ``expected`` is
            None without an expectation, ``low`` and ``high`` are None without an interval.
        measured: Title of the axis of counts.
    """
    drawn = numbered(rows)
    base = alt.Chart(values(drawn)).encode(y=lines())
    compared = alt.Chart(values([row for row in drawn if row["expected"] is not None]))
    bounded = alt.Chart(values([row for row in drawn if row["low"] is not None]))
    reach = [row[name] or 0 for row in rows for name in ("observed", "expected", "high")]
    top = max(reach, default=0) or 1
    observed = alt.X(
        "observed:Q",
        scale=alt.Scale(domain=[0, top], nice=True),
        axis=axis(measured, ",.0f"),
    )
    layers = [
        compared.mark_rule(color=LIGHT["expected"], strokeWidth=1).encode(
            y=lines(), x="expected:Q", x2="observed"
        ),
        interval(bounded.encode(y=lines())),
        compared.mark_point(
            color=LIGHT["expected"], fill=LIGHT["gap"], strokeWidth=1.8, size=60, opacity=1
        ).encode(y=lines(), x="expected:Q"),
        base.mark_point(color=LIGHT["observed"], filled=True, size=75, opacity=1).encode(
            x=observed
        ),
        left_labels(base),
        right_texts(base, "times"),
    ]
    return ranked(layers, len(rows), left=330, right=150)


def matrix_spec(rows: Rows, labels: Sequence[str], largest: int = 44) -> dict[str, Any]:
    """The map of branches: a shaded cell with a text for each pair, own cells on the diagonal.

    Args:
        rows: ``row, column`` (numbers from 1), ``role`` (of the palette), ``text``.
        labels: Label of each branch, in order.
        largest: Greatest side of a cell in pixels.
    """
    side = min(largest, 440 // max(len(labels), 1))
    order = [str(place + 1) for place in range(len(labels))]
    named = [{"row": place, "label": label} for place, label in zip(order, labels, strict=True)]
    band = alt.Scale(domain=order, paddingInner=0.06, paddingOuter=0)
    cells = alt.Chart(values(rows)).encode(
        x=alt.X("column:N", scale=band, sort=None, axis=_top_axis()),
        y=alt.Y("row:N", scale=band, sort=None, axis=None),
    )
    names = alt.Chart(values(named)).encode(y=alt.Y("row:N", scale=band, sort=None, axis=None))
    layers = [
        cells.mark_rect().encode(color=alt.Color("role:N", scale=_roles(), legend=None)),
        *_shaded_text(cells, size=10, align="center"),
        names.mark_text(align="right", dx=-10, color=LIGHT["ink"]).encode(
            x=alt.value(0), text="label:N"
        ),
    ]
    size = side * len(labels)
    padding = {"left": 250, "right": WIDTH - 250 - size, "top": 24, "bottom": 4}
    return specification(layers, size, size, padding)


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


def _top_axis() -> alt.Axis:
    return alt.Axis(title=None, orient="top", domain=False, ticks=False, labelAngle=0, grid=False)
