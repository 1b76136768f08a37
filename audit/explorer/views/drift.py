"""The use of a node by the values of a column: a part of the node's page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from starlette.requests import Request

from audit.base.node_names import title_and_code
from audit.explorer.pictures import Picture
from audit.explorer.run.node_places import NodeView
from audit.explorer.run.vocabulary import Row
from audit.explorer.sheets import Column, Sheet
from audit.explorer.site import Site
from reports.charts.share_chart import MOST_SHARES, Share, share_drawing
from reports.words.words import percent, points, printable, span

VALUES = (
    Column("value", "Value", "named"),
    Column("of", "Instances", "count"),
    Column("instances", "With the node", "count"),
    Column("share", "Share", "share"),
    Column("low", "Share from", "share"),
    Column("high", "Share to", "share"),
    Column("difference", "Points against all others", "points"),
    Column("q_value", "q", "precise"),
    Column("differs", "Differs", "flag"),
)
MOST_TOLD = 5
"""Largest number of changes that are described in sentences."""


@dataclass(frozen=True, slots=True)
class ColumnDrift:
    """The part of the page on one column.

    Args:
        column: Its name.
        picture: The shares drawn; None where there are none.
        sheet: The shares as a table.
        changes: Sentences on the values that differ.
        compared: Whether the run compares the node in any value.
        tests: Number of comparisons that are judged together.
    """

    column: str
    picture: Picture | None
    sheet: Sheet
    changes: tuple[str, ...]
    compared: bool
    tests: int


def drifts(site: Site, request: Request, view: NodeView) -> list[ColumnDrift]:
    """A part for each column that the run's policy compares."""
    return [_drift(site, request, view, number) for number in range(1, len(view.drift) + 1)]


def _drift(site: Site, request: Request, view: NodeView, number: int) -> ColumnDrift:
    drift, id = view.drift[number - 1], f"drift-{number}"
    compared = [row for row in drift.values if row["share"] is not None]
    drawn = _picture(view, drift.column, drift.values) if compared else None
    return ColumnDrift(
        column=drift.column,
        picture=drawn and site.picture(request, id, drawn),
        sheet=site.sheet(request, id, "Share of the node by value", VALUES, drift.values),
        changes=tuple(_changes(drift.values)),
        compared=bool(compared),
        tests=drift.tests,
    )


def _picture(view: NodeView, column: str, values: Sequence[Row]) -> Picture | None:
    if len(values) > MOST_SHARES:
        return None
    drawing = share_drawing(
        [
            Share(row["value"], row["share"], row["low"], row["high"], bool(row["differs"]))
            for row in values
        ]
    )
    name = title_and_code(view.node["node"], view.node["title"])
    return Picture(
        title=f"{name}: share of the instances by {column}",
        in_words=f"Share of the instances with the node, by {printable(column)}; the table has the "
        "numbers.",
        drawing=drawing,
    )


def _changes(values: Sequence[Row]) -> Iterator[str]:
    """What differs, the largest difference first."""
    differing = [row for row in values if row["differs"]]
    ordered = sorted(differing, key=lambda row: -abs(row["difference"]))
    for row in ordered[:MOST_TOLD]:
        interval = span(points(row["difference_low"]), points(row["difference_high"]))
        yield (
            f"{row['value']}: {percent(row['share'])} of the instances, "
            f"{points(row['difference'])} percentage points against all others "
            f"(95% interval {interval}, q = {row['q_value']:.2g})."
        )
    if len(ordered) > MOST_TOLD:
        yield f"{len(ordered) - MOST_TOLD:,} more values differ, by less."
