"""The tables of a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports.history.words import STEP, STEP_TONE, differences
from reports.words import metric_words
from reports.words.parts import Badge, Cell, Code, Named, Node, Nodes, Ranged, Table, column
from reports.words.words import SEVERITY, STATUS, TONE, number

FINDINGS = 300
"""Greatest number of findings on the page; the tables beside it have all."""
STEPS = ("new", "gone", "persisting", "appeared", "disappeared", "not_asked")
_NODES = 4


def runs_table(history: Mapping[str, Any]) -> Table:
    """The runs in order, each with what it looked at."""
    return Table(
        id="run-table",
        caption="The runs",
        columns=column(
            "Run", "Folder", "Made (UTC)", "Result", "Instances", "Rows read", "Rows mapped",
            "Policy", "Tool",
            numeric="    nnn",
        ),
        rows=tuple(
            (
                str(run["run"]),
                Named(run["title"], run["name"]) if run["title"] else Code(run["name"]),
                moment(run["started"]),
                Badge(STATUS[run["status"]], TONE.get(run["status"], "plain")),
                *(number(run[name]) for name in ("instances", "rows_read", "rows_mapped")),
                Code(run["policy"]),
                Code(run["tool"]),
            )
            for run in history["runs"]
        ),
    )  # fmt: skip


def moment(started: str | None) -> str:
    """When a run was made, to the minute.

    >>> moment("2026-03-01T08:15:42+00:00"), moment(None)
    ('2026-03-01 08:15', 'no time')
    """
    return "no time" if started is None else started[:16].replace("T", " ")


def steps_table(history: Mapping[str, Any]) -> Table:
    """What becomes of the findings from each run to the next, and what else differs."""
    return Table(
        id="step-table",
        caption="From each run to the next",
        columns=column(
            "Runs", "What differs besides the data", "New", "Gone", "Persisting", "Listed now",
            "No longer listed", "Not asked",
            numeric="  nnnnnn",
        ),
        rows=tuple(
            (
                f"{step['from']} to {step['to']}",
                differences(step["differ"]),
                *(number(step[name]) for name in STEPS),
            )
            for step in history["steps"]
        ),
    )  # fmt: skip


def check_numbers(history: Mapping[str, Any]) -> Table:
    """Findings of each check in each run."""
    counts = ("error", "warning", "note", "waived", "folded", "not_shown")
    return Table(
        id="check-numbers",
        caption="Findings of each check in each run",
        columns=column(
            "Check", "Run", "Status", "Errors", "Warnings", "Notes", "Answered for", "Folded",
            "Not listed",
            numeric=" n nnnnnn",
        ),
        rows=tuple(
            (
                Code(row["check"]),
                str(row["run"]),
                _status(row["status"]),
                *("–" if row[name] is None else number(row[name]) for name in counts),
            )
            for row in history["checks"]
            if row["check"] in _speaking(history)
        ),
    )  # fmt: skip


def quiet_checks(history: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of checks without a finding in any run."""
    loud = _speaking(history)
    return tuple(dict.fromkeys(r["check"] for r in history["checks"] if r["check"] not in loud))


def _speaking(history: Mapping[str, Any]) -> set[str]:
    return {row["check"] for row in history["checks"] if _any(row)}


def _any(row: Mapping[str, Any]) -> bool:
    counts = ("error", "warning", "note", "waived", "folded", "not_shown")
    return any(row[name] for name in counts)


def _status(status: str | None) -> Cell:
    if status is None:
        return "not in this run"
    return Badge(STATUS[status], TONE.get(status, "plain"))


def metric_numbers(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """One metric in each run, a row for each of its cuts and runs."""
    named = [{**row, "name": row["metric"]} for row in rows]
    return Table(
        id=f"metric-{name.replace('_', '-')}-numbers",
        caption=metric_words.title(name),
        columns=column("Cut", "Run", "Value", "Of", numeric=" nnn"),
        rows=tuple(
            (
                metric_words.cut(row) or "all",
                str(row["run"]),
                Ranged(metric_words.value(row), metric_words.interval(row)),
                metric_words.of(row),
            )
            for row in named
        ),
    )


def findings_table(history: Mapping[str, Any]) -> Table | None:
    """Every finding of any run, those of the last runs first; None without any."""
    rows = history["findings"][:FINDINGS]
    if not rows:
        return None
    return Table(
        id="finding-table",
        caption="Findings: since which run, until which, and their sentence there",
        columns=column("Now", "Severity", "Check", "From run", "To run", "Nodes", "Sentence",
                       numeric="   nn"),
        rows=tuple(_finding(row, len(history["runs"])) for row in rows),
        left_out=len(history["findings"]) - len(rows),
    )  # fmt: skip


def _finding(row: Mapping[str, Any], runs: int) -> tuple[Cell, ...]:
    step = row["steps"][-1]
    now = "Gone earlier" if step is None and row["last"] < runs else STEP[step]
    severity = Badge(SEVERITY[row["severity"]], TONE[row["severity"]])
    nodes = tuple(Node(node["id"], node["title"] or "") for node in row["nodes"])
    return (
        Badge(now, STEP_TONE.get(step, "plain")),
        Badge(f"{severity.word}, answered for", "plain") if row["waived"] else severity,
        Code(row["check"]),
        str(row["first"]),
        str(row["last"]),
        Nodes(nodes[:_NODES], max(len(nodes) - _NODES, 0)) if nodes else "–",
        row["statement"] or "See the run’s own report.",
    )
