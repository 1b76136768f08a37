"""The chapter on an analysis that no chapter is written for: its facts and its plain tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reports.words.part_tables import heading
from reports.words.parts import Cell, Codes, Facts, Figure, Table
from reports.words.shown_numbers import UNDEFINED, Rows
from reports.words.table_specs import Spec, table
from reports.words.words import number, precise

LISTED = 200
"""Largest number of rows of a table."""


@dataclass(frozen=True, slots=True)
class PlainAnalysis:
    """What the report says of an analysis that is not known here."""

    facts: Facts
    tables: tuple[Table, ...]
    read: Table | None = None
    figures: tuple[Figure, ...] = ()


def plain_analysis(name: str, entry: Mapping[str, Any]) -> PlainAnalysis:
    """The chapter on an entry of ``result.json``."""
    rest = {one: rows for one, rows in entry.items() if one != "facts" and rows}
    return PlainAnalysis(
        facts=tuple(_facts(entry["facts"])),
        tables=tuple(_table(f"{name}-{one}", one, rows) for one, rows in rest.items()),
    )


def _facts(facts: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        called = f"{above}, {heading(name).lower()}" if above else heading(name)
        if isinstance(value, Mapping):
            yield from _facts(value, called)
        else:
            yield called, _text(value)


def _table(id: str, name: str, rows: Rows) -> Table:
    further = len(rows) - LISTED
    left_out = f"; {number(further)} more in result.json" if further > 0 else ""
    return table(
        id,
        f"{heading(name)}{left_out}",
        rows[:LISTED],
        *(_column(rows, one) for one in rows[0]),
    )


def _column(rows: Rows, name: str) -> Spec:
    """The column of a field; it is of numbers where one of the rows has a number there."""
    numeric = any(type(row[name]) in (int, float) for row in rows)
    return Spec(heading(name), lambda row: _cell(row[name]), numeric)


def _cell(value: Any) -> Cell:
    return Codes(tuple(map(_text, value))) if isinstance(value, list) else _text(value)


def _text(value: Any) -> str:
    match value:
        case None:
            return UNDEFINED
        case bool():
            return "yes" if value else "no"
        case float():
            return precise(value)
        case int():
            return number(value)
        case list():
            return ", ".join(map(_text, value))
    return str(value)
