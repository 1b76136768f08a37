"""Wording of a history: its verdict, what becomes of findings, and what it cannot say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.words.parts import Badge, Verdict
from reports.words.words import SEVERITIES, counted, listed

STEP: Mapping[str, str] = {
    "new": "New",
    "gone": "Gone",
    "persisting": "Persists",
    "appeared": "Listed now",
    "disappeared": "No longer listed",
    "not_asked": "Not asked",
}
"""What becomes of a finding from one run to the next, in words."""
STEP_TONE: Mapping[str, str] = {"new": "warning", "gone": "pass", "persisting": "note"}
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
    if last["new"]:
        badge = Badge("New findings", "warning")
    elif last["gone"]:
        badge = Badge("Fewer findings", "pass")
    elif last["appeared"] or last["disappeared"]:
        badge = Badge("Other findings are listed", "note")
    else:
        badge = Badge("No finding is new or gone", "pass")
    return Verdict(badge, f"{_last_step(last)} {_trend(history)}")


def _last_step(step: Mapping[str, Any]) -> str:
    kinds = ("new", "gone", "persisting")
    counts = listed([f"{step[kind]:,} {kind}" for kind in kinds])
    return f"From run {step['from']} to run {step['to']}, findings are {counts}."


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
        "A change of a number is not tested here. Data, hierarchy, policy and tool can change it; "
        "audit compare shows, for two runs, what changed beyond chance, and why.",
        "Findings are matched by their id, among those that the runs list. Where a run has "
        "folded findings of a check, or has more than it lists, a finding is not said to be new "
        "or gone: it may have been there unlisted.",
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
    broken = [run["name"] for run in history["runs"] if run["broken"]]
    if broken:
        notes.append(f"Read although not as they were sealed: {listed(broken)}.")
    return tuple(notes)
