"""The tables of a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports.history.words import STEP, STEP_TONE, differences
from reports.words import metric_words
from reports.words.parts import Badge, Code, Named, Ranged, Table
from reports.words.shown_numbers import UNDEFINED
from reports.words.table_specs import (
    badge,
    badges,
    codes,
    node_list,
    numbers,
    optional_table,
    table,
    texts,
    written,
)
from reports.words.words import SEVERITY, STATUS

FINDINGS = 300
"""Greatest number of findings on the page; the tables beside it have all."""
_STEPS = {**STEP, "persisting": "Persisting"}
_COUNTS = {
    "error": "Errors",
    "warning": "Warnings",
    "note": "Notes",
    "waived": "Answered for",
    "folded": "Folded",
    "not_shown": "Not listed",
}
"""Counts of a check in a run, with their headings."""
_NODES = 4


def runs_table(history: Mapping[str, Any]) -> Table:
    """The runs in order, each with what it looked at."""
    return table(
        "run-table",
        "The runs",
        history["runs"],
        texts("Run", lambda run: str(run["run"])),
        texts(
            "Folder",
            lambda run: Named(run["title"], run["name"]) if run["title"] else Code(run["name"]),
        ),
        texts("Made (UTC)", lambda run: moment(run["started"])),
        badges("Result", "status", STATUS),
        numbers("Instances", "instances"),
        numbers("Rows read", "rows_read"),
        numbers("Rows mapped", "rows_mapped"),
        codes("Policy", "policy"),
        codes("Tool", "tool"),
    )


def moment(started: str | None) -> str:
    """When a run was made, to the minute.

    >>> moment("2026-03-01T08:15:42+00:00"), moment(None)
    ('2026-03-01 08:15', 'no time')
    """
    return "no time" if started is None else started[:16].replace("T", " ")


def steps_table(history: Mapping[str, Any]) -> Table:
    """What becomes of the findings from each run to the next, and what else differs."""
    return table(
        "step-table",
        "From each run to the next",
        history["steps"],
        texts("Runs", lambda step: f"{step['from']} to {step['to']}"),
        texts("What differs besides the data", lambda step: differences(step["differ"])),
        *(numbers(heading, name) for name, heading in _STEPS.items()),
    )


def check_numbers(history: Mapping[str, Any]) -> Table:
    """Findings of each check in each run."""
    loud = _speaking(history)
    return table(
        "check-numbers",
        "Findings of each check in each run",
        [row for row in history["checks"] if row["check"] in loud],
        codes("Check", "check"),
        written("Run", lambda row: str(row["run"])),
        badges("Status", "status", STATUS, absent="not in this run"),
        *(numbers(heading, name, absent=UNDEFINED) for name, heading in _COUNTS.items()),
    )


def quiet_checks(history: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of checks without a finding in any run."""
    loud = _speaking(history)
    return tuple(dict.fromkeys(r["check"] for r in history["checks"] if r["check"] not in loud))


def _speaking(history: Mapping[str, Any]) -> set[str]:
    return {row["check"] for row in history["checks"] if any(map(row.get, _COUNTS))}


def metric_numbers(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """One metric in each run, a row for each of its cuts and runs."""
    return table(
        f"metric-{name.replace('_', '-')}-numbers",
        metric_words.title(name),
        [{**row, "name": row["metric"]} for row in rows],
        texts("Cut", lambda row: metric_words.cut(row) or "all"),
        written("Run", lambda row: str(row["run"])),
        written("Value", lambda row: Ranged(metric_words.value(row), metric_words.interval(row))),
        written("Of", metric_words.of),
    )


def findings_table(history: Mapping[str, Any]) -> Table | None:
    """Every finding of any run, those of the last runs first; None without any."""
    rows = history["findings"][:FINDINGS]
    return optional_table(
        "finding-table",
        "Findings: since which run, until which, and their sentence there",
        rows,
        texts("Now", lambda row: _now(row, len(history["runs"]))),
        texts("Severity", _severity),
        codes("Check", "check"),
        written("From run", lambda row: str(row["first"])),
        written("To run", lambda row: str(row["last"])),
        texts("Nodes", lambda row: node_list(row["nodes"], _NODES) if row["nodes"] else UNDEFINED),
        texts("Sentence", lambda row: row["statement"] or "See the run’s own report."),
        left_out=len(history["findings"]) - len(rows),
    )


def _now(row: Mapping[str, Any], runs: int) -> Badge:
    step = row["steps"][-1]
    now = "Gone earlier" if step is None and row["last"] < runs else STEP[step]
    return Badge(now, STEP_TONE.get(step, "plain"))


def _severity(row: Mapping[str, Any]) -> Badge:
    severity = badge(row["severity"], SEVERITY)
    return Badge(f"{severity.word}, answered for", "plain") if row["waived"] else severity
