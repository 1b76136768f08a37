"""Budget and layout of the printed report: at most sixty pages for data of any size.

Findings have priority over tables; numbers behind figures are not printed. Rows that do not fit are
left out from the end of a table, and their number is stated there; the attached ``result.json``
holds everything. Widths of columns are measured in characters of average width, so that the layout
depends only on the text: it is the same on every machine, and the typesetter need not measure each
word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import zip_longest
from math import ceil
from typing import Any

from audit._reports.chapters.report import Report
from audit._reports.words.parts import (
    Badge,
    Block,
    Cell,
    Code,
    Codes,
    Column,
    Figure,
    Judged,
    Linked,
    ModelVerdict,
    Named,
    Node,
    Nodes,
    Ranged,
    Table,
    Unfolding,
)
from audit._reports.words.words import columns_of, shortened

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


def line_counts(table: Table, room: int = ROOM) -> tuple[int, ...]:
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
        case Unfolding():
            return (*_text(cell.shown), cell.sentence)


def _badge(badge: Badge) -> str:
    """As many characters as a badge takes, which is never broken."""
    return f"{'_' * 4}{badge.word.replace(' ', '_')}"


PAGES = 60
"""Largest number of pages of the document."""

_HEIGHT = 680.0
"""Points from the first line of a page to its last, less what headings take."""
_LINE, _GAP = 11.2, 6.5
"""Points of a line in a table, and between two rows."""
_FINE_LINE, _FINE_GAP, _FINE_ROOM = 9.2, 4.0, 140
"""The same of findings, and characters across the page."""
_FIXED = 4.0
"""Pages independent of the data, without model and figures: cover, limitations."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on the parts of a report that grow with the data.

    Args:
        text: Characters of a text in a table; of a finding's sentences too.
    """

    table: float = 3.0
    findings: float = 45.0
    text: int = 2_000


BUDGETS = (
    Budget(),
    Budget(table=1.0),
    Budget(table=0.8),
    Budget(table=0.6, findings=34, text=800),
    Budget(table=0.4, findings=28, text=300),
    Budget(table=0.2, findings=20, text=160),
)
"""Budgets from the most readable to the smallest, which always fits; the first that fits is
used.
"""


@dataclass(frozen=True, slots=True)
class Printed:
    """A report reduced to a budget; of the ``rows`` left out, some are ``findings``."""

    report: Report
    tables: int
    rows: int
    findings: int


def printed(report: Report, budget: Budget) -> Printed:
    """Reduce the report to a budget."""
    kept = replace(_within_budget(_said_once(report), budget), blocks=_findings(report, budget))
    left_out = [table.left_out for table in _tables(kept) if table.left_out]
    return Printed(
        report=kept,
        tables=len(left_out),
        rows=sum(left_out),
        findings=sum(one.table.left_out for one in kept.blocks),
    )


SAID = ("hierarchy", "pairs")
"""Figures that are not printed: the first page has the one, findings list what the other draws."""
BESIDE_NO_MODEL = ("frequent-pairs",)
"""Figures that give way to the pages of a model."""
BESIDE_NO_REFERENCE = ("branches",)
"""Figures that give way to the changes since a reference."""


def _said_once(report: Report) -> Report:
    """The report without its findings, and without what these, or the first page, say too."""
    quiet = tuple(row for row in report.checks.rows if not isinstance(row[0], Linked))
    model = report.model
    if model:
        tables = (_not_said(one, report.verdict.model) for one in model.tables)
        model = replace(model, tables=tuple(one for one in tables if one), by_node=())
        if model.exchanges:
            model = replace(model, exchanges=replace(model.exchanges, pairs=None, answers=None))
    since, coverage = report.since_reference, report.coverage
    unprinted = (*SAID, *BESIDE_NO_MODEL) if model else SAID
    if since:
        unprinted = (*unprinted, *BESIDE_NO_REFERENCE)
        if coverage and since.depths:
            coverage = replace(coverage, depths=replace(coverage.depths, rows=()))
    return replace(
        report,
        blocks=(),
        checks=replace(report.checks, rows=quiet),
        figures=tuple(one for one in report.figures if one.id not in unprinted),
        coverage=coverage,
        model=model,
    )


def _not_said(table: Table, verdict: ModelVerdict | None) -> Table | None:
    """Metrics that the first page has not told with their intervals."""
    told = set() if verdict is None else {
        (column.heading, str(cell).replace(_JOINED, " "))
        for row in verdict.table.rows
        for column, cell in zip(verdict.table.columns, row, strict=True)
    }  # fmt: skip
    rows = tuple(row for row in table.rows if _metric(row) not in told)
    return replace(table, rows=rows) if rows else None


_JOINED = "\N{NO-BREAK SPACE}"


def _metric(row: tuple[Cell, ...]) -> tuple[str, str]:
    """The name of a metric in a table of metrics, and its value with its interval."""
    name = row[0].text if isinstance(row[0], Named) else ""
    return name, f"{row[2]} ({row[3]})"


def budgets(report: Report) -> Iterator[Printed]:
    """The report within each budget, from the first that is estimated to fit to the last."""
    for place, budget in enumerate(BUDGETS):
        kept = printed(report, budget)
        if place == len(BUDGETS) - 1 or pages(kept) <= PAGES:
            yield kept


def pages(kept: Printed) -> float:
    """Estimated number of pages of a printed report."""
    report = kept.report
    of_findings = {one.table.id for one in report.blocks}
    tables = sum(_height(table, fine=table.id in of_findings) for table in _tables(report))
    heads = sum(map(_head_height, report.blocks))
    figures = 0.5 * len(report.all_figures)
    return _FIXED + figures + (tables + heads) / _HEIGHT


def _findings(report: Report, budget: Budget) -> tuple[Block, ...]:
    """Each check's findings as rows with their ids; the rest about them is not printed."""
    lines = [_brief(one.table, budget) for one in report.blocks]
    heights = [_height(table, fine=True) for table in lines]
    heads = sum(map(_head_height, report.blocks))
    room = min(1.0, max(0.0, budget.findings * _HEIGHT - heads) / max(1.0, sum(heights)))
    return tuple(
        replace(one, findings=(), table=_within(table, room * height, fine=True))
        for one, table, height in zip(report.blocks, lines, heights, strict=True)
    )


