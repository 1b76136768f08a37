"""The use of a node by the values of a column: a part of the node's page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from audit.results.drift_view import DriftView
from audit.results.exploration import NodeView, Row
from reports.charts.share_chart import MOST_SHARES, Share, share_drawing
from reports.explorer.pictures import Picture
from reports.explorer.sheets import Column, Sheet
from reports.explorer.site import Site
from reports.words.words import percent, points, span

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
"""Changes told in sentences at most."""


@dataclass(frozen=True, slots=True)
class ColumnDrift:
    """The part of the page on one column.

    Args:
        column: Its name.
        picture: The shares as a picture; None where there is none to draw, a file where the
            address asks for it.
        sheet: The shares as a table; a file where the address asks for it.
        changes: Sentences on the values that differ.
        compared: Whether the run compares the node in any value.
        tests: Number of comparisons that are judged together.
    """

    column: str
    picture: Picture | Response | None
    sheet: Sheet | Response
    changes: tuple[str, ...]
    compared: bool
    tests: int


def drifts(site: Site, request: Request, view: NodeView) -> list[ColumnDrift]:
    """A part for each column that the run's policy compares."""
    return [
        _drift(site, request, drift, f"drift-{number}")
        for number, drift in enumerate(view.drift, start=1)
    ]


def _drift(site: Site, request: Request, drift: DriftView, id: str) -> ColumnDrift:
    compared = [row for row in drift.values if row["share"] is not None]
    drawn = _picture(drift) if compared else None
    return ColumnDrift(
        column=drift.column,
        picture=drawn and site.picture(request, id, drawn),
        sheet=site.sheet(
            request,
            id,
            "Its share by value",
            VALUES,
            lambda rows: rows.of(drift.values),
        ),
        changes=tuple(_changes(drift.values)),
        compared=bool(compared),
        tests=drift.tests,
    )


def _picture(drift: DriftView) -> Picture | None:
    if len(drift.values) > MOST_SHARES:
        return None
    shares = [
        Share(row["value"], row["share"], row["low"], row["high"], bool(row["differs"]))
        for row in drift.values
    ]
    title = f"Share of the instances by {drift.column}"
    return Picture(
        title, f"{title}; the numbers stand in a table beside it.", share_drawing(shares)
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
