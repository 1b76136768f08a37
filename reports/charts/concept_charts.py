"""Vega-Lite specifications of accuracies from 0 to 1 in lines, in panels beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from reports.charts.palette import LIGHT
from reports.charts.parts import having, left_labels, lines, ranked, right_texts, values
from reports.words.shown_numbers import Rows

STEP = 1.18
"""Distance between the zeros of two panels, whose axes have length 1."""
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Mark:
    """A number of each line: its field, colour role and shape; drawn empty if it is no ``own``."""

    field: str
    role: str
    shape: str = "circle"
    own: bool = True


DOT = Mark("value", "observed")


def accuracies_spec(
    rows: Rows,
    panels: Sequence[str],
    limit: float | None,
    marks: Sequence[Mark] = (DOT,),
    *,
    left: int = 200,
    right: int = 24,
    title: str = "accuracy",
    ticks: Sequence[float] = TICKS,
) -> dict[str, Any]:
    """Accuracies from 0 to 1 in lines, in one panel or in several beside each other.

    Args:
        rows: ``line`` (its number), ``label``, ``panel`` (its number), ``low, high, chance,
            zone_from, zone_to``, ``counts`` (text at the right), and the fields of the marks; each
            number may be None. The zone is where the line passes.
        panels: Title of each panel.
        limit: The limit on accuracies, drawn in each panel; None without one.
        marks: What is drawn of each line, the last on top.
        left: Room for the labels.
        right: Room for the counts.
        title: Title of the axis.
        ticks: Ticks of each panel.
    """
    places = [mark.field for mark in marks]
    axis = _axis([tick + STEP * panel for panel in range(len(panels)) for tick in ticks], title)
    fields = ("low", "high", "chance", "zone_from", "zone_to", *places)
    drawn = [{**row, **{name: _on_panel(row, name) for name in fields}} for row in rows]
    scale = alt.Scale(domain=[0, 1 + STEP * (len(panels) - 1)])
    labels = {row["line"]: row["label"] for row in rows}
    base = alt.Chart(values([{"line": n, "label": labels[n]} for n in sorted(labels)]))
    layers: list[Any] = [
        having(drawn, "zone_from")
        .mark_bar(color=LIGHT["pass-tint"], height=17)
        .encode(y=lines(), x=alt.X("zone_from:Q", scale=scale), x2="zone_to:Q"),
        *_rules([] if limit is None else [limit + STEP * n for n in range(len(panels))], scale),
        having(drawn, "chance")
        .mark_tick(color=LIGHT["expected"], thickness=2.5, size=16, orient="vertical", opacity=1)
        .encode(y=lines(), x=alt.X("chance:Q", scale=scale)),
        having(drawn, "low")
        .mark_rule(color=LIGHT[marks[-1].role], strokeWidth=2, opacity=0.55)
        .encode(y=lines(), x=alt.X("low:Q", scale=scale), x2="high:Q"),
        *(_points(drawn, mark, scale, axis) for mark in marks),
        left_labels(base.encode(y=lines(sorted(labels)))),
        right_texts(alt.Chart(values(drawn)).encode(y=lines()), "counts"),
        *_titles(panels, scale),
    ]
    specified = ranked(layers, len(labels), left=left, right=right)
    specified["padding"]["top"] = 26 if any(panels) else 6
    return specified


def _on_panel(row: Any, name: str) -> float | None:
    value = row.get(name)
    return None if value is None else value + STEP * row["panel"]


def _rules(places: Sequence[float], scale: alt.Scale) -> list[Any]:
    rule = alt.Chart(values([{"at": place} for place in places]))
    return [
        rule.mark_rule(color=LIGHT["limit"], strokeWidth=1.2, strokeDash=[5, 3]).encode(
            x=alt.X("at:Q", scale=scale)
        )
    ]


def _axis(at: Sequence[float], title: str) -> alt.Axis:
    return alt.Axis(
        title=title, values=list(at), domain=False, ticks=False, labelFlush=False, grid=True,
        labelExpr=f"format(datum.value - {STEP} * floor(datum.value / {STEP} + 1e-6), '~g')",
    )  # fmt: skip


def _points(rows: Rows, mark: Mark, scale: alt.Scale, axis: alt.Axis) -> alt.Chart:
    found, colour = having(rows, mark.field), LIGHT[mark.role]
    points = (
        found.mark_point(shape=mark.shape, color=colour, filled=True, size=70, opacity=1)
        if mark.own
        else found.mark_point(
            shape=mark.shape, color=colour, fill=LIGHT["gap"], strokeWidth=1.8, size=60, opacity=1
        )
    )
    drawn: alt.Chart = points.encode(y=lines(), x=alt.X(f"{mark.field}:Q", scale=scale, axis=axis))
    return drawn


def _titles(panels: Sequence[str], scale: alt.Scale) -> list[Any]:
    named = [{"at": STEP * place, "text": text} for place, text in enumerate(panels) if text]
    titles = alt.Chart(values(named)).mark_text(
        align="left", baseline="bottom", dy=-8, color=LIGHT["muted"], fontWeight="bold"
    )
    return [titles.encode(x=alt.X("at:Q", scale=scale), y=alt.value(0), text="text:N")]