def _within_budget(value: Any, budget: Budget) -> Any:
    """A part of the report, its tables cut but those behind figures."""
    match value:
        case Figure():
            return value
        case Table():
            return _within(_brief(value, budget), budget.table * _HEIGHT)
        case tuple():
            return tuple(_within_budget(one, budget) for one in value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            parts = {field.name: getattr(value, field.name) for field in fields(value)}
            return replace(
                value, **{name: _within_budget(part, budget) for name, part in parts.items()}
            )
    return value


def _tables(value: Any) -> Iterator[Table]:
    """Every table in a part of the report but those behind figures."""
    if isinstance(value, Table):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _tables(one)
    elif is_dataclass(value) and not isinstance(value, Figure):
        for field in fields(value):
            yield from _tables(getattr(value, field.name))


def _brief(table: Table, budget: Budget) -> Table:
    """The table with no text longer than the budget has it."""
    return replace(
        table,
        rows=tuple(tuple(_shortened(cell, budget.text) for cell in row) for row in table.rows),
    )


def _shortened(cell: Cell, width: int) -> Cell:
    match cell:
        case str():
            return shortened(cell, width)
        case Node():
            return _brief_node(cell, width)
        case Nodes():
            return replace(cell, nodes=tuple(_brief_node(node, width) for node in cell.nodes))
        case Named():
            return replace(cell, text=shortened(cell.text, width))
    return cell


def _brief_node(node: Node, width: int) -> Node:
    return replace(node, title=shortened(node.title, width))


def _within(table: Table, height: float, *, fine: bool = False) -> Table:
    """The first rows of a table that take a height at most, one at least."""
    room, taken = height, 0
    for used in _heights(table, fine=fine):
        room -= used
        if room < 0 and taken:
            break
        taken += 1
    return replace(table, rows=table.rows[:taken], left_out=len(table.rows[taken:]))


def _height(table: Table, *, fine: bool) -> float:
    return 30 + sum(_heights(table, fine=fine))


def _heights(table: Table, *, fine: bool) -> Iterator[float]:
    if fine:
        lines = line_counts(table, _FINE_ROOM)
        return (_FINE_GAP + _FINE_LINE * n for n in lines)
    return (_GAP + _LINE * n for n in line_counts(table))


def _head_height(block: Block) -> float:
    """A question, what was looked at, and the advice."""
    texts = [text for one in block.advice for text in (one.curator, one.data_user)]
    return 60 + 12 * sum(height(text, 60) for text in texts)
