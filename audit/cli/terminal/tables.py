"""Words, colours and tables that everything in a terminal shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from audit.base.errors import printable

if TYPE_CHECKING:
    from reports.render import Chapter

WIDEST = 120
"""Greatest width in columns, even in a wider terminal: longer lines are hard to read."""
LONGEST = 280
"""Greatest number of characters of a sentence, since titles may be of any length."""
STYLE = {
    "error": "bold red",
    "fail": "bold red",
    "warn": "yellow",
    "warning": "yellow",
    "note": "cyan",
    "pass": "green",
    "holds": "green",
    "does not hold": "bold red",
}
"""The style of a status, a severity or an outcome."""


def one_line(text: object) -> str:
    """A text on one line, without control characters."""
    return printable(" ".join(str(text).split()))


def whole(text: object, style: str = "") -> Text:
    """What a reader copies, on a line that is never broken."""
    return Text(one_line(text), style, no_wrap=True, overflow="ignore")


@dataclass(frozen=True)
class Ending:
    """A line that ends with what a reader copies; this has its own where both are too wide."""

    said: Text
    copied: str

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Called by Rich."""
        end = whole(self.copied, "dim")
        both = Text.assemble(self.said, "  ", end)
        yield from [both] if both.cell_len <= options.max_width else [self.said, end]


def status_word(status: str) -> Text:
    """A status in its colour."""
    return Text(status, STYLE.get(status, ""))


def listed(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table of rows of plain text below headings."""
    return filled(table(*headings), rows)


def table(*headings: str, right: int = 0) -> Table:
    """A table without lines; the last columns are numbers, set to the right."""
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for place, heading in enumerate(headings):
        number = place >= len(headings) - right
        made.add_column(
            heading, justify="right" if number else "left", no_wrap=number, overflow="fold"
        )
    return made


def chapter(made: Chapter) -> Iterator[RenderableType]:
    """A chapter of a report: its sentence, and the first rows of its tables."""
    if made.lead:
        yield Text(one_line(made.lead))
    for one in made.tables:
        yield ""
        if one.title:
            yield Text(one_line(one.title), "bold")
        lines = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for heading in one.headings:
            lines.add_column(heading.text, justify="right" if heading.numeric else "left",
                             overflow="fold")  # fmt: skip
        yield filled(lines, [[cell.said for cell in row] for row in one.rows])
        if one.more:
            yield Text(f"and {one.more:,} more", "dim")


def filled(empty: Table, rows: Iterable[Sequence[str]]) -> Table:
    """The table with rows of plain text added to it."""
    for row in rows:
        empty.add_row(*(Text(one_line(cell)) for cell in row))
    return empty
