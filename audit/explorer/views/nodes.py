"""A node in its place, with its use by the values of columns, and the search for one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from audit.base.declared import Columns, Mark, count, share, text
from audit.base.figures import Dots
from audit.base.plurals import counted
from audit.explorer.links import node_address
from audit.explorer.run.node_places import NodeView
from audit.explorer.run.paged_tables import Row, Source
from audit.explorer.run.pair_rows import APART, PARTNER_ORDERS, PairRows
from audit.explorer.sheets import Column, Sheet
from audit.explorer.site import NotThereError, Site, parameters
from audit.explorer.views.pairs import RELATION
from audit.explorer.views.parts import said_of
from reports.core import level
from reports.figures import Drawing, draw
from reports.words import METRICS, name, percent, points, printable

PARTNERS = (
    Column("node", "Together with", "node"),
    Column("relation", "Relation"),
    Column("joint", "Instances with both", "count", beside="expected_length"),
    Column("expected_length", "Expected", "number"),
    Column("ratio", "Times expected", "number"),
    Column("lift", "Lift", "number"),
    Column("support", "Instances of it", "count"),
)
CONFUSED = (
    *PARTNERS[:2],
    Column("confusion", "Concept confusion", "precise"),
    Column("confusion_low", "From", "precise"),
    Column("confusion_high", "To", "precise"),
)
CHILDREN = (
    Column("node", "Node", "node"),
    Column("support", "Instances", "count", beside="support"),
    Column("direct", "Used directly", "count"),
    Column("below", "Children", "count"),
)
VALUES = (
    Column("value", "Value", "named"),
    Column("of", "Instances", "count"),
    Column("instances", "With the node", "count"),
    Column("share", "Share", "share"),
    Column("low", "Share from", "share"),
    Column("high", "Share to", "share"),
    Column("difference", "Difference from all others, in points", "points"),
    Column("q_value", "q", "precise"),
    Column("differs", "Differs", "flag"),
)
MOST_SIBLINGS = 12
"""Siblings that are drawn at most."""
MOST_TOLD = 5
"""Largest number of changes that are described in sentences."""
FOUND = (
    Column("node", "Node", "node"),
    Column("support", "Instances", "count"),
    Column("depth", "Depth", "count"),
)
ORDERS = {
    "strength": "strength",
    "together": "instances with both",
    "ratio": "times expected",
    "lift": "lift",
    "frequency": "instances of the other",
    "node": "code",
}
CONFUSION = "confusion"
"""The order of a model's partners by equation 4."""
RELATIONS = {APART: "neither above the other", "": "all", **RELATION}


@dataclass(frozen=True, slots=True)
class ColumnDrift:
    """The part of the page on one column; ``tests`` comparisons are judged together."""

    column: str
    drawn: Drawing | None
    sheet: Sheet
    changes: tuple[str, ...]
    compared: bool
    tests: int


def show(site: Site, request: Request) -> Response:
    """A node in its place, with its partners."""
    asked, run = parameters(request), site.run
    view = run.places.view(asked.get("id", ""))
    if view is None:
        raise NotThereError(f"The hierarchy has no node {asked.get('id', '')}.")
    sources: tuple[Source, ...] = ("data", "model") if site.run.has_model else ("data",)
    node = view.node["node"]
    return site.page(
        request,
        "node",
        view.node["title"] or node,
        crumbs=[
            ("Hierarchy", "/hierarchy"),
            *((row["title"] or row["node"], node_address(row["node"])) for row in view.paths),
        ],
        view=view,
        residual=_residual(view),
        sheets=[
            *(_partners(site, request, run.pairs, node, source) for source in sources),
            site.sheet(request, "children", "Children", CHILDREN, view.children),
        ],
        most_siblings=MOST_SIBLINGS,
        drifts=[_drift(site, request, view, at) for at, _ in enumerate(view.drift)],
        asked=asked,
        relations=RELATIONS,
        findings=site.run.findings_on(node),
        said=said_of(site, node),
        measures=[
            (METRICS.get(row["name"], name(row["name"])), _measured(row), row) for row in view.model
        ],
    )


