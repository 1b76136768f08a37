"""The hierarchy as an indented tree, one level at a time, and the model's numbers by node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias
from urllib.parse import quote, unquote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from audit.base.figures import Icicle
from audit.explorer.links import address
from audit.explorer.run.node_places import NodePlaces, NodeView
from audit.explorer.run.paged_tables import Row
from audit.explorer.sheets import Column, Sheet
from audit.explorer.site import NotThereError, Site, parameters
from audit.explorer.views.findings import sheet_of
from audit.results.findings import EXCHANGES
from audit.results.order import TEN
from audit.results.tables import TREE
from reports.core import level, model_lines
from reports.figures import Drawing, draw
from reports.words import METRICS as TITLES
from reports.words import name as in_words
from reports.words import printable

Way: TypeAlias = tuple[str, ...]
"""Ids from below the top of a tree down to a node, which may be reached on several ways."""
MOST_BELOW, MOST_LINES = 24, 600
"""Nodes drawn below one, and lines of a tree, at most."""


@dataclass(frozen=True, slots=True)
class Twig:
    """A line of the tree.

    Args:
        way: How it is reached; its last id is the node.
        toggle: Address of the page where it is opened, or closed; empty if nothing is below it.
        opens: Whether the nodes below it follow.
        closes: How many levels end behind it.
    """

    way: Way
    row: Row | None = None
    toggle: str = ""
    opened: bool = False
    opens: bool = False
    closes: int = 0
    more: int = 0

    @property
    def anchor(self) -> str:
        """Its name on the page."""
        return f"at-{_in_address(self.way)}"


def open_ways(asked: Iterable[str]) -> frozenset[Way]:
    """The ways to open nodes that an address states; all nodes on a way are open."""
    ways = (tuple(unquote(id) for id in text.split("/")) for text in asked)
    return frozenset(way[:end] for way in ways for end in range(1, len(way) + 1))


def stated(ways: Iterable[Way]) -> list[str]:
    """What an address states of open nodes: each way that leads on to no other."""
    known = sorted(ways)
    passed = {way[:-1] for way in known}
    return [_in_address(way) for way in known if way not in passed]


def toggled(ways: frozenset[Way], way: Way) -> frozenset[Way]:
    """The same with one node opened; or closed, with all below it."""
    if way in ways:
        return frozenset(one for one in ways if one[: len(way)] != way)
    return ways | {way}


def tree(
    top: str, asked: Iterable[str], children: Callable[[str], Sequence[Row]]
) -> tuple[list[Twig], bool]:
    """The lines of the tree below a node, and whether it was cut for its length."""
    wanted, there = open_ways(asked), set[Way]()
    lines = list[Twig]()
    waiting: list[Twig] = _below((), children(top))[::-1]
    while waiting and len(lines) < MOST_LINES:
        twig = waiting.pop()
        if twig.row and twig.row["below"] and twig.way in wanted:
            there.add(twig.way)
            twig = replace(twig, opened=True)
            waiting += _below(twig.way, children(twig.way[-1]))[::-1]
        lines.append(twig)
    levels = [*(len(line.way) for line in lines), 1]
    ways = frozenset(there)
    return [
        replace(
            line,
            toggle=_toggle(top, line, ways),
            opens=after > level,
            closes=max(level - after, 0),
        )
        for line, (level, after) in zip(lines, pairwise(levels), strict=True)
    ], bool(waiting)


def _below(way: Way, rows: Sequence[Row]) -> list[Twig]:
    twigs = [Twig((*way, row["node"]), row) for row in rows[:MOST_BELOW]]
    more = len(rows) - MOST_BELOW
    return twigs if more <= 0 else [*twigs, Twig((*way, ""), more=more)]


def _toggle(top: str, line: Twig, ways: frozenset[Way]) -> str:
    if line.row is None or not line.row["below"]:
        return ""
    asked = {"id": top, "open": stated(toggled(ways, line.way))}
    return f"/hierarchy?{urlencode(asked, doseq=True, safe='/')}#{quote(line.anchor)}"


def _in_address(way: Way) -> str:
    return "/".join(quote(id, safe="") for id in way)


LEVEL = (
    Column("node", "Node", "level"),
    Column("support", "Instances", "count", beside="support"),
    Column("direct", "Used directly", "count"),
    Column("below", "Children", "count"),
    Column("parents", "Parents", "count"),
)
METRICS = (
    Column("metric", "Metric"),
    Column("scope", "Of", "node"),
    Column("value", "Value", "number"),
    Column("low", "From", "number"),
    Column("high", "To", "number"),
    Column("n", "Instances", "count"),
    Column("parameters", "Settings"),
)
_EXCHANGED = (
    Column("a", "Label", "node", title="title_a"),
    Column("b", "Label", "node", title="title_b"),
    Column("counted", "Confused", "count", beside="expected"),
    Column("expected", "Expected", "number"),
)
_ANSWERS = (
    Column("node", "Label", "node"),
    Column("falsely", "Falsely given", "count"),
    Column("missed", "Missed", "count"),
    Column("labelled", "Labelled", "count"),
    Column("most", "Mostly in place of"),
)
_SUSPECTS = (
    Column("instance", "Instance"),
    Column("node", "Label", "node"),
    Column("other", "Scores are for", "node", title="title_other"),
    Column("kind", "Kind"),
    Column("margin", "Margin", "number"),
)
EXCHANGED = (
    ("answers", "Answers given too often", _ANSWERS),
    ("exchanged_pairs", "Confusions in both directions", _EXCHANGED),
    ("exchanged_in_line", "Confusions with a label above or below", _EXCHANGED),
    ("suspects", "Labels that scores contradict", _SUSPECTS),
)
"""Tables of a model's confusions: their names in the view, what they are, and their columns."""
BRANCH = Icicle(node="node", parent="parent", value="instances", levels=2)
MOST_BARS, MOST_PARTS = 24, 8
"""Nodes of the level below, and nodes below each of them, that are drawn at most."""


