"""The chapter on nodes: how well the representations tell them from others and from siblings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from audit._reports.charts.curves import DOT, Mark, accuracies_spec
from audit._reports.charts.svg import draw
from audit._reports.words.parts import Figure, Key, Node, Table
from audit._reports.words.shown_numbers import Row, Rows, bounds, count, plain
from audit._reports.words.table_specs import (
    Spec,
    decimals,
    differences,
    interval_beside,
    numbers,
    table,
    texts,
)
from audit._reports.words.table_specs import nodes as node_column
from audit._reports.words.words import counted, first_of, more_in_table, number, shortened

DRAWN = 20
"""Largest number of nodes in the picture."""
LISTED = 200
"""Largest number of nodes in the table."""
HALF = 0.5
"""Area under the curve by chance."""
RING = Mark("beside", "model", "diamond")


@dataclass(frozen=True, slots=True)
class Nodes:
    """The chapter; ``folded`` nodes are left out: a node below them has the same instances."""

    figures: tuple[Figure, ...]
    table: Table
    folded: int


def nodes(concepts: Mapping[str, Any]) -> Nodes | None:
    """The nodes of the hierarchy; None without any."""
    rows = ordered(row for row in concepts["nodes"] if row["folded_into"] is None)
    if not rows:
        return None
    known = [row for row in rows if row["separable"] is not None]
    further = len(rows) - LISTED
    left_out = f"; {counted(further, 'further node')} in result.json" if further > 0 else ""
    return Nodes(
        figures=(_figure(known, concepts["facts"]["parameters"]["limit"]),) if known else (),
        table=_table(
            "concept-nodes",
            f"Every node that was tested, by areas under the curve{left_out}",
            rows[:LISTED],
        ),
        folded=len(concepts["nodes"]) - len(rows),
    )


def ordered(rows: Iterable[Row]) -> list[Row]:
    """Rows of nodes, that separated least from its hardest sibling first."""
    return sorted(rows, key=lambda row: (_separable(row), row["depth"], row["node"]))


def _separable(row: Row) -> float:
    return 1.0 if row["separable"] is None else float(row["separable"])


def _figure(known: Rows, limit: float) -> Figure:
    drawn = known[:DRAWN]
    lines = [_line(place, row) for place, row in enumerate(drawn)]
    spec = accuracies_spec(lines, [""], limit, (RING, DOT), left=290, right=130)
    return Figure(
        id="concept-nodes-least",
        title="Nodes that the layer separates least",
        drawing=draw(spec),
        alt=f"Dot plot of {counted(len(drawn), 'node')}: {first_of(list(map(_sentence, drawn)))}.",
        caption="The nodes separated least from their hardest sibling by a linear probe. Areas "
        "under the curve: how often an instance of the node has the higher score, so that 0.5 is "
        "chance. At the right, the instances below the node."
        + more_in_table(len(known) - DRAWN, "node"),
        key=(
            Key(
                "observed",
                "the node against the sibling named after it, with its 95% interval",
                "dot",
            ),
            Key("model", "the node against all other instances", "diamond"),
            Key("expected", "chance", "tick"),
            Key("limit", f"limit, {number(limit)}", "across"),
        ),
        table=_table("concept-nodes-least-numbers", "Nodes that the layer separates least", drawn),
    )


def _line(place: int, row: Row) -> dict[str, Any]:
    both = f"{row['node']} {row['title'] or ''}".strip()
    sibling = f" × {shortened(row['sibling'], 12)}" if row["sibling"] else ""
    return {
        "line": place,
        "label": f"{shortened(both, 32)}{sibling}",
        "panel": 0,
        "value": row["separable"],
        **bounds({end: row[f"separable_{end}"] for end in ("low", "high")}),
        "beside": row["readable"],
        "chance": HALF,
        "counts": f"{plain(row, 'separable', 2)} on {count(row, 'instances')}",
    }


def _sentence(row: Row) -> str:
    node = Node(row["node"], row["title"] or "").text
    return f"{node} {plain(row, 'separable', 2)} from {row['sibling'] or 'a sibling'}"


def _ends(heading: str, name: str) -> Spec:
    """A column of accuracies with their intervals."""
    return interval_beside(decimals(heading, name), f"{name}_low", f"{name}_high")


def _sibling(row: Row) -> str | None:
    """The nearest sibling, and how many instances it has beside the node."""
    if row["sibling"] is None:
        return None
    return f"{row['sibling']} ({number(row['sibling_instances'])})"


def _table(id_: str, caption: str, rows: Rows) -> Table:
    return table(
        id_,
        caption,
        rows,
        node_column("Node"),
        _ends("Against all others", "readable"),
        _ends("Against the nearest sibling", "separable"),
        texts("Sibling", _sibling),
        differences("Probe less predictions", "unused"),
        numbers("Instances", "instances"),
    )
