"""The tables of a comparison, each made from a part of the shared view; models also in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from reports.chapters.tables import short
from reports.comparison.words import CAUSE, CHANGE, CHANGE_TONE, EDIT, chance, times
from reports.words.metric_words import change, change_unit, cut, heading, others, value
from reports.words.parts import Badge, Cell, Code, Named, Node, Nodes, Table
from reports.words.shown_numbers import UNDEFINED, Rows
from reports.words.table_specs import (
    Spec,
    badges,
    codes,
    named,
    node_list,
    nodes,
    numbers,
    optional_table,
    spans,
    table,
    texts,
    written,
)
from reports.words.words import (
    RELATION,
    STATUS,
    WITHHELD,
    counted,
    number,
    percent,
    points,
    span,
    words,
)

Shared = Mapping[str, Any]

_STATES: Mapping[str, str] = {
    "same": "The predictions are the same in both runs.",
    "differ": "The predictions of the two runs differ.",
    "alike": "The files of the predictions differ, although every number counted of them is the "
    "same. Runs made with --keep-instances can be compared instance by instance.",
    "only_old": "OLD has predictions, NEW has none.",
    "only_new": "NEW has predictions, OLD has none.",
}
_INTERVALS: Mapping[str, str] = {
    "paired": "Intervals are paired: both runs keep their instances, and each of 200 bootstrap "
    "replicates draws an instance, or a group, equally often into both.",
    "unpaired": "Intervals are unpaired, since the runs do not both keep instances that they have "
    "in common. They take the runs as independent, so that they are too wide where both models "
    "predicted the same instances, and changes of confused pairs cannot be tested. Runs made with "
    "--keep-instances have paired intervals.",
    "none": "There is nothing to compare the metrics with.",
}


@dataclass(frozen=True, slots=True)
class Models:
    """What the section on models shows."""

    predictions: str
    intervals: str
    metrics: Table | None
    metrics_changed: str
    tested: str
    confusions: Table | None


def models(model: Shared | None) -> Models | None:
    """The section on models; None if neither run has predictions."""
    if model is None:
        return None
    metrics, confusions = model["metrics"], model["confusions"]
    return Models(
        predictions=predictions_sentence(model),
        intervals=_INTERVALS[model["interval"]],
        metrics=metric_changes_table(metrics["rows"]),
        metrics_changed=f"Of {counted(metrics['total'], 'metric')} over all instances, the "
        f"intervals of {number(metrics['changed'])} do not hold 0.",
        tested=_tested(confusions) if model["interval"] == "paired" else "",
        confusions=confusion_changes_table(confusions["rows"]),
    )


def _tested(confusions: Shared) -> str:
    return (
        f"The concept confusion of {counted(confusions['changed'], 'pair')} of labels changed; "
        f"{number(confusions['family'])} were tested together."
    )


def predictions_sentence(model: Shared) -> str:
    """Whether the predictions differ, and of how many instances."""
    state = _STATES[model["predictions"]]
    if model["common"] is None or model["predictions"] == "same":
        return state
    return (
        f"{state} Of {number(model['common'])} instances that both predicted, "
        f"{number(model['scores_differ'])} have other scores and "
        f"{number(model['answers_differ'])} other predicted labels."
    )


def metric_changes_table(rows: Sequence[Shared]) -> Table | None:
    """Metrics of all instances in both runs; None without any."""
    return optional_table(
        "metric-change-table",
        "Metrics over all instances in both runs",
        rows,
        texts("Metric", lambda row: heading(row["name"])),
        texts("Of", lambda row: cut(row) or "; ".join(others(row)) or UNDEFINED),
        written("OLD", lambda row: _value(row, "old")),
        written("NEW", lambda row: _value(row, "new")),
        written("Difference", _difference),
        _interval(lambda row, bound: change(row["name"], row[bound])),
    )


def confusion_changes_table(rows: Sequence[Shared]) -> Table | None:
    """Pairs that one model confuses more than the other; None without any."""
    return optional_table(
        "confusion-change-table",
        "Concept confusion of pairs of labels in both runs, the greatest difference first",
        rows,
        nodes("First label", "a", "title_a"),
        nodes("Second label", "b", "title_b"),
        numbers("OLD", "old", "{:.4f}".format),
        numbers("NEW", "new", "{:.4f}".format),
        numbers("Difference", "difference", _signed),
        _interval(lambda row, bound: _signed(row[bound])),
        written("q-value", lambda row: chance(row["q_value"])),
    )


def _value(row: Shared, side: str) -> str:
    if row[f"n_{side}"] is None:
        return "not measured"
    return value({**row, "n": row[f"n_{side}"]}, side)


def _difference(row: Shared) -> str:
    """The difference; a dash where one run has no value."""
    if row["difference"] is None:
        return WITHHELD if row["n_old"] and row["n_new"] else UNDEFINED
    return change(row["name"], row["difference"]) + change_unit(row["name"])


def _interval(end: Callable[[Shared, str], str]) -> Spec:
    """The column of intervals of differences, a dash where there is none."""
    return written(
        "95% interval",
        lambda row: (
            UNDEFINED
            if row["difference"] is None or row["low"] is None
            else span(end(row, "low"), end(row, "high"))
        ),
    )


def _signed(apart: float) -> str:
    return f"{apart:+.4f}".replace("-", "\N{MINUS SIGN}")


_DIGESTS = ("hierarchy", "policy")


DIFFERENCE = (
    numbers("Change, points", "difference", points),
    spans("95% interval", points),
)
"""Columns of the difference of two rates."""


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
        numbers("OLD", "support_old"),
        numbers("NEW", "support_new"),
        numbers("Rate OLD", "rate_old", percent),
        numbers("Rate NEW", "rate_new", percent),
        *DIFFERENCE,
        written("Odds", lambda row: times(row["odds_ratio"])),
        written("q-value", lambda row: chance(row["q_value"])),
    )


def pairs_table(rows: Rows) -> Table | None:
    """Pairs that occur together more or less often than before; None without any."""
    judged = any(row["ratio_old"] is not None and row["ratio_new"] is not None for row in rows)
    return optional_table(
        "pair-table",
        "Pairs whose meeting changed beyond what their nodes explain",
        rows,
        nodes("First node", "a", "title_a"),
        nodes("Second node", "b", "title_b"),
        texts("Relation", "relation", RELATION),
        numbers("OLD", "joint_old"),
        numbers("NEW", "joint_new"),
        *DIFFERENCE,
        written("Lift", lambda row: times(row["lift_change"])),
        written("q-value", lambda row: chance(row["nodes_q_value"])),
        written("Times expected, OLD", lambda row: times(row["ratio_old"])) if judged else None,
        written("NEW", lambda row: times(row["ratio_new"])) if judged else None,
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


def restated_table(rows: Rows) -> Table | None:
    """Nodes that have other nodes below them now; None without any."""
    return optional_table(
        "restated-table",
        "Counts of OLD under NEW’s hierarchy",
        rows,
        nodes("Node"),
        numbers("OLD as counted", "support_old"),
        written(
            "OLD under NEW’s hierarchy",
            lambda row: _bounds(row["restated_low"], row["restated_high"]),
        ),
        numbers("NEW", "support_new"),
    )


def checks_table(checks: Rows) -> Table:
    """Every check in both releases."""
    changes = {name: CHANGE[name].capitalize() for name in ("new", "gone", "worse", "better")}
    return table(
        "check-table",
        "Every check in both runs",
        [{**check, **check["changes"]} for check in checks],
        named("Check", "title", "name"),
        badges("Status OLD", "status_old", STATUS),
        badges("Status NEW", "status_new", STATUS),
        numbers("Findings OLD", "total_old"),
        numbers("Findings NEW", "total_new"),
        *(numbers(called, name) for name, called in changes.items()),
    )


def findings_table(checks: Rows) -> Table | None:
    """Findings that differ between the releases; None without any."""
    return optional_table(
        "finding-table",
        "Findings that are new, gone, worse or better",
        [{**found, "check": check["name"]} for check in checks for found in check["findings"]],
        texts("Change", _change),
        codes("Check", "check"),
        texts("Nodes", lambda found: node_list(found["nodes"]) if found["nodes"] else UNDEFINED),
        texts("Finding", lambda found: found["statement"] or "See the runs’ own reports."),
        texts("Effect, OLD to NEW", _effects),
    )


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


def _bounds(low: int | None, high: int | None) -> str:
    return number(low) if low == high else span(number(low), number(high))


def _effects(found: Mapping[str, Any]) -> str:
    sides = [found["effect_old"], found["effect_new"]]
    if all(side is None for side in sides):
        return UNDEFINED
    shown = [UNDEFINED if side is None else _effect(found["effect"], side) for side in sides]
    return f"{words(found['effect'])} {shown[0]} to {shown[1]}"


def _effect(name: str, value: float) -> str:
    return percent(value) if name == "share" else number(value)
