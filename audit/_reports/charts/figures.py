"""The report's figures: drawing, text alternative and table of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit._reports.charts import charts
from audit._reports.charts.evidence import times
from audit._reports.charts.icicle import COLUMNS, icicle, icicle_drawing, size
from audit._reports.charts.pair_figures import frequent_figure, pairs_figure
from audit._reports.charts.palette import SCALE
from audit._reports.charts.parts import dots_spec
from audit._reports.charts.svg import draw
from audit._reports.words.parts import Figure, Key, Node
from audit._reports.words.shown_numbers import Rows, share_or_left
from audit._reports.words.table_specs import nodes, numbers, spans, table, texts, written
from audit._reports.words.words import (
    counted,
    node_label,
    number,
    percent,
)

SHARES = (0.25, 0.5, 0.75)
"""Boundaries between the shades of residual shares."""
LISTED = 60
"""Nodes with the most instances that the table of the hierarchy has, of more that are drawn."""
LEAST_DRAWN, MATRIX = 3, 15
"""Least and largest number of branches in the map."""

_SHADES = (
    " Shades show the residual share below the node: the share of its instances that say no more "
    "than “other” or “unspecified”."
)


def figures(
    overview: Mapping[str, Rows], limit: float | None, unjudged: str = ""
) -> tuple[Figure, ...]:
    """The figures for which the overview has data, in report order: the map of branches first."""
    drawn = (
        branches_figure(overview["branches"][:MATRIX], overview["branch_pairs"], unjudged),
        pairs_figure(overview["pairs"]),
        frequent_figure(overview["frequent_pairs"]),
        hierarchy_figure(overview["tree"]),
        residual_figure(overview["residuals"], limit),
    )
    return tuple(figure for figure in drawn if figure is not None)


def hierarchy_figure(rows: Rows) -> Figure | None:
    """The upper hierarchy, the overview's tree, as an icicle; None with fewer than two nodes."""
    cells = icicle(rows)
    if len(cells) < 2:
        return None
    judged = any(row["residual_share"] is not None for row in rows)
    roles = {
        row["node"]: _shade(row["residual_share"], SHARES) if judged else SCALE[0] for row in rows
    }
    shown = sum(cell.column < COLUMNS for cell in cells)
    high = sum((row["residual_share"] or 0) > SHARES[1] for row in rows)
    deeper = f" {counted(len(cells) - shown, 'deeper node')} are not drawn."
    most = sorted(rows, key=lambda row: -size(row["instances"]))[:LISTED]
    listed = [row for row in rows if row in most]
    return Figure(
        id="hierarchy",
        title="The hierarchy by instances",
        drawing=icicle_drawing(cells, roles),
        alt=f"Icicle of the {shown} nodes with the most instances, from the branches at the left "
        "to their descendants at the right."
        + (f" {high:,} of {len(rows)} have a residual share above 50%." if judged else ""),
        caption="Each bar is a node, to the right of its parent; the taller the bar, the more of "
        "its parent’s instances carry it. Since an instance can carry several nodes, bars side by "
        "side are drawn to the scale of their sum."
        + (_SHADES if judged else "")
        + (deeper if shown < len(cells) else ""),
        key_title="Residual share",
        key=_keys() if judged else (),
        table=table(
            "hierarchy-numbers",
            f"The {counted(len(listed), 'node')} with the most instances",
            listed,
            nodes("Node"),
            numbers("Depth", "depth"),
            numbers("Instances", "instances"),
            numbers("Residual share", "residual_share", percent, absent="–"),
            left_out=len(rows) - len(listed),
        ),
    )


def branches_figure(branches: Rows, pairs: Rows, unjudged: str = "") -> Figure | None:
    """The map of branches: reported pairs between them; None with fewer than three branches."""
    if len(branches) < LEAST_DRAWN:
        return None
    called = {branch["node"]: _node(branch) for branch in branches}
    between = {frozenset((pair["a"], pair["b"])): pair for pair in pairs}
    met = [
        branches[i] if i == j else between.get(_both(branches, i, j))
        for i in range(len(branches))
        for j in range(i + 1)
    ]
    cells = ((str(i + 1), str(j + 1)) for i in range(len(branches)) for j in range(i + 1))
    labels = [
        f"{node_label(branch['node'], branch['title'], 35)} · {place}"
        for place, branch in enumerate(branches, 1)
    ]
    there = [cell for cell in met if cell is not None]
    found = sorted((cell for cell in there if cell["found"]), key=lambda cell: -cell["found"])
    return Figure(
        id="branches",
        title="Which branches go together",
        drawing=draw(
            charts.matrix_spec(
                [
                    {"row": row, "column": column, **_map_cell(cell)}
                    for (row, column), cell in zip(cells, met, strict=True)
                ],
                labels,
            )
        ),
        alt=f"Map of {len(branches)} branches by {len(branches)}. "
        + _map_in_words(called, found, unjudged),
        caption=_MAP
        + (f" No pair was judged: {unjudged}." if unjudged else "" if found else _NOTHING_FOUND),
        key_title="Labels of the two branches on one instance",
        key=tuple(
            Key(role, text)
            for role, text in (*zip(SCALE, _AS_MANY, strict=True), ("scale-none", _NO_RATIO))
        ),
        table=table(
            "branches-numbers",
            "What was found between branches, and within them",
            sorted(there, key=_map_order),
            texts("Branch", lambda cell: called[_ends(cell)[0]]),
            texts("With", lambda cell: _partner(cell, called)),
            numbers("Pairs found", "found"),
            numbers("Instances in excess", "excess"),
            numbers("Label pairs", "label_pairs_ratio", times, absent="–"),
            numbers("Instances", "instances"),
            written("Share of all", share_or_left),
        ),
    )


