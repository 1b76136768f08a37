"""The chapter on nodes: which the representations lack, mix with a sibling, or hold unused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit._reports.charts.curves import DOT, Mark, accuracies_spec
from audit._reports.charts.svg import draw
from audit._reports.words.concept_words import STATES, UNTESTED
from audit._reports.words.parts import Badge, Figure, Key, Node, Table
from audit._reports.words.shown_numbers import Row, Rows, bounds, count, grouped, plain
from audit._reports.words.table_specs import (
    Spec,
    decimals,
    differences,
    interval_beside,
    numbers,
    table,
    texts,
    written,
)
from audit._reports.words.table_specs import nodes as node_column
from audit._reports.words.words import (
    counted,
    first_of,
    more_in_table,
    node_label,
    number,
    shortened,
)

DRAWN = 20
"""Largest number of nodes in a picture."""
LISTED = 200
"""Largest number of nodes in a table."""
HALF = 0.5
"""Chance of a balanced accuracy."""
RING = Mark("beside", "model", "diamond")


@dataclass(frozen=True, slots=True)
class Drawn:
    """How nodes of one state are drawn.

    Args:
        field: The column of the dot, with ``_low`` and ``_high``.
        beside: The column of the mark beside it; empty for none.
        value: What the dot is.
        second: What the mark beside it is.
    """

    field: str
    beside: str
    title: str
    value: str
    second: str
    caption: str


OF_STATE: Mapping[str, Drawn] = {
    "absent": Drawn(
        "readable",
        "",
        "Nodes that the probe does not read",
        "the node against all other instances",
        "",
        "A linear probe separates the instances below these nodes from others hardly better than "
        "chance, though it reads made-up concepts, or other nodes, from as many instances.",
    ),
    "entangled": Drawn(
        "separable",
        "best_separable",
        "Nodes that the layer holds only together with a sibling",
        "the node against the sibling named after it",
        "the same at the layer that separates them best",
        "A linear probe separates the instances below these nodes from all others, but hardly from "
        "those of one sibling: the hardest to separate. Two nodes that are each other’s hardest "
        "sibling are drawn once.",
    ),
    "unused": Drawn(
        "probed",
        "predicted",
        "Nodes that the layer holds and predictions do not use",
        "the probe, the node against its siblings",
        "the predictions, the node against its siblings",
        "A probe separates these nodes from their siblings, and the model’s predictions do so "
        "less.",
    ),
}
"""The states that findings are made of, in report order."""

WEAKEST = Drawn(
    "separable",
    "readable",
    "Nodes that the layer separates least",
    "the node against the sibling named after it",
    "the node against all other instances",
    "No node is absent, entangled or not used. These are the nodes separated least from their "
    "hardest sibling.",
)


@dataclass(frozen=True, slots=True)
class Nodes:
    """The chapter; ``folded`` nodes are left out: a node below them has the same instances."""

    figures: tuple[Figure, ...]
    states: Table
    table: Table
    folded: int


def nodes(concepts: Mapping[str, Any]) -> Nodes | None:
    """The nodes of the hierarchy; None without any."""
    rows = [row for row in concepts["nodes"] if row["folded_into"] is None]
    if not rows:
        return None
    limit = concepts["facts"]["parameters"]["limit"]
    figures = [figure for state in OF_STATE if (figure := _figure(state, rows, limit)) is not None]
    weakest = None if figures else _weakest(rows, limit)
    return Nodes(
        figures=tuple([weakest] if weakest else figures),
        states=_states(rows),
        table=_every(rows),
        folded=len(concepts["nodes"]) - len(rows),
    )


def ordered(rows: Rows) -> list[Row]:
    """Findings first, in the order of states; within one, the strongest first."""
    return sorted(rows, key=lambda row: (_rank(row), _strength(row), row["depth"], row["node"]))


def _rank(row: Row) -> int:
    return [*STATES, None].index(row["state"])


def _strength(row: Row) -> float:
    if row["state"] == "unused":
        return -float(row["unused"] or 0)
    value = row["readable"] if row["state"] == "absent" else row["separable"]
    return 1.0 if value is None else float(value)


def _figure(state: str, rows: Rows, limit: float) -> Figure | None:
    how = OF_STATE[state]
    known = [row for row in ordered(rows) if row["state"] == state and row[how.field] is not None]
    return _figure_of(state, _pairs_once(known), how, limit) if known else None


def _pairs_once(rows: Rows) -> list[Row]:
    """Of two entangled nodes that are each other's hardest siblings, the first."""
    once: dict[frozenset[str | None], Row] = {}
    for row in rows:
        own = row["sibling"] if row["state"] == "entangled" else None
        once.setdefault(frozenset((row["node"], own)), row)
    return list(once.values())


def _weakest(rows: Rows, limit: float) -> Figure | None:
    """Where nothing was found: the nodes that are distinguished least."""
    known = sorted(
        (row for row in rows if row["separable"] is not None),
        key=lambda row: (row["separable"], row["node"]),
    )
    return _figure_of("weakest", known, WEAKEST, limit) if known else None


