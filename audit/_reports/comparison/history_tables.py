"""Wording and tables of a history: verdict, findings by run, and what it cannot say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit._reports.words import metric_words
from audit._reports.words.parts import Badge, Code, Named, Ranged, Table, Unfolding, Verdict
from audit._reports.words.shown_numbers import UNDEFINED
from audit._reports.words.table_specs import (
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
from audit._reports.words.words import SEVERITIES, SEVERITY, STATUS, counted, listed, number

STEP: Mapping[str, str] = {
    "appeared": "Listed now",
    "disappeared": "No longer listed",
    "persisting": "Persists",
    "not_asked": "Not asked",
}
"""What becomes of a finding from one run to the next, in words."""
STEP_TONE: Mapping[str, str] = {"appeared": "warning", "disappeared": "pass", "persisting": "note"}
DIFFER: Mapping[str, str] = {
    "hierarchy": "the hierarchy",
    "policy": "the policy",
    "normaliser": "the normaliser",
    "tool": "the tool",
    "min_cell": "the smallest count shown",
}


def history_verdict(history: Mapping[str, Any]) -> Verdict:
    """What became of the findings in the last step, and over all runs."""
    last = history["steps"][-1]
    if last["appeared"]:
        badge = Badge("Other findings are listed", "warning")
    elif last["disappeared"]:
        badge = Badge("Fewer findings are listed", "pass")
    else:
        badge = Badge("The same findings are listed", "pass")
    return Verdict(badge, f"{_last_step(last)} {_trend(history)}")


def _last_step(step: Mapping[str, Any]) -> str:
    return (
        f"Findings from run {step['from']} to run {step['to']}: {step['persisting']:,} persisting, "
        f"{step['appeared']:,} listed now, {step['disappeared']:,} no longer."
    )


def _trend(history: Mapping[str, Any]) -> str:
    ends = history["runs"][0]["run"], history["runs"][-1]["run"]
    nouns = {"error": "errors", "warning": "warnings", "note": "notes"}
    moves = [
        f"{nouns[severity]} from {_sum(history, ends[0], severity)} "
        f"to {_sum(history, ends[1], severity)}"
        for severity in SEVERITIES
    ]
    return f"Over {counted(len(history['runs']), 'run')}, listed findings went: {listed(moves)}."


def _sum(history: Mapping[str, Any], run: int, severity: str) -> str:
    return f"{sum(row[severity] or 0 for row in history['checks'] if row['run'] == run):,}"


def order(history: Mapping[str, Any]) -> str:
    """How the runs are ordered, and why."""
    if history["order"] == "time":
        return "The runs are in the order of the times at which they were made."
    if history["undated"]:
        return (
            "The runs are in the order in which they were named, since "
            f"{counted(history['undated'], 'run')} of them has no time in its manifest."
        )
    return "The runs are in the order in which they were named."


def differences(names: list[str]) -> str:
    """What differs between two neighbouring runs beside their data."""
    return listed([DIFFER[name] for name in names]) if names else "–"


def limits(history: Mapping[str, Any]) -> tuple[str, ...]:
    """What a reader must know before using the history."""
    notes = [
        "Nothing is tested here. Data, hierarchy, policy and tool can change a number, and a "
        "finding near its limit be listed by chance; audit compare says, for two runs, what "
        "changed beyond chance, which findings are new or gone, and why.",
        "Findings are matched by their id, among those that the runs list. One that is listed now "
        "may have been there before, folded or beyond what that run lists.",
        "Each finding has its sentence of the last run that lists it, and no number here is "
        "computed from two runs. What a run withholds is withheld here.",
        "The intervals of a metric are of each run by itself. Two that overlap can still differ.",
    ]
    cells = {run["min_cell"] for run in history["runs"]}
    if len(cells) > 1:
        notes.append(
            f"The runs withhold counts below {listed([str(cell) for cell in sorted(cells)])}. Of "
            f"those that withhold less than the strictest, below {history['min_cell']}, the "
            "metrics and sentences are left out; their own reports have them."
        )
    return tuple(notes)


FINDINGS = 300
"""Greatest number of findings on the page."""
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
_NODES = 2


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
        written(
            "Rows mapped",
            lambda run: Ranged(number(run["rows_mapped"]), f"of {number(run['rows_read'])} read"),
        ),
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


def check_numbers(history: Mapping[str, Any]) -> Table | None:
    """Findings of each check in each run; None without any."""
    loud = _speaking(history)
    return optional_table(
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


def metric_tables(history: Mapping[str, Any]) -> tuple[Table, ...]:
    """Each metric of all instances, a row for each of its cuts and runs."""
    rows = [row for row in history["metrics"] if row["scope"] == "all"]
    names = dict.fromkeys(row["metric"] for row in rows if row["value"] is not None)
    return tuple(_metric(name, [row for row in rows if row["metric"] == name]) for name in names)


def _metric(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
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
        "Findings: since which run, until which; a line unfolds to show its sentence there",
        rows,
        texts("Finding", _finding),
        texts("Now", lambda row: _now(row, len(history["runs"]))),
        texts("Severity", _severity),
        codes("Check", "check"),
        written("Runs", lambda row: f"{row['first']} to {row['last']}"),
        left_out=len(history["findings"]) - len(rows),
    )


def _finding(row: Mapping[str, Any]) -> Unfolding:
    about = node_list(row["nodes"], _NODES) if row["nodes"] else Code(row["check"])
    return Unfolding(about, row["statement"] or "See the run’s own report.")


def _now(row: Mapping[str, Any], runs: int) -> Badge:
    step = row["steps"][-1]
    now = "Listed earlier" if step is None and row["last"] < runs else STEP[step]
    return Badge(now, STEP_TONE.get(step, "plain"))


def _severity(row: Mapping[str, Any]) -> Badge:
    severity = badge(row["severity"], SEVERITY)
    return Badge(f"{severity.word}, answered for", "plain") if row["waived"] else severity
