"""The report's figures: drawing, text alternative and table of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit._reports.charts.icicle import COLUMNS, icicle, icicle_drawing
from audit._reports.charts.pair_figures import frequent_figure, pairs_figure
from audit._reports.charts.palette import SCALE
from audit._reports.charts.parts import dots_spec
from audit._reports.charts.svg import draw
from audit._reports.words.parts import Figure, Key, Node
from audit._reports.words.shown_numbers import Rows
from audit._reports.words.table_specs import nodes, numbers, spans, table
from audit._reports.words.words import counted, node_label, number, percent

SHARES = (0.25, 0.5, 0.75)
"""Boundaries between the shades of residual shares."""
LISTED = 60
"""Nodes with the most instances that the table of the hierarchy has, of more that are drawn."""

_SHADES = (
    " Shades show the residual share below the node: the share of its instances that say no more "
    "than “other” or “unspecified”."
)


def figures(overview: Mapping[str, Rows], limit: float | None) -> tuple[Figure, ...]:
    """The figures for which the overview has data, in report order."""
    drawn = (
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
    most = sorted(rows, key=lambda row: -row["instances"])[:LISTED]
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
            numbers("Residual share", "residual_share", percent),
            left_out=len(rows) - len(listed),
        ),
    )


def residual_figure(rows: Rows, limit: float | None) -> Figure | None:
    """Residual shares, ranked; None if none can be shown."""
    drawn = [row for row in rows if row["share"] is not None]
    drawn.sort(key=lambda row: (-row["share"], row["node"]))
    if not drawn:
        return None
    above = sum(row["share"] > limit for row in drawn) if limit is not None else 0
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
                        "share": row["share"],
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
        f"{percent(first['share'])} below {_node(first).text} down to {percent(last['share'])} "
        f"below {_node(last).text}.{judged}",
        caption="Of the instances with a label below the node, the share whose labels there are "
        "all “other” or “unspecified”. The nodes drawn are those with the most such instances.",
        key=tuple(keys),
        table=table(
            "residuals-numbers",
            "Residual shares of the nodes with the most residual instances",
            rows,
            nodes("Node"),
            numbers("Residual", "instances"),
            numbers("Out of", "of"),
            numbers("Share", "share", percent),
            spans("95% interval"),
        ),
    )


def _node(row: Mapping[str, Any]) -> Node:
    return Node(row["node"], row["title"] or "")


def _shade(share: float | None, steps: Sequence[float]) -> str:
    return "scale-none" if share is None else SCALE[sum(share > step for step in steps)]


def _keys() -> tuple[Key, ...]:
    names = [f"{step:.0%}" for step in SHARES]
    texts = [f"up to {names[0]}", *map("{} to {}".format, names, names[1:]), f"above {names[-1]}"]
    return (*map(Key, SCALE, texts), Key("scale-none", "no residual share to show"))
