"""Joined labels: one row per instance, and all its labels in one cell, joined by a sign."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from audit.base.files import called
from audit.data.label_format import (
    Batches,
    Columns,
    LabelFormat,
    RawLabels,
    exploded,
    id_beside,
    raw_labels,
)
from audit.data.label_formats import caml
from audit.data.records import column_for, id_among, parts, pick, tidy
from audit.data.sources import Source
from audit.data.unnamed_columns import unnamed_columns

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


_NAMES = ("labels", "label", "codes")
"""Names of the column of labels unless the user names one; case is ignored."""


def read(source: Source, columns: Columns) -> RawLabels:
    """Read a table with a row per instance, its labels joined in one cell; a blank one holds none.

    Labels are joined by the first sign of `SEPARATORS` that the first cells show; where they show
    none, each holds one label.

    Raises:
        SchemaError: If a column is missing.
    """
    label = _label_column(source, columns.label)
    frame = source.table()
    instance, taken = id_beside(frame, columns, [label], source)
    mentions = pick(frame, source, instance=instance, **columns.beside)
    cells = tidy(frame.select(label), source)
    listed = mentions.with_columns(cells.select(labels=_split(source, label)).to_series())
    raw = raw_labels(exploded(listed), listed, source)
    return replace(raw, unnamed=unnamed_columns(frame, instance, taken, source))


def matches(source: Source) -> bool:
    """Whether a column named ``labels``, ``label`` or ``codes`` has cells with several codes."""
    named = called(source.schema, _NAMES)
    if len(named) != 1 or caml.matches(source):
        return False
    one_label = named[0].strip().lower() == "label"
    return hold_several(cells_of(source, named[0]), codes=one_label)


def _label_column(source: Source, named: str | None) -> str:
    names = list(source.schema)
    usual = called(names, _NAMES) or _NAMES
    return column_for("label", named or usual[0], names, source)


def _split(source: Source, column: str) -> pl.Expr:
    """The labels in the cells of a column, blanks between two signs left out."""
    sign = separator_of(cells_of(source, column))
    return parts(pl.col(column), sign or "\0").list.drop_nulls()


def columns_in_batches(source: Source, instance: str | None, label: str | None) -> tuple[str, str]:
    """The columns of the instance's id and of the joined labels, as `read` finds them."""
    label = _label_column(source, label)
    instance = id_among(list(source.schema), instance, {label}, source)
    source.refuse_numbers(instance, label)
    return instance, label


def frames_in_batches(
    source: Source, instance: str, label: str, at_once: int, start: int
) -> Iterator[pl.DataFrame]:
    """Frames of ids and lists of labels."""
    for frame in source.frames([instance, label], at_once, start):
        yield frame.with_columns(_split(source, label))


BATCHES = Batches(columns_in_batches, frames_in_batches)

FORMAT = LabelFormat(
    name="joined",
    title="CSV, TSV or Parquet with a row per instance and its codes in one cell, joined by ; , |"
    " or a blank",
    matches=matches,
    read=read,
    batches=BATCHES,
)
