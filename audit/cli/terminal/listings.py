"""What commands that make no run show in a terminal: faults, verdicts, cases, what changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from audit.base.plurals import counted
from audit.cli.terminal.summary import read_as_lines
from audit.cli.terminal.tables import LONGEST, STYLE, chapter, one_line, status_word, table, whole
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.lint import LintFinding, LintResult
from audit.results.printed import rounding_of, said_at_head

if TYPE_CHECKING:
    import polars as pl

    from audit.runs.case_lists import Listed
    from audit.runs.fixes.judgements import Confirmed
    from audit.runs.verify import Verdict


TOP = 5
"""Number of cases shown of each fault."""


def lint_summary(result: LintResult) -> Group:
    """Faults of a hierarchy: a table of the rules that find some, then each with what to do."""
    stated = result.to_dict()
    sizes = ", ".join(
        counted(stated[name], name.replace("_", " "))
        for name in ("nodes", "edges", "leaves", "repeated_edges")
        if stated[name] or name != "repeated_edges"
    )
    heading = Text(one_line(f"{stated['hierarchy']}: {sizes}; depth {stated['depth']}"))
    readings = read_as_lines(stated["readings"])
    if not result.findings:
        return Group(
            *readings, heading, Text("Nothing is wrong with its structure.", STYLE["pass"])
        )
    rules = table("severity", "rule", "examined", "cases", right=2)
    for finding in result.findings:
        examined = counted(finding.of, finding.unit)
        cells = map(Text, (finding.rule, examined, f"{len(finding.cases):,}"))
        rules.add_row(status_word(finding.severity), *cells)
    each = [_lint_finding(finding, result.hierarchy) for finding in result.findings]
    return Group(*readings, heading, "", rules, *each)


def _lint_finding(finding: LintFinding, hierarchy: Hierarchy) -> Group:
    severity = (finding.severity, STYLE[finding.severity])
    named = Text.assemble(severity, (f"  {finding.rule}", "dim"))
    cases = [f"- {_lint_case(case, hierarchy)}" for case in finding.cases[:TOP]]
    lines = [finding.statement, *cases]
    if (more := len(finding.cases) - TOP) > 0:
        lines.append(f"- and {more:,} more, which --json lists")
    lines.append(f"To do: {finding.advice}")
    return Group("", named, *(Padding(Text(one_line(line)), (0, 0, 0, 2)) for line in lines))


def _lint_case(case: Sequence[str], hierarchy: Hierarchy) -> str:
    described = (
        hierarchy.describe(hierarchy.index(node)) if node in hierarchy else node
        for node in case[:TOP]
    )
    nodes = [one_line(node)[:LONGEST] for node in described]
    more = len(case) - TOP
    return "; ".join([*nodes, *([f"{more:,} more"] if more > 0 else [])])


def verdict_table(found: Sequence[Verdict]) -> Table:
    """Table of verification outcomes."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    table.add_column("checked", no_wrap=True)
    table.add_column("detail", overflow="fold")
    for verdict in found:
        table.add_row(status_word(verdict.outcome), verdict.name, Text(one_line(verdict.detail)))
    return table


def case_summary(findings: Iterable[Listed]) -> Group:
    """Findings with their numbers of cases; ids are on lines of their own."""
    parts: list[RenderableType] = []
    for one in findings:
        many = f"  {counted(one.cases, 'cases')}"
        parts.append(Text.assemble((one.severity, STYLE[one.severity]), f"  {one.check}{many}"))
        parts.append(whole(one.id))
        parts.append(Padding(Text(one_line(one.statement)), (0, 0, 0, 2)))
        if one.labels:
            most = ", ".join(f"{label} {n:,}" for label, n in one.labels)
            parts.append(Padding(Text(one_line(f"Most frequent: {most}"), "dim"), (0, 0, 0, 2)))
    return Group(*parts or [_NOTHING])


def proposal_summary(proposals: pl.DataFrame, findings: int) -> Group:
    """What is proposed for each finding: how many changes of which kind, on how many instances, and
    why; and how many of the findings have no proposal."""
    parts: list[RenderableType] = []
    for one in proposals.partition_by("finding", maintain_order=True):
        parts.append(whole(one["finding"][0]))
        for row in one.iter_rows(named=True):
            sure, on = row["certainty"], counted(row["instances"], "instances")
            said = f"  {row['change']} {counted(row['proposals'], 'labels')} on {on}"
            line = Text.assemble((sure.ljust(7), _SURE[sure]), said)
            parts.append(Padding(line, (0, 0, 0, 2)))
            parts.append(Padding(Text(one_line(row["reason"]), "dim"), (0, 0, 0, 11)))
    if bare := findings - proposals["finding"].n_unique():
        told = "`audit cases RUN` lists their records"
        parts.append(Text(f"{counted(bare, 'findings')} without a proposal: {told}"))
    return Group(*parts or [_NOTHING])


def confirmed_lines(found: Sequence[Confirmed]) -> Group:
    """Id of each finding, or the controls, and the share of judged records called wrong."""
    lines = []
    for one in found:
        lines.append(whole(one.finding or "controls, records without a finding"))
        said = "none judged"
        if one.share is not None:
            low, high = (f"{end:.0%}".rstrip("%") for end in one.share[1:])
            said = f"wrong: {one.wrong:,} of {one.judged:,} judged ({low} to {high} %)"
        if one.concerned is not None:
            about, least, most = one.concerned
            said += f"; about {about:,.0f} of its {one.cases:,} records ({least:,} to {most:,})"
        said += f"; {one.unsure:,} unsure" if one.unsure else ""
        lines.append(Text(f"  {said}", "dim" if one.share is None else ""))
    return Group(*lines)


_NOTHING = Text("No check has found anything.")
_SURE = {"certain": "bold green", "review": "dim"}


def record_lines(records: pl.DataFrame) -> Group:
    """A line a record: its id, in bold what is behind the finding, then its other labels."""
    lines = []
    for row in records.iter_rows(named=True):
        line = Text(one_line(row["instance"]), STYLE["note"])
        for behind, others, kind in (("labels", "others", ""), _ANSWERED):
            if row.get(behind) or row.get(others):
                line.append(f"  {kind}", "dim")
                line.append(one_line(row[behind]), "bold default")
                line.append("; " if row[behind] and row[others] else "", "default")
                line.append(one_line(row[others]), "default")
        lines.append(line)
    return Group(*lines)


_ANSWERED = ("answers", "other_answers", "answered: ")


def history_summary(history: Mapping[str, Any]) -> Group:
    """A history: its runs, their findings and metrics, and what came or went."""
    from reports.compared import history as chapters

    order = "the order of their times"
    if history["order"] == "named":
        order = "the order in which they are named"
    heading = Text(f"{counted(len(history['runs']), 'runs')} in {order}")
    return Group(heading, *(line for one in chapters(history) for line in chapter(one)))


def comparison_summary(shared: Mapping[str, Any]) -> Group:
    """A comparison: whether anything changed, and its tables."""
    from reports.compared import chapters, verdict

    said = said_at_head(rounding_of(shared))
    lines: list[RenderableType] = [Text(said, "dim")] if said else []
    lines.append(Text(one_line(verdict(shared).said)))
    shown = (one for one in chapters(shared) if not one.folded)
    return Group(*lines, *(line for one in shown for line in chapter(one)))