def search(site: Site, request: Request) -> Response:
    """Nodes by id or title; the node itself where there is one alone."""
    text = parameters(request).get("q", "")
    found = site.sheet(
        request,
        "found",
        f"Nodes for “{text}”",
        FOUND,
        lambda span: site.run.places.search(text, span),
    )
    rows = found.page.rows
    if len(rows) == 1 or (rows and rows[0]["node"].lower() == text.strip().lower()):
        return RedirectResponse(node_address(rows[0]["node"]), 303)
    return site.page(request, "search", "Search", sheet=found, text=text)


def _partners(site: Site, request: Request, pairs: PairRows, node: str, source: Source) -> Sheet:
    asked = parameters(request)
    order = asked.get("order", "strength")
    relation = asked.get("relation", APART)
    relation = relation if relation in RELATIONS else APART
    whose = "Labels" if source == "data" else "Predictions"
    orders = ORDERS if source == "data" else {**ORDERS, CONFUSION: "concept confusion"}
    named = request, f"{source}-partners", f"{whose} beside it"
    if order == CONFUSION and source == "model":
        rows = [_seen(row) for row in pairs.confused_with(node, relation)]
        return site.sheet(*named, CONFUSED, rows, orders, order)
    order = order if order in PARTNER_ORDERS else "strength"
    return site.sheet(
        *named,
        PARTNERS,
        lambda span: pairs.partners(node, source, relation or None, order, span).each(_seen),
        orders,
        order,
    )


def _seen(row: Row) -> Row:
    return {**row, "relation": RELATION[row["relation"]]}


def _measured(row: Row) -> str:
    """What distinguishes a metric of a node from the others of its name."""
    kept = {name: of for name, of in row["parameters"].items() if name != "aggregation"}
    return level(kept)


def _residual(view: NodeView) -> str:
    """What the node's share of catch-all labels is, in a sentence; empty without one."""
    use = view.residual_use
    if use is None or not use["n"]:
        return ""
    return (
        f"Of {counted(use['n'], 'instances')} with a label below it, {use['k']:,} "
        f"({_percent(use['share'])}; 95% interval {_percent(use['low'])} to "
        f"{_percent(use['high'])}) "
        "have labels there that are all “other” or “unspecified”."
    )


def _drift(site: Site, request: Request, view: NodeView, place: int) -> ColumnDrift:
    drift, id = view.drift[place], f"drift-{place + 1}"
    compared = [row for row in drift.values if row["share"] is not None]
    return ColumnDrift(
        column=drift.column,
        drawn=draw(_SHARES, _OF_VALUES, [*map(printable, compared)], None),
        sheet=site.sheet(request, id, "Share of the node by value", VALUES, drift.values),
        changes=tuple(_changes(drift.values)),
        compared=bool(compared),
        tests=drift.tests,
    )


_OF_VALUES = Columns(
    text("value"), count("instances of"),
    share("share", of="instances of", ends="low high", mark=Mark()),
)  # fmt: skip
_SHARES = Dots(value="share", name="value", most=60)


def _percent(value: float) -> str:
    return percent(value, None, None)


def _changes(values: Sequence[Row]) -> Iterator[str]:
    """What differs, the largest difference first."""
    differing = [row for row in values if row["differs"]]
    ordered = sorted(differing, key=lambda row: -abs(row["difference"]))
    for row in ordered[:MOST_TOLD]:
        apart, low, high = (
            points(row[name], None, None)
            for name in ("difference", "difference_low", "difference_high")
        )
        yield (
            f"{row['value']}: {_percent(row['share'])} of the instances, "
            f"{apart} percentage points against all others "
            f"(95% interval {low} to {high}, q = {row['q_value']:.2g})."
        )
    if len(ordered) > MOST_TOLD:
        yield f"{len(ordered) - MOST_TOLD:,} more values differ, by less."


PAGES = {"/node": show, "/search": search}
