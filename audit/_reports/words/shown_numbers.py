"""How the numbers of measured rows are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from audit._reports.words.parts import Cell, Ranged
from audit._reports.words.words import (
    UNDEFINED,
    columns_of,
    decimal,
    evidence_value,
    listed,
    number,
    percent,
    shortened,
    span,
)

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]

PLACES = 3
"""Decimals of the numbers in tables."""
LABEL = 38
"""Greatest width of a line's label in columns."""


def plain(row: Row, name: str, places: int = PLACES) -> str:
    """A number of a row.

    >>> plain({"r": 0.5}, "r"), plain({"r": None}, "r")
    ('0.500', '–')
    """
    return minus(decimal(row[name], places))


def signed(row: Row, name: str, places: int = PLACES) -> str:
    """A difference of a row, with its sign.

    >>> signed({"gain": 0.25, "n": 40}, "gain"), signed({"gain": -0.0001, "n": 40}, "gain")
    ('+0.250', '0.000')
    """
    text = plain(row, name, places)
    positive = row[name] is not None and text[0] != "−" and text.strip("0.,")
    return f"+{text}" if positive else text


def interval(row: Row, low: str = "low", high: str = "high") -> str:
    """The interval of a row's number; a dash without one."""
    return span(plain(row, low), plain(row, high))


def with_interval(text: str, row: Row, low: str = "low", high: str = "high") -> str:
    """A number with its interval, if it has one."""
    if text == UNDEFINED or row[low] is None or row[high] is None:
        return text
    return f"{text} ({interval(row, low, high)})"


def share(row: Row, name: str = "share") -> str:
    """A share of a row as a percentage.

    >>> share({"share": 0.5}), share({"share": None})
    ('50.0%', '–')
    """
    return percent(row[name])


def ranged(text: str, row: Row, low: str = "low", high: str = "high") -> Cell:
    """A number with its interval below it, as percentages if the number is one.

    >>> ranged("0.250", {"low": 0.125, "high": 0.5, "n": 4})
    Ranged(text='0.250', interval='0.125 to 0.500')
    >>> ranged("25.0%", {"low": 0.125, "high": 0.5, "n": 4}).interval
    '12.5% to 50.0%'
    >>> ranged("–", {"low": None, "high": None, "n": 0})
    '–'
    """
    if text == UNDEFINED or row[low] is None or row[high] is None:
        return text
    if text.endswith("%"):
        return Ranged(text, f"{share(row, low)} to {share(row, high)}")
    return Ranged(text, interval(row, low, high))


def chance(row: Row, name: str) -> str:
    """A p-value or q-value."""
    value = row[name]
    return evidence_value("p_value", value, {})


def count(row: Row, name: str = "n") -> str:
    """A count as published."""
    return number(row[name])


def minus(text: str) -> str:
    """The text of a number with a true minus sign; of one that rounds to zero, without sign.

    >>> minus("-0.10"), minus("-0.00")
    ('−0.10', '0.00')
    """
    bare = text.removeprefix("-")
    return text if bare == text else f"−{bare}" if bare.strip("0.,") else bare


def bounds(row: Row) -> dict[str, float | None]:
    """The interval to be drawn, None at both ends where there is none."""
    known = row["low"] is not None and row["high"] is not None
    return {"low": row["low"] if known else None, "high": row["high"] if known else None}


def line_label(text: str, width: int = LABEL) -> str:
    """A label within its room, cut in the middle, since names of one kind often begin alike.

    >>> line_label("integrated_gradients_plain", 20)
    'integrated…nts_plain'
    """
    if columns_of(text) <= width:
        return text
    kept = width // 2
    return f"{shortened(text, kept + 1)}{text[-(width - kept - 1) :]}"


def names(texts: Iterable[str]) -> str:
    """Names as a sentence lists them."""
    return listed([str(text) for text in texts])


def grouped(rows: Rows, by: Sequence[str]) -> list[list[Row]]:
    """Rows that are alike in some fields, together, in the order in which they come.

    >>> grouped([{"k": 1, "n": 5}, {"k": 2, "n": 6}, {"k": 1, "n": 7}], ["k"])
    [[{'k': 1, 'n': 5}, {'k': 1, 'n': 7}], [{'k': 2, 'n': 6}]]
    """
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return list(groups.values())


def mean(numbers: Sequence[float | None]) -> float | None:
    """The mean; None if a number is missing, or all are.

    >>> mean([0.25, 0.75]), mean([0.5, None])
    (0.5, None)
    """
    known = [one for one in numbers if one is not None]
    return sum(known) / len(known) if known and len(known) == len(numbers) else None