RATIOS = (0.8, 1.25, 2.0)
"""Boundaries between the shades of the map: ratio of observed to expected label pairs."""
_AS_MANY = (
    "fewer together than expected: below ×0.8",
    "about as many as expected: ×0.8 to ×1.25",
    "more than expected: ×1.25 to ×2",
    "more than twice as many",
)
_NOTHING_FOUND = (
    " Nothing was found: no pair of nodes occurs together more often than the length of the "
    "records and the two branches lead one to expect."
)
_NO_RATIO = "no such pair of labels, too few to say, or withheld"
_MAP = (
    "Each row and each column is a branch, a main part of the hierarchy; columns are numbered as "
    "the rows are. The number in a cell says how many pairs of nodes, one in either branch, occur "
    "together on more instances than chance, the length of the records and the stronger pairs "
    "found before them explain; a cell without a number has none. On the diagonal both nodes are "
    "in the same branch. The shade compares the branches as wholes: how often a label of one "
    "occurs with a label of the other, against how often it would in records of their length. A "
    "strong shade without a number: the two branches go together as wholes, and no two nodes in "
    "them beyond that."
)


def _map_in_words(nodes: Mapping[str, Node], found: Rows, unjudged: str) -> str:
    if unjudged:
        return f"No pair was judged: {unjudged}."
    if not found:
        return "No pair of nodes was found in any of them."
    most = found[0]
    pairs = counted(sum(cell["found"] for cell in found), "pair")
    first, second = _ends(most)
    place = (
        f"within {nodes[first].text}"
        if first == second
        else f"between {nodes[first].text} and {nodes[second].text}"
    )
    where = counted(len(found), "cell")
    return f"{pairs} of nodes were found in {where}; most, {number(most['found'])}, {place}."


def _ends(cell: Mapping[str, Any]) -> tuple[str, str]:
    """Both branches of a cell of the map."""
    return (cell["a"], cell["b"]) if "a" in cell else (cell["node"], cell["node"])


def _map_cell(cell: Mapping[str, Any] | None) -> dict[str, str]:
    times = None if cell is None else cell["label_pairs_ratio"]
    role = "scale-none" if times is None else SCALE[sum(times >= step for step in RATIOS)]
    return {"role": role, "text": number(cell["found"]) if cell and cell["found"] else ""}


def _map_order(cell: Mapping[str, Any]) -> tuple[float, float, tuple[str, str]]:
    """Most pairs first; of equal ones those whose branches go together most."""
    return -cell["found"], -(cell["label_pairs_ratio"] or 0.0), _ends(cell)


def _partner(cell: Mapping[str, Any], called: Mapping[str, Node]) -> Node | str:
    first, second = _ends(cell)
    return "itself" if first == second else called[second]


def residual_figure(rows: Rows, limit: float | None) -> Figure | None:
    """Residual shares, ranked; None if none can be shown."""
    drawn = [row for row in rows if row["shrunk"] is not None]
    drawn.sort(key=lambda row: (-row["shrunk"], row["node"]))
    if not drawn:
        return None
    above = sum(row["shrunk"] > limit for row in drawn) if limit is not None else 0
    judged = f" {above} of {len(drawn)} are above the limit of {percent(limit)}." if limit else ""
    first, last = drawn[0], drawn[-1]
    keys = [Key("observed", "share, with its 95% interval", "dot")]
    if limit is not None:
        keys.append(Key("limit", f"limit of the policy, {percent(limit)}", "line"))
    return Figure(
        id="residuals",
        title="Residual shares",
        drawing=draw(
            dots_spec(
                [
                    {
                        "label": node_label(row["node"], row["title"], 38),
                        "share": row["shrunk"],
                        "low": row["low"],
                        "high": row["high"],
                        "counts": f"{number(row['instances'])} of {number(row['of'])}",
                    }
                    for row in drawn
                ],
                "share",
                limit=limit,
            )
        ),
        alt=f"Ranked dot plot of {counted(len(drawn), 'parent')}: residual shares from "
        f"{percent(first['shrunk'])} below {_node(first).text} down to {percent(last['shrunk'])} "
        f"below {_node(last).text}.{judged}",
        caption="Of the instances with a label below the node, the share whose labels there are "
        "all “other” or “unspecified”, adjusted toward the shares of other nodes where it has "
        "few. The nodes drawn are those with the most such instances.",
        key=tuple(keys),
        table=table(
            "residuals-numbers",
            "Residual shares of the nodes with the most residual instances",
            rows,
            nodes("Node"),
            numbers("Residual", "instances"),
            numbers("Out of", "of"),
            numbers("Share", "share", percent),
            numbers("Adjusted for small numbers", "shrunk", percent),
            spans("95% interval"),
        ),
    )


def _node(row: Mapping[str, Any]) -> Node:
    return Node(row["node"], row["title"] or "")


def _both(branches: Rows, i: int, j: int) -> frozenset[str]:
    return frozenset((branches[i]["node"], branches[j]["node"]))


def _shade(share: float | None, steps: Sequence[float]) -> str:
    return "scale-none" if share is None else SCALE[sum(share > step for step in steps)]


def _keys() -> tuple[Key, ...]:
    names = [f"{step:.0%}" for step in SHARES]
    texts = [f"up to {names[0]}", *map("{} to {}".format, names, names[1:]), f"above {names[-1]}"]
    return (*map(Key, SCALE, texts), Key("scale-none", "no residual share to show"))
