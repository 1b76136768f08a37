"""Layout of printed tables: column widths, and the number of lines of each row.

Widths are measured in characters of average width, so that the layout depends only on the text: it
is the same on every machine, and the typesetter need not measure each word.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from math import ceil

from reports.words.parts import (
    Badge,
    Cell,
    Code,
    Codes,
    Column,
    Judged,
    Linked,
    Named,
    Node,
    Nodes,
    Ranged,
    Table,
)
from reports.words.words import columns_of

ROOM = 118
"""Characters across the page."""
GUTTER = 2
"""Characters between columns."""

_WHOLE = 24
"""A word up to this long, or a number with its unit, stays on one line where there is room."""


def widths(table: Table, room: int = ROOM) -> tuple[float, ...]:
    """Share of each column in the width of a table; the shares sum to one.

    Every column gets the width of its longest word; the rest is divided by amount of text.
    """
    rows = (*table.rows, *((table.total,) if table.total else ()))
    columns = list(zip_longest(*rows, fillvalue="")) or [()] * len(table.columns)
    least = [
        _least(column, cells) + GUTTER for column, cells in zip(table.columns, columns, strict=True)
    ]
    wanted = [max(low, _wanted(cells) + GUTTER) for low, cells in zip(least, columns, strict=True)]
    spare, asked = room - sum(least), sum(wanted) - sum(least)
    part = max(0.0, spare / asked if asked else 0.0)
    given = [
        low + part * (want - low) if part < 1 else want
        for low, want in zip(least, wanted, strict=True)
    ]
    return tuple(one / sum(given) for one in given)


def lines(table: Table, room: int = ROOM) -> tuple[int, ...]:
    """Estimated number of lines of each row."""
    given = [max(1.0, share * room - GUTTER) for share in widths(table, room)]
    return tuple(
        max(height(cell, width) for cell, width in zip(row, given, strict=False))
        for row in table.rows
    )


def height(cell: Cell, width: float) -> int:
    """Estimated number of lines of a cell."""
    return sum(max(1, ceil(columns_of(line) / width)) for line in _text(cell))


def _least(column: Column, cells: tuple[Cell, ...]) -> float:
    words = [word for cell in cells for word in _words(cell, column.numeric)]
    headings = column.heading.split()
    return max((min(columns_of(word) * 1.1, _WHOLE) for word in (*headings, *words)), default=1)


def _wanted(cells: tuple[Cell, ...]) -> float:
    return max(
        (min(columns_of(line), 2 * ROOM) for cell in cells for line in _text(cell)), default=1
    )


def _words(cell: Cell, numeric: bool) -> Iterator[str]:
    for line in _text(cell):
        yield from [line] if numeric and columns_of(line) <= _WHOLE else line.split()


def _text(cell: Cell) -> tuple[str, ...]:
    match cell:
        case str():
            return (cell,)
        case Node():
            return (cell.text,)
        case Nodes():
            more = (f"and {cell.more:,} more",) if cell.more else ()
            return (*(node.text for node in cell.nodes), *more)
        case Badge():
            return (_badge(cell),)
        case Judged():
            return (_badge(cell.badge), *cell.lines)
        case Linked():
            return (cell.text,)
        case Code():
            return (cell.shown or cell.text,)
        case Codes():
            return (", ".join(cell.texts),)
        case Named():
            return (cell.text, cell.name)
        case Ranged():
            return (cell.text, cell.interval)


def _badge(badge: Badge) -> str:
    """As many characters as a badge takes, which is never broken."""
    return f"{'_' * 4}{badge.word.replace(' ', '_')}"
