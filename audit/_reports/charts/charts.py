"""Vega-Lite specifications of figures in ranked lines, and of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from audit._reports.charts.palette import LIGHT, SCALE
from audit._reports.charts.parts import (
    WIDTH,
    Json,
    Layer,
    at_zero,
    axis,
    bare_axis,
    channel,
    dot,
    having,
    interval,
    left_labels,
    lines,
    numbered,
    ranked,
    right_texts,
    ring,
    specification,
)
from audit._reports.words.shown_numbers import Rows


def pairs_spec(
    rows: Rows,
    measured: str = "instances with both nodes",
    form: str = ",.0f",
    right: int = 150,
) -> dict[str, Any]:
    """Ranked pairs: observed and expected count of each.

    Args:
        rows: ``label, observed, expected, low, high, times``, in drawing order; ``observed`` is
            None where it is not told, ``expected`` without an expectation, ``low`` and ``high``
            without an interval.
    """
    drawn = numbered(rows)
    base = Layer(drawn).encode(y=lines())
    compared = having(drawn, "expected").encode(y=lines())
    reach = [row[name] or 0 for row in rows for name in ("observed", "expected", "high")]
    top = max(reach, default=0) or 1
    there = having(drawn, "observed").encode(y=lines())
    observed = channel(
        "observed:Q",
        scale={"domain": [0, top], "nice": True},
        axis=axis(measured, form),
    )
    layers = [
        left_labels(base),
        compared.mark("rule", color=LIGHT["expected"], strokeWidth=1).encode(
            x="expected:Q", x2="observed"
        ),
        interval(having(drawn, "low").encode(y=lines())),
        ring(compared, "expected:Q"),
        dot(there, observed),
        right_texts(base, "times"),
    ]
    return ranked(layers, len(rows), left=330, right=right)


def means_spec(rows: Rows, title: str, *, left: int = 250) -> dict[str, Any]:
    """Lines with a dot, its interval, and a ring for what it is compared with; zero is marked.

    Args:
        rows: ``label, value, low, high, beside, counts``, in drawing order; bounds and ``beside``
            may be None.
    """
    drawn = numbered(rows)
    base = Layer(drawn).encode(y=lines())
    reach = [row[name] for row in rows for name in ("value", "low", "high", "beside")]
    known = [float(value) for value in reach if value is not None]
    ends = [min(0.0, *known), max(0.0, *known)]
    scale = {"domain": ends if ends[0] < ends[1] else [0, 1], "nice": True}
    layers = [
        at_zero(scale=scale),
        interval(having(drawn, "low").encode(y=lines())),
        ring(having(drawn, "beside").encode(y=lines()), "beside:Q"),
        dot(base, channel("value:Q", scale=scale, axis=axis(title, "~g"))),
        left_labels(base),
        right_texts(base, "counts"),
    ]
    return ranked(layers, len(rows), left=left, right=150)


def changes_spec(rows: Rows) -> dict[str, Any]:
    """Ranked differences in percentage points: dots with intervals, and a line at zero.

    Args:
        rows: ``label, difference, low, high, rates``, in drawing order.
    """
    base = Layer(numbered(rows)).encode(y=lines())
    difference = channel(
        "difference:Q",
        scale={"nice": True, "zero": True},
        axis=axis("change of the rate, percentage points", "+.3~g"),
    )
    layers = [
        at_zero("expected", 1.2),
        interval(base),
        dot(base, difference, 70),
        left_labels(base),
        right_texts(base, "rates"),
    ]
    return ranked(layers, len(rows), left=270, right=130)


def beside_spec(rows: Rows) -> dict[str, Any]:
    """Ranked pairs with up to three marks per line: data, predictions and confusion.

    Args:
        rows: ``label, relation`` and ``data, predicted, confusion, low, high``, each None if
            it is not told, in drawing order; ``low`` and ``high`` are the bounds of the confusion.
    """
    drawn = numbered(rows)
    every = Layer(drawn).encode(y=lines())
    top = max((row[name] or 0.0 for row in rows for name in (*_MARKS, "high")), default=0.0)
    form = ".0%" if top >= 0.05 else ".1%" if top >= 0.005 else ".2%"
    x_axis = axis("share of all instances; confusion", form)
    scale = {"domain": [0, top or 1.0], "nice": True}
    marks = [
        having(drawn, name)
        .mark("point", strokeWidth=1.8, opacity=1, **style)
        .encode(y=lines(), x=channel(f"{name}:Q", scale=scale, axis=x_axis))
        for name, style in _MARKS.items()
    ]
    bounds = interval(having(drawn, "low").encode(y=lines()), LIGHT["model"])
    layers = [bounds, *marks, left_labels(every), right_texts(every, "relation")]
    return ranked(layers, len(rows), left=330, right=110)


_MARKS: dict[str, dict[str, Any]] = {
    "data": {"color": LIGHT["observed"], "filled": True, "size": 75},
    "predicted": {"color": LIGHT["model"], "fill": LIGHT["gap"], "size": 60},
    "confusion": {"color": LIGHT["model"], "filled": True, "shape": "diamond", "size": 70},
}
"""Marks of `beside_spec`: a dot for the data, a ring and a diamond for the model."""


def matrix_spec(rows: Rows, labels: Sequence[str], largest: int = 44) -> dict[str, Any]:
    """A shaded cell with a text for each pair, own cells on the diagonal.

    Args:
        rows: ``row, column`` (numbers from 1), ``role`` (of the palette), ``text``.
        largest: Greatest side of a cell in pixels.
    """
    side = min(largest, 440 // max(len(labels), 1))
    order = [str(place + 1) for place in range(len(labels))]
    named = [{"row": place, "label": label} for place, label in zip(order, labels, strict=True)]
    band = {"domain": order, "paddingInner": 0.06, "paddingOuter": 0}
    top = bare_axis(None, orient="top", labelAngle=0, grid=False)
    cells = Layer(rows).encode(
        x=channel("column:N", scale=band, sort=None, axis=top),
        y=channel("row:N", scale=band, sort=None, axis=None),
    )
    names = Layer(named).encode(y=channel("row:N", scale=band, sort=None, axis=None))
    layers = [
        cells.mark("rect").encode(color=channel("role:N", scale=_roles(), legend=None)),
        *_shaded_text(cells),
        names.mark("text", align="right", dx=-10, color=LIGHT["ink"]).encode(
            x={"value": 0}, text="label:N"
        ),
    ]
    size = side * len(labels)
    padding = {"left": 250, "right": WIDTH - 250 - size, "top": 24, "bottom": 4}
    return specification(layers, size, size, padding)


def _shaded_text(base: Layer) -> list[Layer]:
    """Texts in the colour that reads on the shade below them."""
    dark = "datum.role == 'scale-3' || datum.role == 'scale-4'"
    return [
        base.where(test)
        .mark("text", fontSize=10, align="center", baseline="middle", color=LIGHT[role])
        .encode(text="text:N")
        for role, test in (("on-low", f"!({dark})"), ("on-high", dark))
    ]


def _roles() -> Json:
    roles = ("scale-none", *SCALE)
    return {"domain": list(roles), "range": [LIGHT[role] for role in roles]}
