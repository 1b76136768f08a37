"""Tables as data: a column is its heading, what it says of a row, and how that is written.

A column says a field of its rows, or what a function makes of a row. A field that a row lacks is
an error; a field that is None is written as a dash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

from audit._reports.words.parts import Badge, Cell, Code, Column, Named, Node, Nodes, Table
from audit._reports.words.shown_numbers import (
    PLACES,
    Row,
    Rows,
    chance,
    grouped,
    interval,
    plain,
    ranged,
    share,
    signed,
    with_interval,
)
from audit._reports.words.words import TONE, UNDEFINED, number, percent, span, words

Said: TypeAlias = str | int | Callable[[Any], Any]
"""The name of a field, its place in rows that are tuples, or a function of a row."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A column of a table: its heading, and what it says of a row."""

    heading: str
    cell: Callable[[Any], Cell]
    numeric: bool = False


def table(
    id_: str,
    caption: str,
    rows: Iterable[Any],
    *columns: Spec | None,
    total: Any = None,
    left_out: int = 0,
) -> Table:
    """A line per row, and a cell per column.

    Args:
        total: What the last line is of, if there is one.
    """
    shown = [column for column in columns if column is not None]
    return Table(
        id=id_,
        caption=caption,
        columns=tuple(Column(column.heading, column.numeric) for column in shown),
        rows=tuple(_cells(id_, shown, row) for row in rows),
        total=() if total is None else _cells(id_, shown, total),
        left_out=left_out,
    )


def optional_table(
    id_: str,
    caption: str,
    rows: Sequence[Any],
    *columns: Spec | None,
    total: Any = None,
    left_out: int = 0,
) -> Table | None:
    """A table as `table` makes it; None without rows."""
    made = table(id_, caption, rows, *columns, total=total, left_out=left_out)
    return made if made.rows else None


def _cells(id_: str, columns: Sequence[Spec], row: Any) -> tuple[Cell, ...]:
    cells = []
    for column in columns:
        try:
            cells.append(column.cell(row))
        except KeyError as error:
            error.add_note(f"in the column {column.heading!r} of the table {id_!r}")
            raise
    return tuple(cells)


def _value(said: Said) -> Callable[[Any], Any]:
    return said if callable(said) else itemgetter(said)


def texts(heading: str, said: Said, called: Mapping[str, str] | None = None) -> Spec:
    """A column of words, or of other cells that are no numbers; a dash for None."""
    value = _value(said)

    def cell(row: Any) -> Cell:
        found: Cell | None = value(row)
        if found is None:
            return UNDEFINED
        return found if called is None else words(str(found), called)

    return Spec(heading, cell)


def badge(found: str, called: Mapping[str, str]) -> Badge:
    """A status or severity in a word, with its tone."""
    return Badge(called[found], TONE.get(found, "plain"))


def nodes(heading: str, node: str = "node", title: str = "title") -> Spec:
    """A column of nodes, by the fields of their id and title."""
    return Spec(heading, lambda row: Node(row[node], row[title] or ""))


def node_list(found: Sequence[Row], most: int | None = None) -> Nodes:
    """Nodes in one cell, from their ids and titles, and how many there are beyond the first.

    >>> node_list([{"id": "a", "title": None}, {"id": "b", "title": "B"}], 1)
    Nodes(nodes=(Node(id='a', title='', below=''),), more=1)
    """
    shown = tuple(Node(node["id"], node["title"] or "") for node in found[:most])
    return Nodes(shown, len(found) - len(shown))


def named(heading: str, text: str, name: str) -> Spec:
    """A column of texts with identifiers below them."""
    return Spec(heading, lambda row: Named(row[text], row[name]))


def codes(heading: str, field: str) -> Spec:
    """A column of names that are set as code."""
    return Spec(heading, lambda row: Code(row[field]))


def badges(heading: str, field: str, called: Mapping[str, str], absent: str = UNDEFINED) -> Spec:
    """A column of statuses or severities, each word with its tone; ``absent`` stands for None."""

    def cell(row: Any) -> Cell:
        found = row[field]
        return absent if found is None else badge(found, called)

    return Spec(heading, cell)


def written(heading: str, cell: Callable[[Any], Cell]) -> Spec:
    """A column of numbers that a function of the row writes."""
    return Spec(heading, cell, numeric=True)


def numbers(
    heading: str, said: Said, write: Callable[[Any], str] = number, absent: str = UNDEFINED
) -> Spec:
    """A column of counts, or of other numbers."""
    value = _value(said)

    def cell(row: Any) -> Cell:
        found = value(row)
        return absent if found is None else write(found)

    return written(heading, cell)


def spans(heading: str, write: Callable[[Any], str] = percent) -> Spec:
    """A column of intervals alone."""
    return written(heading, lambda row: span(write(row["low"]), write(row["high"])))


def decimals(heading: str, field: str, places: int = PLACES) -> Spec:
    """A column of decimal numbers."""
    return written(heading, lambda row: plain(row, field, places))


def differences(heading: str, field: str) -> Spec:
    """The same with signs."""
    return written(heading, lambda row: signed(row, field))


def shares(heading: str, field: str = "share") -> Spec:
    """The same as percentages."""
    return written(heading, lambda row: share(row, field))


def chances(heading: str, field: str) -> Spec:
    """The same of p-values or q-values."""
    return written(heading, lambda row: chance(row, field))


def intervals() -> Spec:
    """The same of 95 % intervals."""
    return written("95% interval", interval)


def interval_below(column: Spec, low: str = "low", high: str = "high") -> Spec:
    """The column with the interval of each number below it."""
    return written(column.heading, lambda row: ranged(str(column.cell(row)), row, low, high))


def interval_beside(column: Spec, low: str = "low", high: str = "high") -> Spec:
    """The column with the interval of each number beside it, in brackets."""
    return written(column.heading, lambda row: with_interval(str(column.cell(row)), row, low, high))


def across(field: str, value: Any, column: Spec) -> Spec:
    """The column of those rows of a line of `pivoted` that have a value; a dash without one."""

    def cell(line: Any) -> Cell:
        row = line[field].get(value)
        return UNDEFINED if row is None else column.cell(row)

    return Spec(column.heading, cell, column.numeric)


def pivoted(rows: Rows, by: Sequence[str], field: str) -> list[dict[str, Any]]:
    """A line per combination of some fields: its first row, with its rows by a further field.

    >>> rows = [{"model": "a", "k": 1, "n": 5}, {"model": "a", "k": 2, "n": 7}]
    >>> [line] = pivoted(rows, ["model"], "k")
    >>> line["model"], line["k"][2]["n"]
    ('a', 7)
    """
    return [{**own[0], field: {row[field]: row for row in own}} for own in grouped(rows, by)]
