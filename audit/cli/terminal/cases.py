"""Findings with their numbers of cases in a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from audit.base.plurals import counted
from audit.cli.terminal.tables import STYLE, one_line
from audit.runs.case_lists import Listed


def case_summary(findings: Iterable[Listed]) -> Group:
    """Findings with their numbers of cases; ids are on lines of their own."""
    parts: list[RenderableType] = []
    for one in findings:
        many = f"  {counted(one.cases, 'cases')}"
        parts.append(Text.assemble((one.severity, STYLE[one.severity]), f"  {one.check}{many}"))
        parts.append(Text(f"  {one_line(one.id)}", no_wrap=True, overflow="ignore"))
        parts.append(Padding(Text(one_line(one.statement)), (0, 0, 0, 2)))
    return Group(*parts or [Text("No check has found anything.")])
