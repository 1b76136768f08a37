"""Code dates: the periods in which each code could be assigned, read from a table."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import NamedTuple

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import name_among, read_table

_KINDS = {
    "code": (pl.String,),
    "first": (pl.String, pl.Date, pl.Datetime, pl.Null),
    "last": (pl.String, pl.Date, pl.Datetime, pl.Null),
}
_DAY = r"^(\d{4}-\d{2}-\d{2})(?:[ T].*)?$"


class Spell(NamedTuple):
    """A period in which a code could be assigned, both days included; None: open on that side."""

    code: str
    first: date | None
    last: date | None


def as_days(written: pl.Series) -> pl.Series:
    """Parse texts that begin with ``YYYY-MM-DD`` as days; a time after the day is ignored.

    Null if the text is null or not a day.
    """
    return written.str.extract(_DAY).str.to_date("%Y-%m-%d", strict=False)


def read_code_dates(path: Path) -> tuple[Spell, ...]:
    """Read the spells of a CSV or Parquet table with columns ``code, first, last``.

    An empty first or last day leaves the spell open on that side. A code with several periods has
    several rows. The result is sorted by code and first day.

    Raises:
        InputError: If the file cannot be read.
        SchemaError: If a column is missing, there is no row, a row has no code, a day cannot be
            read or lies before the first, or two spells of a code as written share a day.
    """
    rows = _rows(path)
    spells = rows.with_columns(as_days(rows[name]) for name in ("first", "last"))
    lapsed = spells.filter(pl.col("last") < pl.col("first"))
    _refuse(lapsed, "the last day of a code must not be before its first", path)
    spells = spells.sort("code", "first", nulls_last=False)
    _refuse(spells.filter(_overlaps()), "the periods of a code must not share a day", path)
    return tuple(Spell(*spell) for spell in spells.iter_rows())


def _rows(path: Path) -> pl.DataFrame:
    """The three columns as text, null where blank; rows that say nothing are left out."""
    table = read_table(path)
    hint = f"a table of code dates has the columns {', '.join(_KINDS)}"
    found = {name: table[name_among(table.columns, name, path, hint)] for name in _KINDS}
    others = [name for name, kinds in _KINDS.items() if found[name].dtype not in kinds]
    if others:
        raise SchemaError(
            "codes must be text, so that no leading zero is lost, and days be text or dates",
            found=first_cases(f"{name} of type {found[name].dtype}" for name in others),
            where=path,
        )
    text = pl.DataFrame({name: _text(values) for name, values in found.items()})
    rows = text.filter(~pl.all_horizontal(pl.all().is_null()))
    if rows.is_empty():
        raise SchemaError("a table of at least one code is required", found="no row", where=path)
    _refuse(rows.filter(pl.col("code").is_null()), "every row must have a code", path)
    unread = [
        pl.col(name).is_not_null() & as_days(rows[name]).is_null() for name in ("first", "last")
    ]
    _refuse(
        rows.filter(pl.any_horizontal(unread)),
        "first and last day must be written as YYYY-MM-DD, or be empty",
        path,
    )
    return rows


def _text(values: pl.Series) -> pl.Series:
    text = values.cast(pl.String).str.strip_chars()
    return text.replace("", None)


def _overlaps() -> pl.Expr:
    """Whether a spell, in order of first days, begins before the one before it has ended."""
    first = pl.col("first").fill_null(date.min)
    return first <= pl.col("last").fill_null(date.max).shift().over("code")


def _refuse(rows: pl.DataFrame, required: str, path: Path) -> None:
    if rows.is_empty():
        return
    cases = rows.select(
        pl.format(
            "{}: {} to {}", *(pl.col(name).cast(pl.String).fill_null("(none)") for name in _KINDS)
        )
    )
    raise SchemaError(required, found=first_cases(cases.to_series()), where=path)
