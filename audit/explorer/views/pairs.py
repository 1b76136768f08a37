"""Two nodes beside each other, and branches beside branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from audit.base.node_names import title_and_code
from audit.explorer.pictures import Picture
from audit.explorer.run.vocabulary import NodeView, PairView, Row, Source
from audit.explorer.sheets import Column, Sheet
from audit.explorer.site import Site, address, node_address, pair_address, parameters
from audit.explorer.views import shared_pages
from reports.charts.graph_picture import GraphEdge, draw_graph
from reports.words.words import counted, printable

CARRIERS = (
    Column("a", "Label", "node", title="title_a"),
    Column("b", "With", "node", title="title_b"),
    Column("joint", "Instances with both", "count", beside="expected_length"),
    Column("expected_length", "Expected", "number"),
    Column("ratio", "Times expected", "number"),
)
MATRIX = (
    Column("a", "Node", "node", title="title_a"),
    Column("b", "With", "node", title="title_b"),
    Column("joint", "Instances with both", "count"),
    Column("expected", "Expected if independent", "number"),
    Column("expected_length", "Expected", "number"),
    Column("ratio", "Times expected", "number"),
    Column("lift", "Lift", "number"),
)
RELATED = {
    "ancestor": "are one above the other",
    "sibling": "share a parent",
    "overlap": "share a node below both",
    "same_branch": "are in the same branch",
    "cross_branch": "are in different branches",
}
HEADINGS: Mapping[Source, tuple[str, str]] = {
    "data": ("Labels", "the length of records leads one to expect"),
    "model": ("Predictions", "expected if independent"),
}
MOST_DRAWN = 24
"""Nodes of the picture of a pair at most."""
SHADES = (0.5, 0.9, 1.1, 2.0)
"""Bounds between the shades of ratios."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """What one source says of every two of some nodes, in their order.

    Args:
        of: What it counts, as its heading says.
        expected: What lets expect how often.
        rows: Squares by row; None where a node would meet itself.
        sheet: The same as a table.
    """

    of: str
    expected: str
    rows: Sequence[Sequence[Square | None]]
    sheet: Sheet


@dataclass(frozen=True, slots=True)
class Square:
    """A cell of the matrix of branches: its text, its shade from 0 to 4, and what it says."""

    text: str
    shade: int | None
    in_words: str
    address: str


def routes(site: Site) -> list[Route]:
    """Addresses of this file's pages."""
    return [
        Route("/pair", partial(show_pair, site)),
        Route("/branches", partial(show_branches, site)),
    ]


def show_pair(site: Site, request: Request) -> Response:
    """Two nodes beside each other."""
    asked = parameters(request)
    if not site.run.in_full:
        return site.withheld(request)
    view = site.run.pair(asked.get("a", ""), asked.get("b", ""))
    if view is None:
        return site.missing(
            request, "Two different nodes of the hierarchy are needed to show a pair."
        )
    carriers = site.sheet(
        request,
        "carriers",
        "Pairs of labels that carry it",
        CARRIERS,
        lambda span: span.of(view.carriers.rows),
    )
    if not isinstance(carriers, Sheet):
        return carriers
    drawing = picture(view)
    drawn = drawing and site.picture(request, "pair", drawing)
    if isinstance(drawn, Response):
        return drawn
    findings = {finding["id"]: finding for finding in site.run.findings()}
    return site.page(
        request,
        "pair",
        f"{_name(view.a)} and {_name(view.b)}",
        crumbs=[(_name(node), node_address(node["node"])) for node in (view.a, view.b)],
        view=view,
        relation=RELATED[view.relation],
        picture_of=drawn,
        carriers=carriers,
        findings=[findings[id] for id in view.findings],
    )


def show_branches(site: Site, request: Request) -> Response:
    """The children of a node beside each other."""
    asked = parameters(request)
    if not site.run.in_full:
        return shared_pages.show_branches(site, request)
    node = asked.get("id") or site.run.root
    view = site.run.node(node)
    if view is None:
        return site.missing(request, f"The hierarchy has no node {node}.")
    sources: tuple[Source, ...] = ("data", "model") if site.run.has_model else ("data",)
    pairs = {source: site.run.branches(node, source) for source in sources}
    sheets = {of: _matrix_sheet(site, request, view, of, rows) for of, rows in pairs.items()}
    there = {end for rows in pairs.values() for row in rows for end in (row["a"], row["b"])}
    children = [row for row in view.children if row["node"] in there]
    matrices = list[Matrix]()
    for of, sheet in sheets.items():
        if not isinstance(sheet, Sheet):
            return sheet
        matrices.append(Matrix(*HEADINGS[of], squares(children, pairs[of]), sheet))
    return site.page(
        request,
        "branches",
        f"Branches below {_name(view.node)}",
        crumbs=[
            *((_name(row), address("/branches", id=row["node"])) for row in view.paths),
        ],
        view=view,
        children=children,
        matrices=matrices,
        unused=len(view.children) - len(children),
    )


def _matrix_sheet(
    site: Site, request: Request, view: NodeView, source: Source, pairs: Sequence[Row]
) -> Sheet | Response:
    """The numbers of the matrix, a row for every two nodes that occur together."""
    titles = {row["node"]: row["title"] for row in view.children}
    rows = [{**row, "title_a": titles[row["a"]], "title_b": titles[row["b"]]} for row in pairs]
    return site.sheet(
        request, f"{source}-branches", "Two nodes together", MATRIX, lambda span: span.of(rows)
    )


def squares(children: Sequence[Row], pairs: Sequence[Row]) -> list[list[Square | None]]:
    """A row of squares for each child; None where it would meet itself."""
    known = {frozenset((row["a"], row["b"])): row for row in pairs}
    return [
        [
            None if one is other else _square(one, other, known.get(frozenset(_ids(one, other))))
            for other in children
        ]
        for one in children
    ]


def _ids(one: Row, other: Row) -> tuple[str, str]:
    return one["node"], other["node"]


def _square(one: Row, other: Row, row: Mapping[str, float] | None) -> Square:
    names = f"{_name(one)} and {_name(other)}"
    to = pair_address(*_ids(one, other))
    if row is None:
        return Square("–", None, f"{names}: never together", to)
    ratio = row["ratio"] if row["ratio"] is not None else row["lift"]
    called = "times expected" if row["ratio"] is not None else "times as often as if independent"
    shade = sum(ratio >= bound for bound in SHADES)
    text = f"{names}: {counted(int(row['joint']), 'instance')} with both, {ratio:.2f} {called}"
    return Square(f"{ratio:.2f}", shade, text, to)


def picture(view: PairView) -> Picture | None:
    """Both nodes below what they have in common; None if that is too much to draw."""
    if not 1 < len(view.drawn) <= MOST_DRAWN:
        return None
    places = {row["node"]: at for at, row in enumerate(view.drawn)}
    edges = [
        GraphEdge(places[parent], places[row["node"]], "valid")
        for row in view.drawn
        for parent in row["parents"]
    ]
    return Picture(
        title=f"{_name(view.a)} and {_name(view.b)} in the hierarchy",
        in_words="Both nodes, what they have in common and all nodes in between; arrows lead from "
        "a "
        "node to its children.",
        drawing=draw_graph([printable(_name(row)) for row in view.drawn], edges),
    )


def _name(node: Row) -> str:
    return title_and_code(node["node"], node["title"])
