"""The chapter of any analysis, of a plugin too: what it found, its tables, and what it read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from audit.base.declared import Columns, Table
from audit.results.parts import OTHERS
from audit.results.printed import Rounded
from reports import words
from reports.cells import Cell, cell
from reports.render import Chapter, ShownTable, chapter, table
from reports.words import Row

_COUNTED = ("text", "whole", "setting", "exact", "count")
"""Kinds that say what a row is and how much it is of, and not what was measured."""


class Analysed(NamedTuple):
    """The chapter of an analysis, and what is folded of it; None for what has nothing to show."""

    shown: Chapter | None
    folded: Chapter | None


def analyses(view: Mapping[str, Any], rounding: Rounded) -> tuple[Analysed, ...]:
    """The chapters of each analysis of a view, in its order."""
    parts = {**view, **view.get(OTHERS, {})}
    declared = view.get("tables", {})
    return tuple(_analysed(name, parts[name], one, rounding) for name, one in declared.items())


def _analysed(
    name: str, part: Mapping[str, Any], declared: Mapping[str, Any], rounding: Rounded
) -> Analysed:
    every = {one: Table.read(stored) for one, stored in declared["tables"].items()}
    made = {fold: _tables(every, part, rounding, fold=fold) for fold in (False, True)}
    stated = _facts(Columns.read(declared["facts"]), part["facts"], rounding)
    title = declared["title"]
    return Analysed(
        chapter(title, made[False], anchor=name, lead=declared["sentence"]),
        chapter(f"{title}: further tables", [*made[True], stated], anchor=f"{name}-further",
                folded=True),
    )  # fmt: skip


def _tables(
    every: Mapping[str, Table], part: Mapping[str, Any], rounding: Rounded, *, fold: bool
) -> list[ShownTable | None]:
    return [
        table(one, _telling(one, part[name]), rounding)
        for name, one in every.items()
        if one.fold is fold
    ]


def _telling(declared: Table, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows that tell what was measured, where the table shows more than counts."""
    shown = (one for one in declared.columns.values() if one.heading)
    measured = [one.name for one in shown if one.kind not in _COUNTED]
    return [row for row in rows if any(row[name] is not None for name in measured)] or (
        [] if measured else rows
    )


def _facts(columns: Columns, values: Row, rounding: Rounded) -> ShownTable | None:
    """What was read, a line each; counts by reason without those that are none."""
    lines = tuple(_lines(columns, values, rounding))
    return ShownTable("What was read", (), lines) if lines else None


def _lines(columns: Columns, values: Row, rounding: Rounded) -> Iterator[tuple[Cell, Cell]]:
    for one in columns.values():
        value = values.get(one.name)
        if isinstance(value, Mapping):
            for name in filter(value.get, value):
                said = f"{one.heading}: {words.name(name)}"
                yield Cell(said), cell(replace(one, name=name), value, columns, rounding)
        elif value not in (None, "", []):
            yield Cell(one.heading), cell(one, values, columns, rounding)
