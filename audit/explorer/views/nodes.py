"""A node in its place, and the search for one."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from audit.base.node_names import title_and_code
from audit.explorer.links import node_address
from audit.explorer.pictures import Picture
from audit.explorer.run.node_places import NodeView
from audit.explorer.run.pair_rows import APART, PARTNER_ORDERS, PairRows
from audit.explorer.run.vocabulary import Page, Row, Source, Span
from audit.explorer.sheets import Column, Sheet
from audit.explorer.site import NotThereError, Site, parameters
from audit.explorer.views import other_runs, shared_pages
from audit.explorer.views.drift import drifts
from audit.explorer.views.parts import said_of
from reports.charts.count_bars import count_bars
from reports.words import metric_words
from reports.words.words import RELATION, counted, number, percent, printable, words

PARTNERS = (
    Column("node", "Together with", "node"),
    Column("relation", "Relation"),
    Column("joint", "Instances with both", "count", beside="expected_length"),
    Column("expected_length", "Expected", "number"),
    Column("ratio", "Times expected", "number"),
    Column("lift", "Lift", "number"),
    Column("support", "Instances of it", "count"),
)
CHILDREN = (
    Column("node", "Node", "node"),
    Column("support", "Instances", "count", beside="support"),
    Column("direct", "Labelled itself", "count"),
    Column("below", "Nodes right below", "count"),
)
MOST_SIBLINGS = 12
"""Siblings that are drawn at most."""
FOUND = (
    Column("node", "Node", "node"),
    Column("support", "Instances", "count"),
    Column("depth", "Depth", "count"),
)
ORDERS = {
    "together": "instances with both",
    "ratio": "times expected",
    "lift": "lift",
    "frequency": "instances of the other",
    "node": "code",
}
RELATIONS = {APART: "neither above the other", "": "all", **RELATION}


def show(site: Site, request: Request) -> Response:
    """A node in its place, with its partners."""
    asked, full = parameters(request), site.run.restricted
    if full is None:
        return shared_pages.show_node(site, request)
    view = full.places.view(asked.get("id", ""))
    if view is None:
        raise NotThereError(f"The hierarchy has no node {asked.get('id', '')}.")
    sources: tuple[Source, ...] = ("data", "model") if site.run.has_model else ("data",)
    node = view.node["node"]
    return site.page(
        request,
        "node",
        view.node["title"] or node,
        crumbs=[("Hierarchy", "/hierarchy"), *_crumbs(view)],
        view=view,
        residual=_residual(view),
        sheets=[
            *(_partners(site, request, full.pairs, node, source) for source in sources),
            site.sheet(request, "children", "Right below it", CHILDREN, view.children),
        ],
        in_runs=other_runs.on_node(site, request, node),
        most_siblings=MOST_SIBLINGS,
        siblings_file=site.picture_file(request, "siblings", lambda: _siblings(view)),
        drifts=drifts(site, request, view),
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
        request, "found", f"Nodes for “{text}”", FOUND, lambda span: site.run.search(text, span)
    )
    rows = found.page.rows
    if len(rows) == 1 or (rows and rows[0]["node"].lower() == text.strip().lower()):
        return RedirectResponse(node_address(rows[0]["node"]), 303)
    return site.page(request, "search", "Search", sheet=found, text=text)


def _partners(site: Site, request: Request, pairs: PairRows, node: str, source: Source) -> Sheet:
    asked = parameters(request)
    order = asked.get("order", "together")
    order = order if order in PARTNER_ORDERS else "together"
    relation = asked.get("relation", APART)
    relation = relation if relation in RELATIONS else APART

    def rows(span: Span) -> Page:
        page = pairs.partners(node, source, relation or None, order, span)
        return Page([_seen(row) for row in page.rows], page.total)

    whose = "Labels" if source == "data" else "Predictions"
    return site.sheet(
        request, f"{source}-partners", f"{whose} beside it", PARTNERS, rows, ORDERS, order
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


def _crumbs(view: NodeView) -> list[tuple[str, str]]:
    """The way down by first parents; a node of several parents names them on its page."""
    return [(row["title"] or row["node"], node_address(row["node"])) for row in view.paths]


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


PAGES = {"/node": show, "/search": search}
