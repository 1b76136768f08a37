"""The page of several runs as one HTML file, with pictures, tables and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from audit._reports.chapters.report import printable_view
from audit._reports.charts.small_multiples import Bar, Panel, Point, bars_spec, lines_spec
from audit._reports.charts.svg import draw
from audit._reports.comparison import history_tables
from audit._reports.comparison.history_tables import (
    check_numbers,
    history_verdict,
    limits,
    metric_numbers,
    order,
)
from audit._reports.html import Section, environment, rendering, style
from audit._reports.words import metric_words
from audit._reports.words.parts import Figure, Key, Table, Verdict
from audit._reports.words.words import Imprint, counted, number

STACK = (
    ("error", "error", "errors"),
    ("warning", "warning", "warnings"),
    ("note", "note", "notes"),
    ("waived", "scale-2", "findings that somebody answers for"),
    ("beyond", "expected", "findings folded into others, or beyond those that the run lists"),
)
"""Parts of a bar from the bottom up: name, colour role, and what it stands for."""
ALL = "all"
PANELS = 24
"""Greatest number of little charts of one metric."""


def checks_figure(history: Mapping[str, Any]) -> Figure | None:
    """Findings of every check that has one in some run; None without any."""
    panels = [
        panel
        for _, rows in groupby(history["checks"], key=lambda row: row["check"])
        if (panel := _check_panel(list(rows))) is not None
    ]
    if not panels:
        return None
    runs = len(history["runs"])
    return Figure(
        id="checks",
        title="Findings of each check",
        drawing=draw(bars_spec(panels)),
        alt=f"{counted(len(panels), 'small bar chart')}, one for each check with findings, over "
        f"{counted(runs, 'run')}.",
        caption="Each chart is a check, each bar a run, numbered as in the table of runs; every "
        "chart reaches up to its own highest bar. A grey line on the axis: the check did not run. "
        "No bar: it found nothing.",
        key_title="Each bar, from the bottom",
        key=tuple(Key(role, text) for _, role, text in STACK),
        table=check_numbers(history),
    )


def _check_panel(rows: Sequence[Mapping[str, Any]]) -> Panel | None:
    bars = tuple(_bar(row) for row in rows)
    sums = [sum(n for _, n in bar) for bar in bars if bar is not None]
    highest = max(sums, default=0)
    if not highest:
        return None
    return Panel(title=rows[0]["check"], runs=bars, top=f"{highest:,}", bottom="0")


def _bar(row: Mapping[str, Any]) -> Bar | None:
    if row["error"] is None:
        return None
    counts = {**row, "beyond": row["folded"] + row["not_shown"]}
    return tuple((role, counts[name]) for name, role, _ in STACK)


def metric_figures(history: Mapping[str, Any]) -> tuple[Figure, ...]:
    """A picture for each metric of all instances, with a little chart for each of its cuts."""
    rows = [row for row in history["metrics"] if row["scope"] == ALL]
    names = list(dict.fromkeys(row["metric"] for row in rows))
    figures = (
        _metric_figure(name, [row for row in rows if row["metric"] == name], history)
        for name in names
    )
    return tuple(figure for figure in figures if figure is not None)


def _metric_figure(
    name: str, rows: Sequence[Mapping[str, Any]], history: Mapping[str, Any]
) -> Figure | None:
    cuts: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        cuts.setdefault(repr(row["parameters"]), []).append(row)
    shown = [cut for cut in cuts.values() if any(row["value"] is not None for row in cut)]
    if not shown:
        return None
    drawn = shown[:PANELS]
    reach = [
        row[field]
        for cut in drawn
        for row in cut
        for field in ("value", "low", "high")
        if row["value"] is not None and row[field] is not None
    ]
    low, high = min(reach), max(reach)
    scale = {"name": name, "n": 1}
    ends = [metric_words.value({**scale, "value": end}) for end in (low, high)]
    panels = [_metric_panel(cut, len(history["runs"]), ends) for cut in drawn]
    title = metric_words.heading(name)
    left_out = len(shown) - len(drawn)
    beyond = f" Not drawn: {counted(left_out, 'cut')}, which the table has." if left_out else ""
    return Figure(
        id=f"metric-{name.replace('_', '-')}",
        title=title,
        drawing=draw(lines_spec(panels, low, high)),
        alt=f"{title}: {counted(len(panels), 'small line chart')} over "
        f"{counted(len(history['runs']), 'run')}, from {ends[0]} to {ends[1]}.",
        caption="Each dot is a run, numbered as in the table of runs, with its 95% interval; all "
        "charts have one axis. No dot: the run withholds the number, or it is not defined, or the "
        f"run does not have it.{beyond}",
        key_title="Each dot",
        key=(Key("observed", "the metric over all instances of a run", "dot"),),
        table=metric_numbers(name, [row for cut in shown for row in cut]),
    )


def _metric_panel(cut: Sequence[Mapping[str, Any]], runs: int, ends: Sequence[str]) -> Panel:
    found = {row["run"]: row for row in cut}
    points = (found.get(run) for run in range(1, runs + 1))
    return Panel(
        title=metric_title(cut[0]),
        runs=tuple(
            None
            if row is None or row["value"] is None
            else Point(row["value"], row["low"], row["high"])
            for row in points
        ),
        top=ends[1],
        bottom=ends[0],
    )


def metric_title(metric: Mapping[str, Any]) -> str:
    """What distinguishes a metric from others of its name: its cut, and its other parameters."""
    named = {**metric, "name": metric["metric"]}
    return metric_words.by(named) or metric_words.title(metric["metric"])


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
    """Render the complete file; a `RenderError` if it cannot be."""
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
        runs=history_tables.runs_table(history),
        steps=history_tables.steps_table(history),
        checks=checks_figure(history),
        quiet=history_tables.quiet_checks(history),
        metrics=metric_figures(history),
        further_metrics=number(further) if further else "",
        findings=history_tables.findings_table(history),
        limits=limits(history),
    )