def _figure_of(state: str, known: Rows, how: Drawn, limit: float) -> Figure:
    drawn = known[:DRAWN]
    spec = accuracies_spec(
        [_line(place, row, how) for place, row in enumerate(drawn)],
        [""],
        limit,
        (RING, DOT) if how.beside else (DOT,),
        left=290,
        right=130,
    )
    return Figure(
        id=f"concept-{state}",
        title=how.title,
        drawing=draw(spec),
        alt=f"Dot plot of {counted(len(drawn), 'node')}: "
        f"{first_of([_sentence(row, how) for row in drawn])}.",
        caption=f"{how.caption} {_scale(how)}, so that 0.5 is chance. At the "
        "right, the instances below the node." + more_in_table(len(known) - DRAWN, "node"),
        key=(
            Key(
                "observed",
                how.value + ("" if state == "unused" else ", with its 95% interval"),
                "dot",
            ),
            *([Key("model", how.second, "diamond")] if how.beside else []),
            Key("expected", "chance", "tick"),
            Key("limit", f"limit, {number(limit)}", "across"),
        ),
        table=_table(known[:LISTED], f"concept-{state}-numbers", how.title),
    )


def _scale(how: Drawn) -> str:
    if how.field == "probed":
        return "Balanced accuracies: the mean of the shares of both sides classified rightly"
    return "Areas under the curve: how often an instance of the node has the higher score"


def _line(place: int, row: Row, how: Drawn) -> dict[str, Any]:
    label = node_label(row["node"], row["title"], 42)
    if how.field == "separable":
        both = f"{row['node']} {row['title'] or ''}".strip()
        label = f"{shortened(both, 32)} × {shortened(row['sibling'], 12)}"
    ends = {end: row.get(f"{how.field}_{end}") for end in ("low", "high")}
    return {
        "line": place,
        "label": label,
        "panel": 0,
        "value": row[how.field],
        **bounds(ends),
        "beside": row[how.beside] if how.beside else None,
        "chance": HALF,
        "counts": f"{plain(row, how.field, 2)} on {count(row, 'instances')}",
    }


def _sentence(row: Row, how: Drawn) -> str:
    node = Node(row["node"], row["title"] or "").text
    text = f"{node} {plain(row, how.field, 2)}"
    if how.field == "separable":
        return f"{text} from {row['sibling']}"
    return f"{text}, predicted {plain(row, 'predicted', 2)}" if how.field == "probed" else text


def _ends(heading: str, name: str) -> Spec:
    """A column of accuracies with their intervals."""
    column = interval_beside(decimals(heading, name), f"{name}_low", f"{name}_high")
    if name != "separable":
        return column
    return written(heading, lambda row: column.cell(_beside_sibling(row)))


def _beside_sibling(row: Row) -> Row:
    """The row where its numbers are withheld for the sibling having few instances."""
    return row if row["sibling"] is None else {**row, "instances": row["sibling_instances"]}


def _sibling(row: Row) -> str | None:
    """The nearest sibling, and how many instances it has beside the node."""
    if row["sibling"] is None:
        return None
    return f"{row['sibling']} ({number(row['sibling_instances'])})"


def _controls(row: Row) -> str | None:
    """What controls say of a node that is neither read nor found absent."""
    if row["state"] == "too_few" and row["tellable"] is not None:
        return f"of 10 draws without a concept, {row['tellable']} are below the limit"
    if row["state"] != "no_power" or (row["made_up"] is None and row["pair_made_up"] is None):
        return None
    if row["made_up"] is None:
        return f"of made-up siblings, {row['pair_made_up']} of 10 are read"
    needed = "not known" if row["needed"] is None else f"about {number(row['needed'])}"
    return f"of made-up concepts, {row['made_up']} of 10 are read; needed: {needed}"


def _states(rows: Rows) -> Table:
    """Nodes by depth and state."""
    return table(
        "concept-states",
        "Nodes by depth and by what was found of them",
        grouped(sorted(rows, key=lambda row: row["depth"]), ["depth"]),
        texts("Depth", lambda own: number(own[0]["depth"])),
        *(_in_state(state) for state in (*STATES, None)),
        numbers("Nodes", len),
    )


def _in_state(state: str | None) -> Spec:
    return numbers(_state(state).word, lambda own: sum(row["state"] == state for row in own))


def _state(state: str | None) -> Badge:
    return Badge(*UNTESTED) if state is None else Badge(*STATES[state])


def _every(rows: Rows) -> Table:
    further = len(rows) - LISTED
    left_out = f"; {counted(further, 'further node')} in result.json" if further > 0 else ""
    caption = f"Every node that was tested, by areas under the curve{left_out}"
    return _table(ordered(rows)[:LISTED], "concept-nodes", caption)


def _table(rows: Rows, id_: str, caption: str) -> Table:
    return table(
        id_,
        caption,
        rows,
        node_column("Node"),
        texts("State", lambda row: _state(row["state"])),
        _ends("Against all others", "readable"),
        _ends("Against the nearest sibling", "separable"),
        texts("Sibling", _sibling),
        texts("Controls", _controls),
        differences("Probe less predictions", "unused"),
        numbers("Instances", "instances"),
    )