def show(site: Site, request: Request) -> Response:
    """One level of the hierarchy."""
    places = site.run.places
    node = parameters(request).get("id") or site.run.root
    view = places.view(node)
    if view is None:
        raise NotThereError(f"The hierarchy has no node {node}.")
    children = [row for row in view.children if row["support"] or row["direct"]]
    sheet = site.sheet(
        request,
        "level",
        "Children, the most frequent first",
        LEVEL,
        view.children,
    )
    lines, cut = tree(node, request.query_params.getlist("open"), places.children)
    return site.page(
        request,
        "hierarchy",
        view.node["title"] or node,
        crumbs=[
            (row["title"] or row["node"], address("/hierarchy", id=row["node"]))
            for row in view.paths
        ],
        view=view,
        sheet=sheet,
        drawn=_drawn(places, view),
        lines=lines,
        cut=cut,
        used=len(children),
    )


def model(site: Site, request: Request) -> Response:
    """The metrics of the model, and what it confuses."""
    asked = parameters(request)
    every = site.run.metrics()
    names = sorted({row["name"] for row in every})

    def wanted(row: Row) -> bool:
        of = asked.get("scope") != "all" or row["scope"] == "all"
        return of and asked.get("name", "") in ("", row["name"])

    sheet = _metrics(site, request, [row for row in every if wanted(row)])
    found = [one for one in site.run.findings if one["check"] == EXCHANGES]
    open_ = [one for one in found if not one["folded"] and not one["waiver"]]
    overview = site.run.view["overview"]
    return site.page(
        request,
        "model",
        "Model",
        sheet=sheet,
        lines=model_lines(site.printable),
        names={name: TITLES.get(name, in_words(name)) for name in names},
        asked=asked,
        confused=sheet_of(site, request, open_[:TEN], EXCHANGES) if open_ else None,
        exchanged=[
            site.sheet(request, name, caption, columns, overview[name])
            for name, caption, columns in EXCHANGED
            if overview[name]
        ],
        behaviours=overview["behaviours"] or (),
    )


_LESS_IS_BETTER = ("lost", "mistake_severity", "uncertainty_alignment")


def _badness(row: Row) -> tuple[bool, str, bool, float]:
    """Of all instances first, in the order that they have; then each metric's worst nodes."""
    if row["scope"] == "all":
        return False, "", False, 0.0
    value = row["value"] or 0.0
    worse = -value if row["name"] in _LESS_IS_BETTER else value
    return True, row["name"], row["value"] is None, worse


def _metrics(site: Site, request: Request, rows: Sequence[Row]) -> Sheet:
    shown = [
        {
            **row,
            "metric": TITLES.get(row["name"], in_words(row["name"])),
            "parameters": level(row["parameters"]),
        }
        for row in sorted(rows, key=_badness)
    ]
    return site.sheet(request, "metrics", "Metrics of the model", METRICS, shown)


def _drawn(places: NodePlaces, view: NodeView) -> Drawing | None:
    """The most frequent nodes of the two levels below a node; None if none is in use."""
    rows = [_bar(view.node, None)]
    for child in view.children[:MOST_BARS]:
        rows.append(_bar(child, view.node["node"]))
        parts = places.children(child["node"]) if child["below"] and child["support"] else ()
        rows += [_bar(part, child["node"]) for part in parts[:MOST_PARTS]]
    used = {row["node"]: row for row in reversed(rows) if row["instances"]}
    return draw(BRANCH, TREE.columns, [*used.values()], None) if len(used) > 1 else None


def _bar(row: Row, parent: str | None) -> dict[str, Any]:
    named = {"node": printable(row["node"]), "title": printable(row["title"])}
    return {**named, "parent": parent and printable(parent), "instances": row["support"]}


PAGES = {"/hierarchy": show, "/model": model}
