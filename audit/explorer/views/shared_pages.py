"""Nodes and branches as they may be shared: every number is in ``result.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from audit._reports.words.parts import Figure
from audit._reports.words.words import RELATION, words
from audit.explorer.chapter_files import with_files
from audit.explorer.links import node_address
from audit.explorer.run.paged_tables import Row
from audit.explorer.sheets import Column
from audit.explorer.site import NotThereError, Site, parameters
from audit.results.shared_tables import SharedNode, shared_node

NODES = (
    Column("node", "Node", "node"),
    Column("depth", "Depth", "count"),
    Column("instances", "Instances", "count"),
    Column("residual_share", "Residual share below it", "share"),
)
BETWEEN = (
    Column("found", "Pairs of nodes found", "count"),
    Column("excess", "Instances in excess", "count"),
    Column("label_pairs_ratio", "Label pairs, times expected", "count"),
)
BRANCHES = (
    Column("node", "Branch", "node"),
    Column("instances", "Instances", "count"),
    Column("share", "Share of all", "share"),
    *BETWEEN,
)
TWO_BRANCHES = (
    Column("a", "Branch", "node", title="title_a"),
    Column("b", "With", "node", title="title_b"),
    Column("instances", "Instances with both", "count"),
    Column("share", "Share of all", "share"),
    Column("expected", "Expected if independent", "number"),
    Column("lift", "Lift", "number"),
    *BETWEEN,
)
PAIRS = (
    Column("node", "Together with", "node"),
    Column("relation", "Relation"),
    Column("instances", "Instances with both", "count"),
    Column("share", "Share of all", "share"),
    Column("expected_length", "Expected", "number"),
    Column("shrunk_ratio", "Times expected, cautiously", "number"),
    Column("expected", "Expected if independent", "number"),
    Column("lift", "Lift", "number"),
)
PREDICTED = (
    Column("node", "Together with", "node"),
    Column("relation", "Relation"),
    Column("joint", "Labelled with both", "count"),
    Column("rate", "Share of all", "share"),
    Column("co_predicted", "Predicted with both", "count"),
    Column("co_predicted_rate", "Share of all", "share"),
    Column("confusion", "Concept confusion", "number"),
)


def show_hierarchy(site: Site, request: Request) -> Response:
    """The upper hierarchy, and all nodes that the shared view speaks of."""
    caption, rows = "Nodes in the audit's findings and numbers", [*site.run.spoken_of.values()]
    return site.page(
        request,
        "shared_hierarchy",
        "Hierarchy",
        sheets=[site.sheet(request, "told", caption, NODES, rows)],
        figures=_figures(site, request, "hierarchy"),
    )


def show_branches(site: Site, request: Request) -> Response:
    """The map of branches, and what was found in and between them."""
    overview, title = site.run.shared["overview"], site.run.title
    pairs = [
        {**row, "title_a": title(row["a"]), "title_b": title(row["b"])}
        for row in overview["branch_pairs"]
    ]
    sheets = [
        site.sheet(request, "branches", "Each branch", BRANCHES, overview["branches"]),
        site.sheet(request, "branch-pairs", "Two branches together", TWO_BRANCHES, pairs),
    ]
    figures = _figures(site, request, "branches")
    return site.page(request, "shared_branches", "Branches", sheets=sheets, figures=figures)


def show_node(site: Site, request: Request) -> Response:
    """A node in its place, with what may be shared about it."""
    wanted = parameters(request).get("id", "")
    view = shared_node(site.run.shared, wanted)
    if view is None:
        raise NotThereError(f"What may be shared of this run says nothing about {wanted}.")
    parts: Mapping[str, tuple[str, tuple[Column, ...], Sequence[Row]]] = {
        "below": ("Children, in the picture of the hierarchy", NODES, view.below),
        "pairs": ("Pairs with it", PAIRS, [_related(row) for row in view.pairs]),
        "model": ("Pairs beside the model", PREDICTED, [_related(r) for r in view.beside_model]),
    }
    sheets = [
        site.sheet(request, id, caption, columns, rows)
        for id, (caption, columns, rows) in parts.items()
        if rows
    ]
    return site.page(
        request,
        "shared_node",
        view.title or view.node,
        crumbs=[
            ("Hierarchy", "/hierarchy"),
            *((row["title"] or row["node"], node_address(row["node"])) for row in view.above),
        ],
        view=view,
        instances=_instances(view),
        sheets=sheets,
        findings=[one for one in site.run.findings if wanted in _nodes_named(one)],
        measures=[(words(row["name"]), row) for row in view.metrics],
    )


def _figures(site: Site, request: Request, wanted: str) -> tuple[Figure, ...]:
    """The figure of the report of a name, if it has it."""
    figures = tuple(figure for figure in site.report.figures if figure.id == wanted)
    return with_files(site, request, figures)


def _instances(view: SharedNode) -> Any:
    """How many instances carry the node, as the shared view has it; None if it does not."""
    row = view.picture or view.branch
    return None if row is None else row["instances"]


def _related(row: Row) -> Row:
    """A pair with its relation in words; branches have no numbers beyond independence."""
    judged = dict.fromkeys(("expected_length", "shrunk_ratio"))
    return {**judged, **row, "relation": RELATION[row["relation"]]}


def _nodes_named(finding: Row) -> set[str]:
    """Nodes that a finding or a part of it names."""
    return {node["id"] for one in (finding, *finding["parts"]) for node in one["nodes"]}
