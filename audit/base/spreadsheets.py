"""Tables for spreadsheets, where text stays text."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.machine import require_package

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LONGEST_NAME = 31
"""Characters of the name of a sheet, at most."""
_LONGEST_CELL = 32_767
"""Characters of a cell, at most."""


def defused(table: pl.DataFrame) -> pl.DataFrame:
    """A table for CSV: a text that a spreadsheet would read as a formula begins with a quote."""
    text = pl.col(pl.String)
    begins = text.str.slice(0, 1).is_in(_FORMULA)
    return table.with_columns(pl.when(begins).then(pl.lit("'") + text).otherwise(text).name.keep())


def defused_text(text: str) -> str:
    """A single text, defused alike.

    >>> defused_text("=1+1"), defused_text("1+1")
    ("'=1+1", '1+1')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def as_before(text: str) -> str:
    """A text as it was before it was defused.

    >>> as_before("'=1+1"), as_before("'n")
    ('=1+1', "'n")
    """
    return text[1:] if text[:1] == "'" and text[1:].startswith(_FORMULA) else text


def write_workbook(tables: Mapping[str, pl.DataFrame], file: Path) -> None:
    """Write tables as the sheets of a workbook of Excel; text is written as text.

    The same tables give the same bytes. A longer name is cut to 31 characters, a longer text to
    32,767.
    """
    with writing_workbook(file) as book:
        heading = book.add_format({"bold": True})
        for name, table in tables.items():
            sheet = book.add_worksheet(name[:_LONGEST_NAME])
            sheet.write_row(0, 0, table.columns, heading)
            sheet.freeze_panes(1, 0)
            cut = table.with_columns(pl.col(pl.String).str.slice(0, _LONGEST_CELL))
            for column, values in enumerate(cut):
                sheet.write_column(1, column, values)


@contextmanager
def writing_workbook(file: Path) -> Iterator[Any]:
    """A workbook of `xlsxwriter` to fill, which is written when the block has ended."""
    require_package("xlsxwriter", "to write a workbook")
    from datetime import UTC, datetime

    from xlsxwriter import Workbook

    plain = dict.fromkeys(("strings_to_formulas", "strings_to_urls"), False)
    stream = io.BytesIO()
    with Workbook(stream, {**plain, "in_memory": True}) as book:
        book.set_properties({"created": datetime(2000, 1, 1, tzinfo=UTC)})
        yield book
    file.write_bytes(stream.getvalue())
