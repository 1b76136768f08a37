"""The tables of a comparison, each made from a part of the shared view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from audit._reports.chapters.tables import short
from audit._reports.comparison.words import (
    CAUSE,
    CHANGE,
    CHANGE_TONE,
    EDIT,
    chance,
    times,
)
from audit._reports.words.parts import (
    Badge,
    Cell,
    Code,
    Judged,
    Named,
    Node,
    Nodes,
    Ranged,
    Table,
    Unfolding,
)
from audit._reports.words.shown_numbers import Rows
from audit._reports.words.table_specs import (
    Spec,
    badge,
    named,
    node_list,
    nodes,
    numbers,
    optional_table,
    table,
    texts,
    written,
)
from audit._reports.words.words import (
    RELATION,
    STATUS,
    UNDEFINED,
    counted,
    number,
    percent,
    points,
    span,
    words,
)
from audit.results.printed import share_of

Shared = Mapping[str, Any]

_DIGESTS = ("hierarchy", "policy")


def causes_table(causes: Rows) -> Table:
    """Differences between the two runs that may cause changes, and their consequences."""
    return table(
        "cause-table",
        "What can make two runs differ",
        causes,
        texts("What", "name", CAUSE),
        texts(
            "Differs",
            lambda cause: Badge("Differs", "note") if cause["changed"] else Badge("Same", "plain"),
        ),
        texts("What follows", "statement"),
    )


def identity_table(shared: Mapping[str, Any]) -> Table:
    """Both runs side by side: their data, hierarchy, policy and software."""
    sides = [shared["identity"][side] for side in ("old", "new")]
    ledgers = [shared["ledger"][side] for side in ("old", "new")]
    rows: list[tuple[Cell, ...]] = [
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
    return table(
        "identity-table",
        "The two runs",
        rows,
        texts("", 0),
        written("OLD", itemgetter(1)),
        written("NEW", itemgetter(2)),
    )


def nodes_table(rows: Rows) -> Table | None:
    """Nodes whose use changed, the greatest difference first; None without any."""
    return optional_table(
        "node-table",
        "Nodes whose use changed, the greatest difference first",
        rows,
        nodes("Node"),
        written("Before", lambda row: _share_and_count(row, "rate_old", "support_old")),
        written("After", lambda row: _share_and_count(row, "rate_new", "support_new")),
        *_differences(rows),
        written("Odds", lambda row: times(row["odds_ratio"])),
        written("q-value", lambda row: chance(row["q_value"])),
    )


def _share_and_count(row: Shared, share: str, count: str) -> Cell:
    """A share of the instances with their number below it; the number alone without one."""
    if row[share] is None:
        return number(row[count])
    return Ranged(percent(row[share]), number(row[count]))


def _differences(rows: Rows) -> tuple[Spec, ...]:
    """The difference that was tested with its interval; with groups that of their means."""
    grouped = any(row["mean_old"] is not None for row in rows)
    means = written(
        "Groups’ mean, before to after",
        lambda row: (
            UNDEFINED
            if row["mean_old"] is None
            else f"{percent(row['mean_old'])} to {percent(row['mean_new'])}"
        ),
    )
    called = "Difference of the means, points" if grouped else "Difference, points"
    return (*((means,) if grouped else ()), written(called, _ranged_difference))


def _ranged_difference(row: Shared) -> Cell:
    if row["difference"] is None:
        return UNDEFINED
    if row["low"] is None:
        return points(row["difference"])
    return Ranged(points(row["difference"]), span(points(row["low"]), points(row["high"])))


def pairs_table(rows: Rows) -> Table | None:
    """Pairs that occur together more or less often than before; None without any."""
    judged = any(row["ratio_old"] is not None and row["ratio_new"] is not None for row in rows)
    return optional_table(
        "pair-table",
        "Pairs whose use together changed beyond what their nodes explain",
        rows,
        nodes("First node", "a", "title_a"),
        nodes("Second node", "b", "title_b"),
        texts("Relation", "relation", RELATION),
        numbers("Before", "joint_old"),
        numbers("After", "joint_new"),
        *_differences(rows),
        written("Lift", lambda row: times(row["lift_change"])),
        written("q-value", lambda row: chance(row["nodes_q_value"])),
        written(
            "Times expected, before to after",
            lambda row: f"{times(row['ratio_old'])} to {times(row['ratio_new'])}",
        )
        if judged
        else None,
    )


def edits_table(rows: Rows) -> Table | None:
    """Edits of the hierarchy; None without any."""
    return optional_table(
        "edit-table",
        "Edits of the hierarchy",
        rows,
        nodes("Node"),
        texts("Edit", _edit),
        texts("Was", lambda row: _values_cell(row["edit"], row["old"])),
        texts("Is", lambda row: _values_cell(row["edit"], row["new"])),
        texts("Counted at", lambda row: _nodes_cell(row["counted_at"])),
        written("OLD", lambda row: _support(row, "added", "support_old")),
        written("NEW", lambda row: _support(row, "removed", "support_new")),
    )


def checks_table(checks: Rows) -> Table:
    """Every check that applies to one of the releases, in both."""
    return table(
        "check-table",
        "The checks in both runs",
        [check for check in checks if not applies_to_neither(check)],
        named("Check", "title", "name"),
        texts("Before", lambda check: _outcome(check, "old")),
        texts("After", lambda check: _outcome(check, "new")),
        texts("Findings that changed", _changes),
    )


def applies_to_neither(check: Shared) -> bool:
    """Whether a check was applied in neither run."""
    return {check["status_old"], check["status_new"]} <= {None, "not_applicable"}


def _outcome(check: Shared, side: str) -> Cell:
    status = check[f"status_{side}"]
    if status is None:
        return UNDEFINED
    lines = (counted(check[f"total_{side}"], "finding"),) if check[f"total_{side}"] else ()
    return Judged(badge(status, STATUS), lines)


def _changes(check: Shared) -> str:
    found = [
        f"{number(n)} {CHANGE[name]}"
        for name, n in check["changes"].items()
        if n and name in CHANGE
    ]
    return ", ".join(found) or UNDEFINED


def findings_table(checks: Rows) -> Table | None:
    """Findings that differ between the releases; None without any."""
    return optional_table(
        "finding-table",
        "Findings that are new, gone, worse or better",
        [{**found, "check": check} for check in checks for found in check["findings"]],
        texts("Finding", _finding),
        texts("Change", _change),
        written("Before", lambda found: _effect(found, "old")),
        written("After", lambda found: _effect(found, "new")),
        written(
            "Difference, points",
            lambda found: UNDEFINED if found["difference"] is None else _ranged_difference(found),
        ),
    )


def _finding(found: Shared) -> Cell:
    about = node_list(found["nodes"]) if found["nodes"] else Code(found["check"]["name"])
    sentence = found["statement"] or "See the runs’ own reports."
    return Unfolding(about, f"{found['check']['title']} {sentence}")


def _effect(found: Shared, side: str) -> Cell:
    """The share of the instances that count; else the effect that the release states."""
    count, of = found[f"count_{side}"], found[f"of_{side}"]
    if count is not None:
        return Ranged(percent(share_of(count, of)), f"{number(count)} of {number(of)}")
    effect = found[f"effect_{side}"]
    if effect is None:
        return UNDEFINED
    return percent(effect) if found["effect"] == "share" else number(effect)


def terms_table(terms: Rows) -> Table:
    """Criteria of a change."""
    return table(
        "term-table",
        "Limits that the comparison is made with",
        terms,
        texts("Limit", lambda term: Named(words(term["name"], {}).capitalize(), term["name"])),
        numbers("Value", "value"),
        texts("Unit", "unit"),
        texts("Reason", "reason"),
    )


def _change(found: Mapping[str, Any]) -> Badge:
    change = found["change"]
    return Badge(CHANGE[change].capitalize(), CHANGE_TONE.get(change, "plain"))


def _edit(row: Mapping[str, Any]) -> str:
    word = EDIT[row["edit"]].capitalize()
    return f"{word}, by a label alone" if row["from_labels"] else word


def _values_cell(edit: str, values: Sequence[str]) -> Cell:
    return _nodes_cell(values) if edit == "moved" else "; ".join(values) or UNDEFINED


def _nodes_cell(ids: Sequence[str]) -> Cell:
    return Nodes(tuple(map(Node, ids))) if ids else UNDEFINED


def _support(row: Mapping[str, Any], absent_of: str, field: str) -> str:
    """The count in one of the runs; a dash for the edit by which that run lacks the node."""
    return UNDEFINED if row["edit"] == absent_of else number(row[field])
