"""Vega-Lite specifications of the figures on a model."""

from __future__ import annotations

from typing import Any

import altair as alt

from reports.charts.palette import LIGHT
from reports.charts.parts import (
    Rows,
    axis,
    interval,
    left_labels,
    lines,
    numbered,
    ranked,
    right_texts,
    values,
)


def alignment_spec(rows: Rows) -> dict[str, Any]:
    """Ranked net shares: dots with intervals, over bars of the recovered and lost shares.

    Args:
        rows: ``label, net, low, high, recovered, lost, counts``, in drawing order; ``lost`` is
            negative, so that it is drawn to the left of zero.
    """
    base = alt.Chart(values(numbered(rows))).encode(y=lines())
    reach = [row[name] for row in rows for name in ("net", "low", "high", "recovered", "lost")]
    domain = alt.Scale(domain=[min(0.0, *reach), max(0.1, *reach)], nice=True)
    net = alt.X("net:Q", scale=domain, axis=axis("share of the errors below", ".0%"))
    zero = alt.Chart(values([{"zero": 0}])).mark_rule(color=LIGHT["ink"], strokeWidth=1)
    layers = [
        base.mark_bar(color=LIGHT["scale-2"], height=13).encode(
            x=alt.X("recovered:Q"), x2=alt.datum(0)
        ),
        base.mark_bar(color=LIGHT["expected"], height=13).encode(
            x=alt.X("lost:Q"), x2=alt.datum(0)
        ),
        zero.encode(x="zero:Q"),
        interval(base),
        base.mark_point(
            color=LIGHT["gap"], fill=LIGHT["observed"], strokeWidth=1, size=75, opacity=1
        ).encode(x=net),
        left_labels(base),
        right_texts(base, "counts"),
    ]
    return ranked(layers, len(rows), left=250, right=130)


def beside_spec(rows: Rows) -> dict[str, Any]:
    """Ranked pairs with up to three marks per line: data, predictions and confusion.

    Args:
        rows: ``label, relation`` and ``data, predicted, confusion, low, high``, each None if
            withheld, in drawing order; ``low`` and ``high`` are the bounds of the confusion.
    """
    drawn = numbered(rows)
    every = alt.Chart(values(drawn)).encode(y=lines())
    top = max((row[name] or 0.0 for row in rows for name in (*_MARKS, "high")), default=0.0)
    form = ".0%" if top >= 0.05 else ".1%" if top >= 0.005 else ".2%"
    x_axis = axis("share of all instances; confusion", form)
    scale = alt.Scale(domain=[0, top or 1.0], nice=True)
    marks = [
        alt.Chart(values([row for row in drawn if row[name] is not None]))
        .mark_point(strokeWidth=1.8, opacity=1, **style)
        .encode(y=lines(), x=alt.X(f"{name}:Q", scale=scale, axis=x_axis))
        for name, style in _MARKS.items()
    ]
    bounded = alt.Chart(values([row for row in drawn if row["low"] is not None]))
    bounds = interval(bounded.encode(y=lines()), LIGHT["model"])
    layers = [bounds, *marks, left_labels(every), right_texts(every, "relation")]
    return ranked(layers, len(rows), left=330, right=110)


_MARKS: dict[str, dict[str, Any]] = {
    "data": {"color": LIGHT["observed"], "filled": True, "size": 75},
    "predicted": {"color": LIGHT["model"], "fill": LIGHT["gap"], "size": 60},
    "confusion": {"color": LIGHT["model"], "filled": True, "shape": "diamond", "size": 70},
}
"""Marks of `beside_spec`: a dot for the data, a ring and a diamond for the model."""
