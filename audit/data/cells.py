"""Cells: the labels in a cell, which is one, a list, joined by a sign, or holds them in text."""

from __future__ import annotations

import ast
import json
import re

import polars as pl

from audit.base.errors import InputError
from audit.data.columns import Columns

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ITEM = rf"(?:{_QUOTED}|-?[0-9][0-9.eE+-]*|null|None|true|false|True|False)"
_LIST = rf"(?s)^\[\s*(?:{_ITEM}(?:\s*,\s*{_ITEM})*)?\s*,?\s*\]$"
"""A list as JSON or Python writes it."""
_TOKENS = {
    "icd9": r"(?:[0-9V][0-9]{1,2}|E[0-9]{3}),[0-9]{1,2}\b|[0-9A-Za-z.]+",
    "icd10": r"[A-Za-z][0-9][0-9A-Za-z],(?:[0-9][0-9A-Za-z]{0,3}|XX[0-9A-Za-z]{1,2})\b"
    r"|[0-9A-Za-z.]+",
}
"""What stands between signs that are in no code; a decimal comma is in one."""
_SHAPES = {
    "icd9": r"(?i)^(?:[0-9]{3,5}|[0-9]{2,3}[.,][0-9]{1,2}"
    r"|V[0-9]{2}(?:[.,]?[0-9]{1,2})?|E[0-9]{3}(?:[.,]?[0-9])?)$",
    "icd10": r"(?i)^[A-Z][0-9][0-9A-Z](?:[.,]?[0-9A-Z]{1,4})?$",
}
"""What a code looks like, with or without its dot."""


def labels_in(cells: pl.Series, columns: Columns) -> pl.Series:
    """The labels in each cell, a list of text; empty where a cell is blank.

    A cell is a list, or text: a list as JSON or Python writes it, what ``columns.take`` finds in
    it, what ``columns.sep`` joins, else one label.

    Raises:
        InputError: If ``columns.take`` is no regular expression.
    """
    if isinstance(cells.dtype, pl.List | pl.Array):
        found = pl.col("cell").cast(pl.List(cells.dtype.inner)).list.eval(_text(pl.element()))
    else:
        text = _text(pl.col("cell"))
        listed = text.str.contains(_LIST)
        found = (
            pl.when(listed & text.str.contains(r"\\"))
            .then(text.map_elements(_parsed, pl.List(pl.String), skip_nulls=True))
            .when(listed)
            .then(text.str.extract_all(_ITEM).list.eval(_unquoted(pl.element())))
            .otherwise(_taken(text, columns))
        )
    labels = found.fill_null([]).list.drop_nulls().alias(cells.name)
    return cells.to_frame("cell").select(labels).to_series()


def _text(cell: pl.Expr) -> pl.Expr:
    """Trimmed text; null where it is blank."""
    text = cell.cast(pl.String).str.strip_chars()
    return pl.when(text != "").then(text)


def _taken(text: pl.Expr, columns: Columns) -> pl.Expr:
    if columns.take in _SHAPES:
        tokens = text.str.extract_all(_TOKENS[columns.take])
        code = pl.element().str.strip_chars(".")
        kept = pl.when(code.str.contains(_SHAPES[columns.take])).then(code.str.replace(",", "."))
        return tokens.list.eval(kept)
    if columns.take:
        group = int(_groups(columns.take) > 0)
        every = text.str.extract_all(columns.take)
        return every.list.eval(_text(pl.element().str.extract(columns.take, group)))
    if columns.sep:
        sep = columns.sep if columns.sep.isspace() else columns.sep.strip()
        return text.str.split(sep).list.eval(_text(pl.element()))
    return pl.when(text.is_not_null()).then(pl.concat_list(text))


def _groups(take: str) -> int:
    try:
        return re.compile(take).groups
    except re.error as error:
        raise InputError(
            "--take names icd9, icd10 or a regular expression", found=f"{take!r}: {error}"
        ) from error


def _unquoted(item: pl.Expr) -> pl.Expr:
    bare = pl.when(item.str.contains("^['\"]")).then(item.str.slice(1, item.str.len_chars() - 2))
    return _text(bare.otherwise(pl.when(~item.is_in(["null", "None"])).then(item)))


def _parsed(text: str) -> list[str | None]:
    for read in (json.loads, ast.literal_eval):
        try:
            return [str(item).strip() or None for item in read(text) if item is not None]
        except (ValueError, SyntaxError):
            continue
    return [text]
