"""The report of a comparison as one HTML file, with text, tables and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from audit._reports.chapters.report import printable_view
from audit._reports.chapters.since_reference import WhatWasMended, what_was_mended
from audit._reports.charts.charts import changes_spec
from audit._reports.charts.svg import draw
from audit._reports.comparison import tables
from audit._reports.comparison.models import Models, metric_changes_table, models
from audit._reports.comparison.words import comparison_verdict, limits
from audit._reports.html import Section, environment, rendering, style
from audit._reports.words.parts import Figure, Key, Node, Table, Verdict
from audit._reports.words.table_specs import nodes, numbers, spans, table
from audit._reports.words.words import (
    UNNAMED,
    Imprint,
    counted,
    node_label,
    number,
    percent,
    points,
)
from audit.results.printed import marked, rounding_of

Imprints: TypeAlias = tuple[Imprint, Imprint]
"""What the old and the new run say of themselves."""


SECTIONS = (
    Section("comparison", "why", "What differs, and why"),
    Section("comparison", "mended", "What was mended"),
    Section("comparison", "model", "The models"),
    Section("comparison", "measures", "What was measured"),
    Section("comparison", "nodes", "Use of nodes"),
    Section("comparison", "pairs", "Pairs"),
    Section("comparison", "checks", "Checks and findings"),
    Section("comparison", "hierarchy", "The hierarchy"),
    Section("comparison", "methods", "What counts as a change"),
    Section("comparison", "limits", "Limits"),
)


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """Everything that the templates of a comparison show."""

    title: str
    stated: tuple[str, ...]
    verdict: Verdict
    tool: str
    schema_version: str
    rounded: bool
    few_rows_differ: bool
    causes: Table
    identity: Table
    mended: WhatWasMended | None
    model: Models | None
    measures: Table | None
    measures_changed: str
    node_totals: Mapping[str, str]
    nodes: Table | None
    figure: Figure | None
    pair_totals: Mapping[str, str]
    pairs: Table | None
    checks: Table
    in_neither: int
    findings: Table | None
    edits: Table | None
    edits_not_shown: int
    terms: Table
    limits: tuple[str, ...]


def comparison_html(shared: Mapping[str, Any], imprints: Imprints | None = None) -> str:
    """Render the complete file; a `RenderError` if it cannot be."""
    with rendering("comparison.html"):
        report = build(printable_view(marked(shared)), imprints or (UNNAMED, UNNAMED))
        template = environment().get_template("comparison.html.jinja")
        absent = {name for name in ("mended", "model", "measures") if getattr(report, name) is None}
        shown = [one for one in SECTIONS if one.id not in absent]
        return template.render(report=report, sections=shown, css=style("screen"), paper=False)


def build(shared: Mapping[str, Any], imprints: Imprints) -> ComparisonReport:
    """Make the content of the report from the shared view and what both runs say of themselves."""
    tool = shared["identity"]["new"]["tool"]
    old, new = (one.printable() for one in imprints)
    edits, changes = shared["edits"], shared.get("mended")
    return ComparisonReport(
        title=_title(shared["identity"], old, new),
        stated=_stated(shared, old, new),
        verdict=comparison_verdict(shared),
        tool=f"{tool['name']} {tool['version']}",
        schema_version=shared["schema_version"],
        rounded=rounding_of(shared) is not None,
        few_rows_differ=shared["few_rows_differ"],
        causes=tables.causes_table(shared["causes"]),
        identity=tables.identity_table(shared),
        mended=what_was_mended(changes, changes and changes["since_reference"]),
        model=models(shared["model"]),
        measures=metric_changes_table(shared.get("measures", ()), id_="measure-change-table"),
        measures_changed=_measures_changed(shared),
        node_totals=_numbers(shared["nodes"]),
        nodes=tables.nodes_table(shared["nodes"]["rows"]),
        figure=changes_figure(shared["nodes"]["rows"]),
        pair_totals=_numbers(shared["pairs"]),
        pairs=tables.pairs_table(shared["pairs"]["rows"]),
        checks=tables.checks_table(shared["checks"]),
        in_neither=sum(map(tables.applies_to_neither, shared["checks"])),
        findings=tables.findings_table(shared["checks"]),
        edits=tables.edits_table(edits["rows"]),
        edits_not_shown=sum(edits["totals"].values()) - len(edits["rows"]),
        terms=tables.terms_table(shared["terms"]),
        limits=limits(shared),
    )


def changes_figure(rows: Sequence[Mapping[str, Any]]) -> Figure | None:
    """The greatest changes of rates, ranked; None if none can be shown."""
    drawn = [row for row in rows if row["difference"] is not None]
    if not drawn:
        return None
    rate = "mean" if drawn[0]["mean_old"] is not None else "rate"
    share = (
        "mean of the groups’ shares that carry"
        if rate == "mean"
        else "share of the instances that carry"
    )
    up = sum(row["difference"] > 0 for row in drawn)
    first = drawn[0]
    return Figure(
        id="changes",
        title="The greatest changes",
        drawing=draw(
            changes_spec(
                [
                    {
                        "label": node_label(row["node"], row["title"], 38),
                        **{name: 100 * row[name] for name in ("difference", "low", "high")},
                        "rates": f"{percent(row[f'{rate}_old'])} → {percent(row[f'{rate}_new'])}",
                    }
                    for row in drawn
                ]
            )
        ),
        alt=f"Ranked dot plot of {len(drawn)} nodes: {up} are carried more than "
        f"before, {len(drawn) - up} less. The greatest change is "
        f"{points(first['difference'])} percentage points, of "
        f"{Node(first['node'], first['title'] or '').text}.",
        caption=f"The {share} a node in NEW, less that in OLD. The line is the 95% interval.",
        key=(
            Key("observed", "difference of the two rates, with its 95% interval", "dot"),
            Key("expected", "no difference", "line"),
        ),
        table=table(
            "changes-numbers",
            "The greatest changes of rates",
            drawn,
            nodes("Node"),
            numbers("Change, points", "difference", points),
            spans("95% interval", points),
        ),
    )


def _title(identity: Mapping[str, Any], old: Imprint, new: Imprint) -> str:
    """The names of both runs; of the data alone where neither has one."""
    names = [run.named(identity[side]["data"]) for side, run in (("old", old), ("new", new))]
    if all(names) and names[0] != names[1]:
        return f"{names[0]} → {names[1]}"
    return names[1] or f"Two releases labelled with {identity['new']['hierarchy']['name']}"


def _stated(shared: Mapping[str, Any], old: Imprint, new: Imprint) -> tuple[str, ...]:
    """The days of both runs where they are known, the version, and how counts are told."""
    tool = shared["identity"]["new"]["tool"]
    first, *_ = old.stated("", None) if old.day else ("",)
    *days, version, counts = new.stated(f"{tool['name']} {tool['version']}", rounding_of(shared))
    between = [f"{first} and {days[0]}"] if old.day and days else days
    return (*between, version, counts)


def _measures_changed(shared: Mapping[str, Any]) -> str:
    rows, changed = shared.get("measures", ()), shared["totals"].get("measures", 0)
    return f"Of {counted(len(rows), 'number')}, the intervals of {number(changed)} do not hold 0."


def _numbers(totals: Mapping[str, Any]) -> dict[str, str]:
    return {name: number(value) for name, value in totals.items() if isinstance(value, int)}
