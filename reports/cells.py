"""Cells: fields of one row, written by the kinds of their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from audit.base.declared import Column, Columns
from audit.results.printed import Rounded, few, whole
from reports import words
from reports.marks import Scale, mark
from reports.words import NOTHING, Row

NO_MARK = Markup("")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its words, smaller ones behind them, and what is drawn beside them.

    Args:
        id: The finding that its row is; empty for other rows.
        tone: Its severity.
        parts: Lines that are folded below its id.
    """

    text: str
    small: str = ""
    mark: Markup = NO_MARK
    numeric: bool = False
    id: str = ""
    tone: str = ""
    parts: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """The words of the cell in one line."""
        return f"{self.text} ({self.small})" if self.small else self.text


def cell(
    column: Column, row: Row, columns: Columns, rounding: Rounded, scale: Scale | None = None
) -> Cell:
    """A cell of a row, written by the kind of its column from fields of the row alone.

    Args:
        columns: The columns of the table, among which those stand that the cell names beside.
        rounding: ``rounding`` of the view.
        scale: What its mark is drawn on; None for no mark.
    """
    value = row.get(column.name)
    if column.words and isinstance(value, str):
        value = words.name(value)
    if column.kind == "text":
        return Cell(text_of(value, row.get(column.title)))
    text = written(column, value, row, columns, rounding)
    beyond = row.get("beyond") if column.kind == "metric" else None
    text = f"{beyond} {text}" if beyond else text
    if column.among and row.get(column.among) is not None:
        of = columns.get(column.among, column)
        alike = value == row[column.among] and not few(value, rounding)
        text = "most" if rounding and alike else text
        among = whole(row[column.among], of.total, rounding)
        text = f"{text} of {written(of, among, row, columns, rounding)}"
    low, high = ends = ([row.get(name) for name in column.ends] + [None, None])[:2]
    between = ""
    if low is not None and high is not None:
        between = " to ".join(written(column, end, row, columns, rounding) for end in ends)
    drawn = NO_MARK
    if scale is not None and column.mark is not None and isinstance(value, int | float):
        beside = (row.get(one) for one in (column.mark.limit, column.mark.reference))
        drawn = mark(scale, value, (low, high), *beside)
    return Cell(text, between, drawn, numeric=True)


def text_of(value: Any, title: str | None = None) -> str:
    """A text of a row, a flag, or a list; a node with its title."""
    match value:
        case None | "":
            return NOTHING
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return words.listed([str(one) for one in value])
        case int() | float():
            return words.number(value)
    return words.node(str(value), title)


def _count_behind(column: Column, row: Row, columns: Columns) -> int | None:
    """The count that the last name in ``of`` gives, or that is behind the share it names."""
    of = column.of[-1] if column.of else ""
    if of in columns and columns[of].kind == "share":
        return _count_behind(columns[of], row, columns)
    found: int | None = row.get(of)
    return found


def written(column: Column, value: Any, row: Row, columns: Columns, rounding: Rounded) -> str:
    """A number, or an end of its interval, by the kind of its column."""
    if value is None or isinstance(value, str):
        return value or NOTHING
    n = _count_behind(column, row, columns)
    if column.unit == "%":
        return words.percent(value, n, rounding)
    match column.kind:
        case "count":
            return words.count(value, rounding)
        case "sum":
            return words.count(value, rounding) if rounding else words.number(value)
        case "share":
            return words.percent(value, n, rounding)
        case "difference":
            return words.points(value, n, rounding)
        case "metric":
            shown = _apart if column.unit == "points" else _metric
            return shown(str(row[column.of[0]]), value, n, rounding)
    return words.number(value)


def _apart(name: str, value: float, n: int | None, rounding: Rounded) -> str:
    """The difference of two values of a metric, with its sign; of shares in points."""
    if name in words.METRICS and name not in words.DECIMALS:
        return words.points(value, n, rounding)
    return f"{'+' if value > 0 else ''}{words.number(value)}"


def _metric(name: str, value: float, n: int | None, rounding: Rounded) -> str:
    if name not in words.METRICS:
        return words.number(value)
    places = words.DECIMALS.get(name)
    if places is None:
        return words.percent(value, n, rounding)
    return f"{value:,.{places}f}".replace("-", "−")
