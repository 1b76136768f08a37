"""Columns of files of predictions, generations, answers and ratings, as text by role."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import once
from audit.data.columns import tidy
from audit.data.label_formats.jsonl import objects_on
from audit.data.sources import Source, source_of

VALID_WORDS = ("1", "true", "valid", "yes")
"""How a file writes that a tuple is valid; case is ignored."""
INVALID_WORDS = ("0", "false", "invalid", "no")
"""How a file writes that a tuple is invalid."""

_DECODER = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=once
)


def text_columns(
    path: Path, roles: Mapping[str, Sequence[str]], columns: Mapping[str, str]
) -> pl.DataFrame:
    """The columns of a file that have a role, as stripped text, null where blank.

    Args:
        path: CSV, TSV, JSON lines or Parquet; text may be packed with gzip.
        roles: Names that a column of each role may have, case ignored; the first one there counts.
        columns: Columns that the user named, by role; they overrule the names.

    Returns:
        A column per role that the file has, named by the role, in the order of ``roles``.

    Raises:
        InputError: If there is no such file, it is empty, or a line is no JSON object.
        SchemaError: If a role is none of ``roles``, a column that the user named does not exist,
            or a column holds neither plain values nor nothing.
    """
    _refuse_unknown(columns, roles)
    source = source_of(path)
    source.refuse_pickle()
    table = _json_table(source) if _is_json(source) else source.table()
    if table.is_empty():
        raise InputError("a file with rows is required", found="none", where=path)
    names = {name.strip().lower(): name for name in reversed(table.columns)}
    picked = {}
    for role, accepted in roles.items():
        wanted = (columns[role],) if role in columns else accepted
        here = [names[name.strip().lower()] for name in wanted if name.strip().lower() in names]
        if role in columns and not here:
            raise SchemaError(
                f"the column {columns[role]!r} for {role!r} is required",
                found=f"the columns {first_cases(table.columns)}",
                where=path,
            )
        picked.update({role: here[0]} if here else {})
    text = tidy(table.select(dict.fromkeys(picked.values())), source)
    return text.select(pl.col(name).alias(role) for role, name in picked.items())


def require_columns(
    table: pl.DataFrame, required: Sequence[str], path: Path, hint: str = ""
) -> None:
    """Raise SchemaError unless a table of `text_columns` has some roles."""
    missing = [role for role in required if role not in table.columns]
    if missing:
        raise SchemaError(
            f"a column for {first_cases(missing)} is required",
            found=f"columns for {first_cases(table.columns)}" if table.width else "none known",
            where=path,
            hint=hint,
        )


def validity(text: pl.Expr) -> pl.Expr:
    """Whether words say valid; null where they are neither `VALID_WORDS` nor `INVALID_WORDS`."""
    word = text.str.to_lowercase().str.strip_chars().str.replace(r"^([01])\.0$", "$1")
    return pl.when(word.is_in(VALID_WORDS)).then(True).when(word.is_in(INVALID_WORDS)).then(False)


def _refuse_unknown(columns: Mapping[str, str], roles: Mapping[str, Sequence[str]]) -> None:
    unknown = [role for role in columns if role not in roles]
    if unknown:
        raise SchemaError(
            f"a column can stand for {first_cases(roles, len(roles))}",
            found=first_cases(unknown),
        )


def _is_json(source: Source) -> bool:
    return source.is_text and "".join(source.head_lines[:1]).lstrip().startswith("{")


def _json_table(source: Source) -> pl.DataFrame:
    """JSON lines as a table of text; true and false are written so, numbers as they stand."""
    lines = list(objects_on(source.lines(), _DECODER))
    names = dict.fromkeys(key for _, line in lines for key in line)
    values = {
        name: [_plain(line.get(name), name, where) for where, line in lines] for name in names
    }
    try:
        return pl.DataFrame(values, schema=dict.fromkeys(names, pl.String))
    except UnicodeEncodeError as error:
        raise InputError(
            "text must be Unicode", found=f"half a character: {error.object!r}", where=source
        ) from None


def _plain(value: Any, key: str, where: str) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, str):
        return value
    raise SchemaError(
        f"the key {key!r} must hold text, a number, true or false",
        found=json.dumps(value)[:60],
        where=where,
    )
