"""Cells that hold several labels, joined by a sign."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from audit.data.sources import Source

SEPARATORS = (";", "|", ",", " ")
"""Signs that may stand between two labels of one cell, the most telling first."""
_WORD = re.compile(r"\S{1,60}")
_CODE = re.compile(r"\S{0,30}\d\S{0,30}")
_PART = {";": _WORD, "|": _WORD, ",": _CODE, " ": _CODE}
"""What each part must look like for a cell to be taken for several labels: one word; where it is a
comma or a blank that joins them, with a digit in it."""


def separator_of(cells: Sequence[str]) -> str | None:
    """The first sign of `SEPARATORS` that stands between labels of cells; None where none does.

    >>> separator_of(["401.9;250.00", "428.0", ""]), separator_of(["dog cat", "dog"])
    (';', ' ')
    """
    inside = [cell.strip() for cell in cells]
    return next((sign for sign in SEPARATORS if any(sign in cell for cell in inside)), None)


def hold_several(cells: Sequence[str], *, codes: bool = False) -> bool:
    """Whether cells hold several labels each, not texts that are one label.

    Args:
        cells: The first cells of a column.
        codes: Whether each label must have a digit, whatever joins them.

    >>> hold_several(["401.9;250.00", "428.0"]), hold_several(["heart failure, acute"])
    (True, False)
    """
    sign = separator_of(cells)
    if sign is None:
        return False
    parts = [part.strip() for cell in cells for part in cell.split(sign)]
    shape = _CODE if codes else _PART[sign]
    return all(shape.fullmatch(part) for part in parts if part)


def cells_of(source: Source, column: str) -> list[str]:
    """The first cells of a column of text; none of another column."""
    rows = source.head_rows
    if not rows or column not in rows[0] or source.schema.get(column) != pl.String():
        return []
    place = rows[0].index(column)
    return [row[place] for row in rows[1:] if len(row) == len(rows[0])]
