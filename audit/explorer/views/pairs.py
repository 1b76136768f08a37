"""Two nodes beside each other, and branches beside branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from audit._reports.charts.graph_picture import GraphEdge, draw_graph
from audit._reports.words.words import RELATION, counted, percent, printable
from audit.base.plurals import title_and_code
from audit.explorer.links import address, node_address, pair_address
from audit.explorer.pictures import Picture
from audit.explorer.run.node_places import NodeView
from audit.explorer.run.paged_tables import Row, Source
from audit.explorer.run.pair_rows import APART, PairView
from audit.explorer.sheets import Column, Sheet
from audit.explorer.site import WITHHELD, NotThereError, Site, parameters
from audit.explorer.views import shared_pages

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
HEADINGS: Mapping[Source, str] = {"data": "Labels", "model": "Predictions"}
SHARE, _MULTIPLE = "share", "how often two nodes occur together, as a multiple of what"
MEASURES = {
    "ratio": f"{_MULTIPLE} the length of records leads one to expect",
    "lift": f"{_MULTIPLE} is expected if the two are independent",
    SHARE: "share of all instances with both; colours compare it with what is expected",
}
"""What the numbers of the matrix are; of predictions the length is not known."""
MOST_DRAWN = 24
"""Nodes of the picture of a pair at most."""
SHADES = (1 / 2, 1 / 1.1, 1.1, 2)
"""Bounds between the shades of ratios: the middle is 1, and a factor counts alike both ways."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """What one source says of every two of some nodes; None where a node would meet itself."""

    of: str
    measure: str
    rows: Sequence[Sequence[Square | None]]
    sheet: Sheet


@dataclass(frozen=True, slots=True)
class Square:
    """A cell of the matrix of branches: its text, its shade from 0 to 4, and what it says."""

    text: str
    shade: int | None
    in_words: str
    address: str


def show_pair(site: Site, request: Request) -> Response:
    """Two nodes beside each other."""
    asked = parameters(request)
    if site.run.restricted is None:
        raise NotThereError(WITHHELD)
    view = site.run.restricted.pairs.view(asked.get("a", ""), asked.get("b", ""))
    if view is None:
        raise NotThereError("Two different nodes of the hierarchy are needed to show a pair.")
    carriers = site.sheet(
        request,
        "carriers",
        "Pairs of labels that carry it",
        CARRIERS,
        view.carriers,
    )
    drawing = picture(view)
    return site.page(
        request,
        "pair",
        f"{_name(view.a)} and {_name(view.b)}",
        crumbs=[(_name(node), node_address(node["node"])) for node in (view.a, view.b)],
        view=view,
        relation=RELATED[view.relation],
        picture_of=drawing and site.picture(request, "pair", drawing),
        carriers=carriers,
        findings=site.run.findings_on(view.a["node"], view.b["node"]),
    )


def show_confusions(site: Site, request: Request) -> Response:
    """Pairs of nodes by how far the model confuses them."""
    asked, full = parameters(request), site.run.restricted
    if full is None or not site.run.has_model:
        raise NotThereError(WITHHELD if full is None else "The run has no model.")
    relation, depth, below = (asked.get(name, "") for name in ("relation", "depth", "below"))
    if below and not site.run.has_node(below):
        raise NotThereError(f"The hierarchy has no node {below}.")
    relation = relation if relation in RELATIONS else APART
    found = full.pairs.confused("" if relation == ALL else relation, depth, below)
    return site.page(
        request,
        "confusions",
        "Concepts confused",
        crumbs=[("Model", "/model")],
        sheet=site.sheet(
            request, "confusions", "Most confused first", CONFUSIONS, list(map(_confused, found))
        ),
        relations=RELATIONS,
        depths=sorted(set(full.result.nodes["depth"])),
        asked={**asked, "relation": relation},
    )


def _confused(row: Row) -> Row:
    """A pair of the ranking, with the page on which its instances can be asked for."""
    related = RELATION[row["relation"]]
    return {**row, "relation": related, "relation_address": pair_address(row["a"], row["b"])}


def show_branches(site: Site, request: Request) -> Response:
    """The children of a node beside each other."""
    full = site.run.restricted
    if full is None:
        return shared_pages.show_branches(site, request)
    node = parameters(request).get("id") or site.run.root
    by = "lift" if site.run.has_model else "ratio"
    share = parameters(request).get("measure") == SHARE
    read = site.run.shared["ledger"]
    instances = {
        "data": read["instances"],
        "model": (read["predictions"] or {}).get("instances_matched"),
    }
    view = full.places.view(node)
    if view is None:
        raise NotThereError(f"The hierarchy has no node {node}.")
    sources: tuple[Source, ...] = ("data", "model") if site.run.has_model else ("data",)
    pairs = {source: full.pairs.below(node, source) for source in sources}
    sheets = {of: _matrix_sheet(site, request, view, of, rows) for of, rows in pairs.items()}
    there = {end for rows in pairs.values() for row in rows for end in (row["a"], row["b"])}
    children = [row for row in view.children if row["node"] in there]
    return site.page(
        request,
        "branches",
        f"Branches below {_name(view.node)}",
        crumbs=[(_name(row), address("/branches", id=row["node"])) for row in view.paths],
        view=view,
        children=children,
        matrices=[
            Matrix(
                HEADINGS[of],
                MEASURES[SHARE if share else by],
                squares(children, pairs[of], by, instances[of] if share else None),
                sheet,
            )
            for of, sheet in sheets.items()
        ],
        unused=len(view.children) - len(children),
        other=address("/branches", id=node, measure="" if share else SHARE),
        share=share,
    )


def _matrix_sheet(
    site: Site, request: Request, view: NodeView, source: Source, pairs: Sequence[Row]
) -> Sheet:
    """The numbers of the matrix, a row for every two nodes that occur together."""
    titles = {row["node"]: row["title"] for row in view.children}
    rows = [{**row, "title_a": titles[row["a"]], "title_b": titles[row["b"]]} for row in pairs]
    return site.sheet(request, f"{source}-branches", "Two nodes together", MATRIX, rows)


def squares(
    children: Sequence[Row], pairs: Sequence[Row], by: str, n: int | None = None
) -> list[list[Square | None]]:
    """A row of squares for each child, shaded by a measure; None where it would meet itself.

    The numbers are shares of ``n`` instances, where that is given.
    """
    known = {frozenset((row["a"], row["b"])): row for row in pairs}
    return [
        [
            None
            if one is other
            else _square(one, other, known.get(frozenset(_ids(one, other))), by, n)
            for other in children
        ]
        for one in children
    ]


def _ids(one: Row, other: Row) -> tuple[str, str]:
    return one["node"], other["node"]


def _square(
    one: Row, other: Row, row: Mapping[str, float] | None, by: str, n: int | None
) -> Square:
    names = f"{_name(one)} and {_name(other)}"
    to = pair_address(*_ids(one, other))
    if row is None:
        return Square("–", None, f"{names}: never together", to)
    by = by if row[by] is not None else "lift"
    ratio = row[by]
    called = "times expected" if by == "ratio" else "times as often as if independent"
    shade = sum(ratio >= bound for bound in SHADES)
    text = f"{names}: {counted(int(row['joint']), 'instance')} with both, {ratio:.2f} {called}"
    return Square(percent(row["joint"] / n) if n else f"{ratio:.2f}", shade, text, to)


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


PAGES = {"/pair": show_pair, "/confusions": show_confusions, "/branches": show_branches}
