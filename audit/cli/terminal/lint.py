"""Faults of a hierarchy in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from audit.base.plurals import counted
from audit.cli.terminal.summary import read_as_lines
from audit.cli.terminal.tables import LONGEST, STYLE, one_line, status_word, table
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.lint.finding import LintFinding
from audit.hierarchies.lint.linting import LintResult

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
    each = (_lint(finding, result.hierarchy) for finding in result.findings)
    return Group(*readings, heading, "", rules, *each)


def _lint(finding: LintFinding, hierarchy: Hierarchy) -> Group:
    severity = (finding.severity, STYLE[finding.severity])
    named = Text.assemble(severity, (f"  {finding.rule}", "dim"))
    lines = [finding.statement]
    if finding.rule != "cycle":
        lines += [f"- {_lint_case(case, hierarchy)}" for case in finding.cases[:TOP]]
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
