"""The page of several runs as one HTML file, with pictures, tables and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reports.chapters.report import printable_view
from reports.history import tables
from reports.history.figures import ALL, checks_figure, metric_figures
from reports.history.words import history_verdict, limits, order
from reports.html import Section, environment, rendering, style
from reports.words.parts import Figure, Imprint, Table, Verdict
from reports.words.words import number

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

    title: str
    stated: tuple[str, ...]
    verdict: Verdict
    tool: str
    schema_version: str
    order: str
    runs: Table
    steps: Table
    checks: Figure | None
    quiet: tuple[str, ...]
    metrics: tuple[Figure, ...]
    further_metrics: str
    findings: Table | None
    limits: tuple[str, ...]


def history_html(history: Mapping[str, Any]) -> str:
    """Render the complete file.

    Raises:
        RenderError: If the history cannot be rendered.
    """
    with rendering("history.html"):
        template = environment().get_template("history.html.jinja")
        report = build(printable_view(history))
        return template.render(report=report, sections=SECTIONS, css=style("screen"), paper=False)


def build(history: Mapping[str, Any]) -> HistoryReport:
    """Make the content of the page from ``history.json``."""
    tool = f"{history['tool']['name']} {history['tool']['version']}"
    further = sum(row["scope"] != ALL for row in history["metrics"])
    return HistoryReport(
        title=history["title"] or f"Audits of data labelled with {history['hierarchy']}",
        stated=Imprint().stated(tool, history["min_cell"]),
        verdict=history_verdict(history),
        tool=tool,
        schema_version=history["schema_version"],
        order=order(history),
        runs=tables.runs_table(history),
        steps=tables.steps_table(history),
        checks=checks_figure(history),
        quiet=tables.quiet_checks(history),
        metrics=metric_figures(history),
        further_metrics=number(further) if further else "",
        findings=tables.findings_table(history),
        limits=limits(history),
    )
