"""Two nodes beside each other, and pairs that the model confuses."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from audit.base.declared import Columns, text, whole
from audit.base.figures import Graph
from audit.base.plurals import title_and_code
from audit.explorer.links import node_address, pair_address
from audit.explorer.run.paged_tables import Row
from audit.explorer.run.pair_rows import APART, PairView
from audit.explorer.sheets import Column
from audit.explorer.site import NotThereError, Site, parameters
from reports.figures import Drawing, draw
from reports.words import printable

RELATION = {
    "ancestor": "one above the other",
    "sibling": "siblings",
    "overlap": "overlapping",
    "same_branch": "same branch",
    "cross_branch": "across branches",
}
"""Where two nodes lie, in words."""
_EDGES = Columns(text("parent child"), whole("edges"))

CARRIERS = (
    Column("a", "Label", "node", title="title_a"),
    Column("b", "With", "node", title="title_b"),
    Column("joint", "Instances with both", "count", beside="expected_length"),
    Column("expected_length", "Expected", "number"),
    Column("ratio", "Times expected", "number"),
)
CONFUSIONS = (
    Column("a", "Node", "node", title="title_a"),
    Column("b", "With", "node", title="title_b"),
    Column("relation", "Relation", "linked"),
    Column("confusion", "Confusion", "precise"),
    Column("confusion_low", "From", "precise"),
    Column("confusion_high", "To", "precise"),
)
ALL = "all"
RELATIONS = {APART: "neither above the other", ALL: "all, also one above the other", **RELATION}
"""Which pairs are ranked: those above each other, which are always confused, on request."""
RELATED = {
    "ancestor": "are one above the other",
    "sibling": "share a parent",
    "overlap": "share a node below both",
    "same_branch": "are in the same branch",
    "cross_branch": "are in different branches",
}
MOST_DRAWN = 24
"""Nodes of the picture of a pair at most."""


def show_pair(site: Site, request: Request) -> Response:
    """Two nodes beside each other."""
    asked = parameters(request)
    view = site.run.pairs.view(asked.get("a", ""), asked.get("b", ""))
    if view is None:
        raise NotThereError("Two different nodes of the hierarchy are needed to show a pair.")
    carriers = site.sheet(
        request,
        "carriers",
        "Pairs of labels that carry it",
        CARRIERS,
        view.carriers,
    )
    return site.page(
        request,
        "pair",
        f"{_name(view.a)} and {_name(view.b)}",
        crumbs=[(_name(node), node_address(node["node"])) for node in (view.a, view.b)],
        view=view,
        relation=RELATED[view.relation],
        drawn=drawing(view),
        carriers=carriers,
        findings=site.run.findings_on(view.a["node"], view.b["node"]),
    )


def show_confusions(site: Site, request: Request) -> Response:
    """Pairs of nodes by how far the model confuses them."""
    asked, run = parameters(request), site.run
    if not run.has_model:
        raise NotThereError("The run has no model.")
    relation, depth, below = (asked.get(name, "") for name in ("relation", "depth", "below"))
    if below and not site.run.has_node(below):
        raise NotThereError(f"The hierarchy has no node {below}.")
    relation = relation if relation in RELATIONS else APART
    found = run.pairs.confused("" if relation == ALL else relation, depth, below)
    return site.page(
        request,
        "confusions",
        "Concepts confused",
        crumbs=[("Model", "/model")],
        sheet=site.sheet(
            request, "confusions", "Most confused first", CONFUSIONS, list(map(_confused, found))
        ),
        relations=RELATIONS,
        depths=sorted(set(run.result.nodes["depth"])),
        asked={**asked, "relation": relation},
    )


def _confused(row: Row) -> Row:
    """A pair of the ranking, with the page on which its instances can be asked for."""
    related = RELATION[row["relation"]]
    return {**row, "relation": related, "relation_address": pair_address(row["a"], row["b"])}


def drawing(view: PairView) -> Drawing | None:
    """Both nodes below what they have in common; None if that is too much to draw."""
    if not 1 < len(view.drawn) <= MOST_DRAWN:
        return None
    names = {row["node"]: printable(_name(row)) for row in view.drawn}
    edges = [
        {"parent": names[parent], "child": names[row["node"]], "edges": 1}
        for row in view.drawn
        for parent in row["parents"]
    ]
    graph = Graph(source="parent", target="child", value="edges", most=len(edges))
    return draw(graph, _EDGES, edges, None)


def _name(node: Row) -> str:
    return title_and_code(node["node"], node["title"])


PAGES = {"/pair": show_pair, "/confusions": show_confusions}
