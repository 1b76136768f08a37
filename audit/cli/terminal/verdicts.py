"""Outcomes of a verification in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from audit.cli.terminal.tables import one_line, status_word
from audit.runs.verify import Verdict


def verdict_table(found: Sequence[Verdict]) -> Table:
    """Table of verification outcomes."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    table.add_column("checked", no_wrap=True)
    table.add_column("detail", overflow="fold")
    for verdict in found:
        table.add_row(status_word(verdict.outcome), verdict.name, Text(one_line(verdict.detail)))
    return table
