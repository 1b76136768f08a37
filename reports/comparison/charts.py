"""The figure of a comparison: ranked differences with intervals."""

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


def changes_spec(rows: Rows) -> dict[str, Any]:
    """Ranked differences in percentage points: dots with intervals, and a line at zero.

    Args:
        rows: ``label, difference, low, high, rates``, in drawing order.
    """
    base = alt.Chart(values(numbered(rows))).encode(y=lines())
    difference = alt.X(
        "difference:Q",
        scale=alt.Scale(nice=True, zero=True),
        axis=axis("change of the rate, percentage points", "+.3~g"),
    )
    zero = alt.Chart(values([{"zero": 0}])).mark_rule(color=LIGHT["expected"], strokeWidth=1.2)
    dot = base.mark_point(color=LIGHT["observed"], filled=True, size=70, opacity=1)
    layers = [
        zero.encode(x="zero:Q"),
        interval(base),
        dot.encode(x=difference),
        left_labels(base),
        right_texts(base, "rates"),
    ]
    return ranked(layers, len(rows), left=270, right=130)
