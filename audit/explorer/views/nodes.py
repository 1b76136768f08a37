"""A node in its place, with its use by the values of columns, and the search for one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from audit._reports.charts.value_charts import MOST_SHARES, Share, count_bars, share_drawing
from audit._reports.words import metric_words
from audit._reports.words.words import (
    RELATION,
    counted,
    number,
    percent,
    points,
    printable,
    span,
    words,
)
from audit.base.plurals import title_and_code
from audit.explorer.links import node_address
from audit.explorer.pictures import Picture
from audit.explorer.run.node_places import NodeView
from audit.explorer.run.paged_tables import Row, Source
from audit.explorer.run.pair_rows import APART, PARTNER_ORDERS, PairRows
from audit.explorer.sheets import Column, Sheet
from audit.explorer.site import NotThereError, Site, parameters
from audit.explorer.views.parts import said_of

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
    picture: Picture | None
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
        siblings_file=site.picture_file(request, "siblings", lambda: _siblings(view)),
        drifts=[_drift(site, request, view, at) for at, _ in enumerate(view.drift)],
        asked=asked,
        relations=RELATIONS,
        findings=site.run.findings_on(node),
        said=said_of(site, node),
        measures=[(words(row["name"]), _measured(row), row) for row in view.model],
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


def _siblings(view: NodeView) -> Picture:
    """The node among the most frequent of its siblings, as on its page."""
    shown = view.siblings[:MOST_SIBLINGS]
    ids = [row["node"] for row in shown]
    own = view.node["node"]
    names = [printable(title_and_code(row["node"], row["title"])) for row in shown]
    counts = [row["support"] for row in shown]
    return Picture(
        title=f"{title_and_code(own, view.node['title'])} among its siblings, by instances",
        in_words="; ".join(
            f"{name}: {number(count)}" for name, count in zip(names, counts, strict=True)
        )
        + ".",
        drawing=count_bars(
            [*zip(names, counts, strict=True)], ids.index(own) if own in ids else -1
        ),
    )


def _measured(row: Row) -> str:
    """What distinguishes a metric of a node from the others of its name."""
    kept = {name: of for name, of in row["parameters"].items() if name != "aggregation"}
    return metric_words.by({**row, "parameters": kept})


def _residual(view: NodeView) -> str:
    """What the node's share of catch-all labels is, in a sentence; empty without one."""
    use = view.residual_use
    if use is None or not use["n"]:
        return ""
    return (
        f"Of {counted(use['n'], 'instance')} with a label below it, {use['k']:,} "
        f"({percent(use['share'])}; 95% interval {percent(use['low'])} to {percent(use['high'])}) "
        "have labels there that are all “other” or “unspecified”."
    )


def _drift(site: Site, request: Request, view: NodeView, place: int) -> ColumnDrift:
    drift, id = view.drift[place], f"drift-{place + 1}"
    compared = [row for row in drift.values if row["share"] is not None]
    drawn = _shares(view, drift.column, drift.values) if compared else None
    return ColumnDrift(
        column=drift.column,
        picture=drawn and site.picture(request, id, drawn),
        sheet=site.sheet(request, id, "Share of the node by value", VALUES, drift.values),
        changes=tuple(_changes(drift.values)),
        compared=bool(compared),
        tests=drift.tests,
    )


def _shares(view: NodeView, column: str, values: Sequence[Row]) -> Picture | None:
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


PAGES = {"/node": show, "/search": search}
