"""One renderer: declared tables and rows of a view, as cells, tables and chapters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from audit.base.declared import Column, Columns, Table
from audit.results.printed import Rounded
from reports import words
from reports.cells import Cell, cell, text_of
from reports.figures import Drawing, column_scale, draw
from reports.marks import Scale
from reports.words import NOTHING, Row

TEXT = "text"
_NAMED = (TEXT, "whole", "setting")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, and whether numbers stand below it."""

    text: str
    numeric: bool


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table as it is shown: its first rows, and the figures that are drawn of it."""

    title: str
    headings: tuple[Heading, ...]
    rows: tuple[tuple[Cell, ...], ...]
    more: int = 0
    figures: tuple[Drawing, ...] = ()
    note: str = ""
    folded: bool = False

    @property
    def narrow(self) -> bool:
        """Whether it is so small that it is no wider than it needs, and others stand beside it."""
        return len(self.rows[0]) <= 3 and len(self.rows) <= 12 and not self.figures


@dataclass(frozen=True, slots=True)
class Chapter:
    """A heading, a sentence or two, and tables."""

    title: str
    anchor: str
    tables: tuple[ShownTable, ...]
    lead: str = ""
    folded: bool = False
    lines: tuple[str, ...] = ()


def table(
    declared: Table,
    rows: Sequence[Row],
    rounding: Rounded,
    *,
    more: int = 0,
    note: str = "",
    folded: bool = False,
) -> ShownTable | None:
    """A declared table of some rows of a view; None without rows.

    Args:
        more: How many rows there are that the view does not hold.
        note: A sentence below it.
        folded: Whether it stands below a line that unfolds it.
    """
    if not rows:
        return None
    figures = (draw(one, declared.columns, rows, rounding) for one in declared.figures)
    headings, lines, left = _grid(declared, rows, rounding)
    return ShownTable(
        title=declared.title,
        headings=headings,
        rows=lines,
        more=left + more,
        figures=tuple(one for one in figures if one is not None),
        note=note,
        folded=folded,
    )


_Grid = tuple[tuple[Heading, ...], tuple[tuple[Cell, ...], ...], int]


def _grid(declared: Table, rows: Sequence[Row], rounding: Rounded) -> _Grid:
    """Headings, lines of cells, and how many rows more there are."""
    columns = declared.columns
    if declared.across:
        return _across(declared, rows, rounding)
    first = rows[: declared.first]
    shown = _headed(columns, first)
    scales = {one.name: _scale(one, declared, first) for group in shown for one in group}

    def written(group: Sequence[Column], row: Row) -> Cell:
        one = next((one for one in group if _has_value(one, [row])), group[0])
        return cell(one, row, columns, rounding, scales[one.name])

    lines = tuple(tuple(written(group, row) for group in shown) for row in first)
    headings = tuple(Heading(one.heading, one.kind != TEXT) for one, *_ in shown)
    return headings, lines, len(rows) - len(first)


def _headed(columns: Columns, rows: Sequence[Row]) -> list[list[Column]]:
    """The columns that some rows have, those of one heading together: a row has one of them."""
    found: dict[str, list[Column]] = {}
    for one in columns.values():
        if one.heading and _has_value(one, rows):
            found.setdefault(one.heading, []).append(one)
    return [*found.values()]


def _has_value(column: Column, rows: Iterable[Row]) -> bool:
    return any(row.get(column.name) not in (None, "", []) for row in rows)


def _scale(column: Column, declared: Table, rows: Sequence[Row]) -> Scale | None:
    """What the marks of a column are drawn on; None without marks, or where a figure draws it."""
    return None if column.mark is None or declared.figures else column_scale(column, rows)


def _across(declared: Table, rows: Sequence[Row], rounding: Rounded) -> _Grid:
    """The grid of a table in which the values of a column became columns."""
    columns, across = declared.columns, declared.across
    shown = [one for one in columns.values() if one.heading and one.name != across]
    keys = [one for one in shown if one.kind in _NAMED and _has_value(one, rows)]
    numbers = [one for one in shown if one.kind not in _NAMED and _has_value(one, rows)]
    scales = [_scale(one, declared, rows) for one in numbers]
    values = list(dict.fromkeys(row[across] for row in rows))
    lines: dict[str, dict[Any, Row]] = {}
    for row in rows:
        key = repr([row.get(one.name) for one in keys])
        lines.setdefault(key, {})[row[across]] = row
    first = [*lines.values()][: declared.first]
    grid = tuple(
        (
            *(cell(one, next(iter(line.values())), columns, rounding) for one in keys),
            *(
                cell(one, line[value], columns, rounding, scale)
                if value in line
                else Cell(NOTHING, numeric=True)
                for value in values
                for one, scale in zip(numbers, scales, strict=True)
            ),
        )
        for line in first
    )
    headings = [Heading(one.heading, one.kind != TEXT) for one in keys]
    for value in values:
        said = words.name(text_of(value))
        alone = len(numbers) == 1
        headings += [Heading(said if alone else f"{said}, {one.heading}", True) for one in numbers]
    return tuple(headings), grid, len(lines) - len(first)


def chapter(
    title: str,
    tables: Iterable[ShownTable | None],
    *,
    anchor: str,
    lead: str = "",
    folded: bool = False,
) -> Chapter | None:
    """A chapter of the tables that have rows; None if there is none, and nothing is said."""
    shown = tuple(one for one in tables if one is not None)
    return Chapter(title, anchor, shown, lead, folded) if shown or lead else None


def facts(columns: Columns, values: Row, rounding: Rounded, title: str = "") -> ShownTable | None:
    """Facts that have a heading and a value, a line each; a mapping's items have a line each."""
    rows = tuple(_facts(columns, values, rounding))
    return ShownTable(title, (), rows) if rows else None


def _facts(columns: Columns, values: Row, rounding: Rounded) -> Iterator[tuple[Cell, Cell]]:
    for one in columns.values():
        value = values.get(one.name) if one.heading else None
        if isinstance(value, Mapping):
            for name in filter(value.get, value):
                within = cell(replace(one, name=name), value, columns, rounding)
                yield Cell(f"{one.heading}: {words.name(name)}"), within
        elif _has_value(one, [values]) and one.heading:
            yield Cell(one.heading), cell(one, values, columns, rounding)
