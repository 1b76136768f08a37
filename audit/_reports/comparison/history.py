"""The page of several runs: its sections, and the content of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit._reports.comparison import history_tables
from audit._reports.html import Section
from audit._reports.words.parts import Table, Verdict
from audit._reports.words.words import number

SECTIONS = (
    Section("history", "runs", "The runs"),
    Section("history", "checks", "Checks"),
    Section("history", "metrics", "Metrics"),
    Section("history", "findings", "Findings"),
    Section("history", "limits", "Limits"),
)


@dataclass(frozen=True, slots=True)
class HistoryReport:
    """Everything that the templates of a history show."""

    verdict: Verdict
    order: str
    runs: Table
    steps: Table
    checks: Table | None
    quiet: tuple[str, ...]
    metrics: tuple[Table, ...]
    further_metrics: str
    findings: Table | None
    limits: tuple[str, ...]


def build(history: Mapping[str, Any]) -> HistoryReport:
    """Make the content of the page from a history."""
    further = sum(row["scope"] != "all" for row in history["metrics"])
    return HistoryReport(
        verdict=history_tables.history_verdict(history),
        order=history_tables.order(history),
        runs=history_tables.runs_table(history),
        steps=history_tables.steps_table(history),
        checks=history_tables.check_numbers(history),
        quiet=history_tables.quiet_checks(history),
        metrics=history_tables.metric_tables(history),
        further_metrics=number(further) if further else "",
        findings=history_tables.findings_table(history),
        limits=history_tables.limits(history),
    )
