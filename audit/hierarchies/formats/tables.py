"""Tables of hierarchies: their columns and cells, read as people and programs write them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from audit.base.files import SNIFFED_BYTES, first_bytes, read_table
from audit.base.text_tables import Preamble, preamble_of
from audit.hierarchies.formats import caml, names
from audit.hierarchies.formats.format import Shape, head_text

_SIGNS = "\t,;|"
_SNIFFED_ROWS = 200


def columns_of(path: Path, head: bytes) -> list[str]:
    """The names in the first line of a table; none of what is no table."""
    if is_parquet(path):
        return read_table(path).columns
    rows = rows_of(head)
    return [bare(name) for name in rows[0]] if rows and len(rows[0]) > 1 else []


def table_of(path: Path, shape: Shape) -> pl.DataFrame:
    """The table in a file; columns without a header are called by their numbers, 1 and 2."""
    if is_parquet(path):
        return read_table(path)
    head = first_bytes(path)
    preamble = preamble_in(head_text(head).replace("\r", "").split("\n"))
    first = preamble.of_lines(head_text(head).split("\n"))[0]
    stated = [name for name in (shape.child, shape.parent) if name]
    headless = is_headless(path, head) or (bool(stated) and all(map(str.isdigit, stated)))
    separator = _separator(first) if any(sign in first for sign in _SIGNS) else " "
    separator = separator if headless or separator != " " else ","
    frame = read_table(path, separator=separator, header=not headless, preamble=preamble)
    called = [str(n) if headless else bare(name) for n, name in enumerate(frame.columns, 1)]
    once = len(set(called)) == len(called)
    return frame.rename(dict(zip(frame.columns, called, strict=True))) if once else frame


def text_of(frame: pl.DataFrame, column: str, *, trimmed: bool = True) -> pl.Series:
    """A column as text, trimmed or not; whole floats are the numbers without their points."""
    values = frame[column]
    if values.dtype.is_float() and (values.drop_nans().round() == values.drop_nans()).all():
        values = values.fill_nan(None).cast(pl.Int64)
    text = values.cast(pl.String)
    bare = text.str.strip_chars()
    known = bare.drop_nulls()
    quoted = known.str.starts_with("'") & known.str.ends_with("'")
    if len(known) and quoted.all():
        return bare.str.strip_chars("'").str.strip_chars()
    return bare if trimmed else text


def is_parquet(path: Path) -> bool:
    """Whether a file is named as Parquet."""
    return path.suffix.lower() == ".parquet"


def is_headless(path: Path, head: bytes) -> bool:
    """Whether a text is pairs of names, or these with a relation between them, and the first line
    is one: a name of it, or its relation, stands in others too."""
    if is_parquet(path) or caml.FORMAT.matches(path, head):
        return False
    rows = [row for row in rows_of(head) if any(row)]
    if all(len(row) == 1 for row in rows):
        rows = [row[0].split(" ") for row in rows]
    if names.are_triples(rows):
        return any(row[1] == rows[0][1] for row in rows[1:])
    if not rows or not all(len(row) == 2 and all(row) for row in rows):
        return False
    return bool({*rows[0]} & {name for row in rows[1:] for name in row})


def rows_of(head: bytes) -> list[list[str]]:
    """The fields of the first lines; of what is no table, none."""
    text = head_text(head)
    lines = text.replace("\r", "").split("\n")
    lines = lines[: -1 if len(head) >= SNIFFED_BYTES else None][:_SNIFFED_ROWS]
    if text.startswith(("{", "[", "<", "@", "format-version:")):
        return []
    try:
        lines = preamble_in(lines).of_lines(lines)
        return list(csv.reader(lines, delimiter=_separator(lines[0])))
    except csv.Error:
        return []


def preamble_in(lines: Sequence[str]) -> Preamble:
    """What stands before the rows: notes, or a single line that has no fields."""
    found = preamble_of(lines)
    fields = [any(sign in line for sign in _SIGNS) for line in lines[:2]]
    return Preamble(1) if not found.lines and fields == [False, True] else found


def bare(name: str) -> str:
    """A name without blanks, and without the single quotes of files of AHRQ."""
    return name.strip(" \t\r\ufeff").strip("'").strip()


def _separator(header: str) -> str:
    return max(_SIGNS, key=header.count)
