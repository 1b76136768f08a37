"""The tables of a comparison, each made from a part of the shared view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports.chapters.tables import short
from reports.comparison.words import CAUSE, CHANGE, CHANGE_TONE, EDIT, chance, points_span, times
from reports.words.parts import Badge, Cell, Code, Named, Node, Nodes, Table, column
from reports.words.words import RELATION, STATUS, TONE, number, percent, points, span, words

Rows = Sequence[Mapping[str, Any]]
Row = tuple[Cell, ...]

_DIGESTS = ("hierarchy", "policy")


def causes_table(causes: Rows) -> Table:
    """Differences between the two runs that may cause changes, and their consequences."""
    return Table(
        id="cause-table",
        caption="What can make two runs differ",
        columns=column("What", "Differs", "What follows"),
        rows=tuple(
            (
                CAUSE[cause["name"]],
                Badge("Differs", "note") if cause["changed"] else Badge("Same", "plain"),
                cause["statement"],
            )
            for cause in causes
        ),
    )


def identity_table(shared: Mapping[str, Any]) -> Table:
    """Both runs side by side: their data, hierarchy, policy and software."""
    sides = [shared["identity"][side] for side in ("old", "new")]
    ledgers = [shared["ledger"][side] for side in ("old", "new")]
    rows: list[Row] = [
        ("Instances", *(number(ledger["instances"]) for ledger in ledgers)),
        ("Groups", *("not given" if g["groups"] is None else number(g["groups"]) for g in ledgers)),
        ("Rows read", *(number(ledger["rows_read"]) for ledger in ledgers)),
        ("Rows mapped", *(number(ledger["rows_mapped"]) for ledger in ledgers)),
        ("Nodes of the hierarchy", *(number(side["hierarchy"]["nodes"]) for side in sides)),
        ("Policy", *(Code(side["policy"]["name"]) for side in sides)),
        ("Normaliser", *(Code(side["normaliser"] or "none") for side in sides)),
        ("Tool", *(Code(f"{s['tool']['name']} {s['tool']['version']}") for s in sides)),
    ]
    rows += [
        (f"{CAUSE[part]} sha256", *(short(side[part]["sha256"]) for side in sides))
        for part in _DIGESTS
    ]
    return Table(
        id="identity-table",
        caption="The two runs",
        columns=column("", "OLD", "NEW", numeric=" nn"),
        rows=tuple(rows),
    )


def nodes_table(rows: Rows) -> Table | None:
    """Nodes whose use changed, the greatest difference first; None without any."""
    if not rows:
        return None
    return Table(
        id="node-table",
        caption="Nodes whose use changed, the greatest difference first",
        columns=column(
            "Node", "OLD", "NEW", "Rate OLD", "Rate NEW", "Change, points", "95% interval", "Odds",
            "q-value",
            numeric=" nnnnnnnn",
        ),
        rows=tuple(
            (
                Node(row["node"], row["title"] or ""),
                number(row["support_old"]),
                number(row["support_new"]),
                percent(row["rate_old"]),
                percent(row["rate_new"]),
                *_difference(row),
                times(row["odds_ratio"]),
                chance(row["q_value"]),
            )
            for row in rows
        ),
    )  # fmt: skip


def pairs_table(rows: Rows) -> Table | None:
    """Pairs that occur together more or less often than before; None without any."""
    if not rows:
        return None
    judged = any(row["ratio_old"] is not None and row["ratio_new"] is not None for row in rows)
    extra = ("Times expected, OLD", "NEW") if judged else ()
    return Table(
        id="pair-table",
        caption="Pairs whose meeting changed beyond what their nodes explain",
        columns=column(
            "First node", "Second node", "Relation", "OLD", "NEW", "Change, points",
            "95% interval", "Lift", "q-value", *extra,
            numeric="   nnnnnnnn",
        ),
        rows=tuple(
            (
                Node(row["a"], row["title_a"] or ""),
                Node(row["b"], row["title_b"] or ""),
                words(row["relation"], RELATION),
                number(row["joint_old"]),
                number(row["joint_new"]),
                *_difference(row),
                times(row["lift_change"]),
                chance(row["nodes_q_value"]),
                *(times(row[name]) for name in ("ratio_old", "ratio_new") if judged),
            )
            for row in rows
        ),
    )  # fmt: skip


def edits_table(rows: Rows) -> Table | None:
    """Edits of the hierarchy; None without any."""
    if not rows:
        return None
    return Table(
        id="edit-table",
        caption="Edits of the hierarchy",
        columns=column("Node", "Edit", "Was", "Is", "Counted at", "OLD", "NEW", numeric="     nn"),
        rows=tuple(
            (
                Node(row["node"], row["title"] or ""),
                _edit(row),
                *(_values_cell(row["edit"], row[side]) for side in ("old", "new")),
                Nodes(tuple(map(Node, row["counted_at"]))) if row["counted_at"] else "–",
                _support(row["edit"], "removed", "added", row["support_old"], old=True),
                _support(row["edit"], "removed", "added", row["support_new"], old=False),
            )
            for row in rows
        ),
    )


def restated_table(rows: Rows) -> Table | None:
    """Nodes that have other nodes below them now; None without any."""
    if not rows:
        return None
    return Table(
        id="restated-table",
        caption="Counts of OLD under NEW’s hierarchy",
        columns=column(
            "Node", "OLD as counted", "OLD under NEW’s hierarchy", "NEW", numeric=" nnn"
        ),
        rows=tuple(
            (
                Node(row["node"], row["title"] or ""),
                number(row["support_old"]),
                _bounds(row["restated_low"], row["restated_high"]),
                number(row["support_new"]),
            )
            for row in rows
        ),
    )


def checks_table(checks: Rows) -> Table:
    """Every check in both releases."""
    return Table(
        id="check-table",
        caption="Every check in both runs",
        columns=column(
            "Check", "Status OLD", "Status NEW", "Findings OLD", "Findings NEW", "New", "Gone",
            "Worse", "Better",
            numeric="   nnnnnn",
        ),
        rows=tuple(
            (
                Named(check["title"], check["name"]),
                _status(check["status_old"]),
                _status(check["status_new"]),
                number(check["total_old"]),
                number(check["total_new"]),
                *(number(check["changes"][c]) for c in ("new", "gone", "worse", "better")),
            )
            for check in checks
        ),
    )  # fmt: skip


def findings_table(checks: Rows) -> Table | None:
    """Findings that differ between the releases; None without any."""
    rows: tuple[Row, ...] = tuple(
        (
            Badge(CHANGE[found["change"]].capitalize(), CHANGE_TONE.get(found["change"], "plain")),
            Code(check["name"]),
            Nodes(tuple(Node(node["id"], node["title"] or "") for node in found["nodes"]))
            if found["nodes"]
            else "–",
            found["statement"] or "See the runs’ own reports.",
            _effects(found),
        )
        for check in checks
        for found in check["findings"]
    )
    if not rows:
        return None
    return Table(
        id="finding-table",
        caption="Findings that are new, gone, worse or better",
        columns=column("Change", "Check", "Nodes", "Finding", "Effect, OLD to NEW"),
        rows=rows,
    )


def terms_table(terms: Rows) -> Table:
    """Criteria of a change."""
    return Table(
        id="term-table",
        caption="Limits that the comparison is made with",
        columns=column("Limit", "Value", "Unit", "Reason", numeric=" n"),
        rows=tuple(
            (
                Named(words(term["name"], {}).capitalize(), term["name"]),
                number(term["value"]),
                term["unit"],
                term["reason"],
            )
            for term in terms
        ),
    )


def _difference(row: Mapping[str, Any]) -> tuple[str, str]:
    return points(row["difference"]), points_span(row["low"], row["high"])


def _edit(row: Mapping[str, Any]) -> str:
    word = EDIT[row["edit"]].capitalize()
    return f"{word}, by a label alone" if row["from_labels"] else word


def _values_cell(edit: str, values: Sequence[str]) -> Cell:
    if not values:
        return "–"
    return Nodes(tuple(map(Node, values))) if edit == "moved" else "; ".join(values)


def _support(edit: str, only_old: str, only_new: str, value: Any, *, old: bool) -> str:
    absent = edit == (only_new if old else only_old)
    return "–" if absent else number(value)


def _bounds(low: int | None, high: int | None) -> str:
    return number(low) if low == high else span(number(low), number(high))


def _status(status: str | None) -> Cell:
    return "–" if status is None else Badge(STATUS[status], TONE.get(status, "plain"))


def _effects(found: Mapping[str, Any]) -> str:
    sides = [found["effect_old"], found["effect_new"]]
    if all(side is None for side in sides):
        return "–"
    shown = ["–" if side is None else _effect(found["effect"], side) for side in sides]
    return f"{words(found['effect'])} {shown[0]} to {shown[1]}"


def _effect(name: str, value: float) -> str:
    return percent(value) if name == "share" else number(value)
