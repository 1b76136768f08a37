"""The report's pictures: what each draws, says and is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports import charts
from reports.icicle import COLUMNS, icicle, size
from reports.labels import node_label, pair_label
from reports.palette import SCALE
from reports.parts import Figure, Key, Node, Table, column
from reports.svg import draw
from reports.words import counted, decimal, number, percent, span

Rows = Sequence[Mapping[str, Any]]

SHARES = (0.25, 0.5, 0.75)
"""Where the shades of a residual share change."""
JOINT_SHARES = (0.01, 0.05, 0.2)
"""Where the shades of the share that carries two branches change."""
MATRIX = 15
"""Branches in the matrix at most."""

_SHADES = (
    " Shades show the residual share below the node: the share of its instances that say no more "
    "than “other” or “unspecified”."
)


def figures(overview: Mapping[str, Rows], limit: float | None) -> tuple[Figure, ...]:
    """The pictures that the overview has numbers for, in report order.

    Args:
        overview: The shared view's overview.
        limit: The policy's limit on residual shares.
    """
    drawn = (
        hierarchy_figure(overview["tree"]),
        branches_figure(overview["branches"][:MATRIX], overview["branch_pairs"]),
        residual_figure(overview["residuals"], limit),
        pairs_figure(overview["pairs"]),
    )
    return tuple(figure for figure in drawn if figure is not None)


def hierarchy_figure(rows: Rows) -> Figure | None:
    """The upper hierarchy as an icicle; None with fewer than two nodes."""
    cells = icicle(rows)
    if len(cells) < 2:
        return None
    judged = any(row["residual_share"] is not None for row in rows)
    roles = {
        row["node"]: _shade(row["residual_share"], SHARES) if judged else SCALE[0] for row in rows
    }
    shown = sum(cell.column < COLUMNS for cell in cells)
    high = sum((row["residual_share"] or 0) > SHARES[1] for row in rows)
    deeper = f" {counted(len(cells) - shown, 'deeper node')} stand in the table alone."
    return Figure(
        id="hierarchy",
        title="The hierarchy by instances",
        drawing=draw(charts.icicle_spec(cells, roles)),
        alt=f"Icicle of the {shown} nodes with the most instances, from the branches at the left "
        "to their descendants at the right."
        + (f" {high:,} of {len(rows)} have a residual share above 50%." if judged else ""),
        caption="Each bar is a node, to the right of its parent; the taller the bar, the more of "
        "its parent’s instances carry it. Since an instance can carry several nodes, bars beside "
        "each other are drawn to the scale of their sum."
        + (_SHADES if judged else "")
        + (deeper if shown < len(cells) else ""),
        key_title="Residual share",
        key=_keys(SHARES, "no residual share to show") if judged else (),
        table=Table(
            id="hierarchy-numbers",
            caption="Nodes with the most instances",
            columns=column("Node", "Depth", "Instances", "Residual share", numeric=" nnn"),
            rows=tuple(
                (
                    _node(row),
                    number(row["depth"]),
                    number(row["instances"]),
                    "–" if row["residual_share"] is None else percent(row["residual_share"]),
                )
                for row in rows
            ),
        ),
    )


def branches_figure(branches: Rows, pairs: Rows) -> Figure | None:
    """Branches against branches; None with fewer than two."""
    if len(branches) < 2:
        return None
    nodes = {branch["node"]: _node(branch) for branch in branches}
    joint = {frozenset((pair["a"], pair["b"])): pair for pair in pairs}
    rows = [
        _matrix_row(i, j, branches[i] if i == j else joint.get(_both(branches, i, j)))
        for i in range(len(branches))
        for j in range(i + 1)
    ]
    labels = [
        f"{node_label(branch['node'], branch['title'], 37)} · {place}"
        for place, branch in enumerate(branches, 1)
    ]
    together = [pair for pair in pairs if pair["share"] is not None]
    most = max(together, key=lambda pair: pair["share"], default=None)
    return Figure(
        id="branches",
        title="Branches on the same instance",
        drawing=draw(charts.matrix_spec(rows, labels)),
        alt=f"Matrix of {len(branches)} branches by {len(branches)}."
        + (
            f" Most often together: {nodes[most['a']].text} and {nodes[most['b']].text}, on "
            f"{percent(most['share'])} of the instances."
            if most
            else " No two of them share a shown number of instances."
        ),
        caption="Percent of all instances that carry both branches; on the diagonal, percent that "
        "carry the branch at all. Columns are numbered as the rows are.",
        key_title="Share of all instances",
        key=_keys(JOINT_SHARES, "none, or withheld"),
        table=Table(
            id="branches-numbers",
            caption="Instances that carry two branches",
            columns=column(
                "Branch",
                "With",
                "Instances",
                "Share of all",
                "Expected",
                "Lift",
                numeric="  nnnn",
            ),
            rows=tuple((nodes[p["a"]], nodes[p["b"]], *_pair_numbers(p)) for p in pairs)
            or (("None", "–", "0", "0.0%", "–", "–"),),
        ),
    )


def residual_figure(rows: Rows, limit: float | None) -> Figure | None:
    """Residual shares, ranked; None where none can be shown."""
    drawn = [row for row in rows if row["share"] is not None]
    drawn.sort(key=lambda row: (-row["share"], row["node"]))
    if not drawn:
        return None
    above = sum(row["share"] > limit for row in drawn) if limit is not None else 0
    judged = f" {above} of {len(drawn)} lie above the limit of {percent(limit)}." if limit else ""
    first, last = drawn[0], drawn[-1]
    keys = [Key("observed", "share, with its 95% interval", "dot")]
    if limit is not None:
        keys.append(Key("limit", f"limit of the policy, {percent(limit)}", "line"))
    return Figure(
        id="residuals",
        title="Residual shares",
        drawing=draw(
            charts.residual_spec(
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
                limit,
            )
        ),
        alt=f"Ranked dot plot of {counted(len(drawn), 'parent')}: residual shares from "
        f"{percent(first['share'])} ({first['node']}) down to {percent(last['share'])} "
        f"({last['node']}).{judged}",
        caption="Of the instances with a label below the node, the share whose labels there are "
        "all “other” or “unspecified”. The nodes drawn are those with the most such instances.",
        key_title="Each line",
        key=tuple(keys),
        table=Table(
            id="residuals-numbers",
            caption="Residual shares of the nodes with the most residual instances",
            columns=column("Node", "Residual", "Out of", "Share", "95% interval", numeric=" nnnn"),
            rows=tuple(
                (
                    _node(row),
                    number(row["instances"]),
                    number(row["of"]),
                    percent(row["share"]),
                    span(percent(row["low"]), percent(row["high"])),
                )
                for row in rows
            ),
        ),
    )


def pairs_figure(rows: Rows) -> Figure | None:
    """The most frequent pairs beside their fair expectation; None without any.

    Where no pair has one, the expectation is that of independent nodes.
    """
    if not rows:
        return None
    fair = any(row["expected_given"] is not None for row in rows)
    expected = "expected_given" if fair else "expected"
    first = rows[0]
    compared = [row for row in rows if row[expected] is not None]
    above = sum(_judged(row, expected) > row[expected] for row in compared)
    drawn = sorted(rows, key=lambda row: -_judged(row, expected))
    keys = [
        Key("observed", "instances with both nodes", "dot"),
        Key("expected", _EXPECTED[fair][0], "ring"),
    ]
    if any(row["ratio_low"] is not None for row in rows):
        keys.insert(1, Key("observed", "interval of the excess, where it is a finding", "bar"))
    return Figure(
        id="pairs",
        title="The most frequent pairs",
        drawing=draw(charts.pairs_spec([_pair_drawn(row, expected) for row in drawn])),
        alt=f"Ranked dot plot of the {len(rows)} most frequent pairs of labelled nodes. The first, "
        f"{first['a']} and {first['b']}, stands on {number(first['instances'])} instances; "
        f"{above} of {len(compared)} are more frequent than expected.",
        caption=_EXPECTED[fair][1],
        key_title="Each line",
        key=tuple(keys),
        table=Table(
            id="pairs-numbers",
            caption="The most frequent pairs",
            columns=column(
                "First node", "Second node", "Instances", "Share of all", "If independent", "Lift",
                "Expected", "Ratio and interval",
                numeric="  nnnnnn",
            ),
            rows=tuple(
                (
                    _node(row, "a", "title_a"),
                    _node(row, "b", "title_b"),
                    *_pair_numbers(row),
                    "–" if row["expected_given"] is None else decimal(row["expected_given"], 1),
                    _ratio(row) or "–",
                )
                for row in rows
            ),
        ),
    )  # fmt: skip


_EXPECTED = {
    True: (
        "expected, given what the records share",
        "Instances with both nodes, beside the number expected given what the records share: the "
        "nodes’ parents, or, for nodes with a common parent, the number of labels. At the right, "
        "how many times the expectation; where the excess is a finding, with its interval, which "
        "the bar shows in instances: the expectation times either bound. Of a pair that one label "
        "can carry alone, instances with two labels are drawn, as the expectation is of them. A "
        "pair without a ring was not judged, or is withheld.",
    ),
    False: (
        "expected under independence",
        "Instances with both nodes, beside the number expected if the two were independent. No "
        "fairer expectation could be taken. Long records carry more of everything, which inflates "
        "lift for every pair: a lift above 1 alone is no finding.",
    ),
}
"""Whether the expectation is fair: what it is called, and the caption."""


def _judged(row: Mapping[str, Any], expected: str) -> int:
    """Instances that the expectation is of: those with two labels, where it is the fair one."""
    if expected == "expected" or row["ratio"] is None:
        return size(row["instances"])
    return round(float(row["ratio"] * row["expected_given"]))


def _pair_drawn(row: Mapping[str, Any], expected: str) -> dict[str, Any]:
    bounded = None not in (row["expected_given"], row["ratio_low"], row["ratio_high"])
    low, high = (
        row["expected_given"] * row[bound] if bounded else None
        for bound in ("ratio_low", "ratio_high")
    )
    lift = f"lift {decimal(row['lift'], 2)}"
    return {
        "label": pair_label(row),
        "observed": _judged(row, expected),
        "expected": row[expected],
        "low": low,
        "high": high,
        "times": _ratio(row).replace(" to ", "–") if expected == "expected_given" else lift,
    }


def _ratio(row: Mapping[str, Any]) -> str:
    """How many times the fair expectation, with the interval where it has one."""
    if row["ratio"] is None:
        return ""
    text = f"×{decimal(row['ratio'], 2)}"
    bounds = row["ratio_low"], row["ratio_high"]
    return text if None in bounds else f"{text} ({span(*(decimal(b, 2) for b in bounds))})"


def _node(row: Mapping[str, Any], id_name: str = "node", title_name: str = "title") -> Node:
    return Node(row[id_name], row[title_name] or "")


def _pair_numbers(pair: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        number(pair["instances"]),
        percent(pair["share"]),
        decimal(pair["expected"], 1),
        decimal(pair["lift"], 2),
    )


def _both(branches: Rows, i: int, j: int) -> frozenset[str]:
    return frozenset((branches[i]["node"], branches[j]["node"]))


def _matrix_row(i: int, j: int, found: Mapping[str, Any] | None) -> dict[str, str]:
    share = 0.0 if found is None else found["share"]
    text = _in_percent(share) if share is not None else number(found["instances"] if found else 0)
    return {
        "row": str(i + 1),
        "column": str(j + 1),
        "role": _shade(share or None, JOINT_SHARES),
        "text": text,
    }


def _in_percent(share: float) -> str:
    if share == 0:
        return "0"
    if share < 0.0005:
        return "<0.1"
    return f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.1f}"


def _shade(share: float | None, steps: Sequence[float]) -> str:
    return "scale-none" if share is None else SCALE[sum(share > step for step in steps)]


def _keys(steps: Sequence[float], none: str) -> tuple[Key, ...]:
    names = [f"{step:.0%}" for step in steps]
    texts = [f"up to {names[0]}", *map("{} to {}".format, names, names[1:]), f"above {names[-1]}"]
    return (*map(Key, SCALE, texts), Key("scale-none", none))
