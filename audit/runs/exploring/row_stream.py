"""Rows of a table, one at a time, however long it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from audit.base.errors import InputError, SchemaError, first_cases
from audit.data.json_lines import AS_WRITTEN, objects_on
from audit.data.sources import source_of
from audit.data.sources.source import Source

Entry = tuple[str, Mapping[str, Any]]
"""Where a row is, for messages, and its values by name of column in lower case."""
_AT_ONCE = 10_000
"""Rows of a table that are held at a time."""


def streamed_rows(path: Path, wanted: Collection[str]) -> Iterator[Entry]:
    """The rows of a table of text, JSON lines, Parquet or a workbook.

    Args:
        path: The file; text may be packed with gzip.
        wanted: Columns, in lower case; those that the file lacks are left out.

    Raises:
        InputError: If it is not one file of these, or is damaged.
    """
    source = source_of(path)
    if path.is_dir():
        raise InputError("a file is required", found="a folder", where=path)
    source.refuse_pickle()
    in_lines = source.is_text and "".join(source.head_lines[:1]).lstrip().startswith("{")
    return _json_rows(source, wanted) if in_lines else _table_rows(source, wanted)


def _json_rows(source: Source, wanted: Collection[str]) -> Iterator[Entry]:
    for where, line in objects_on(source.streamed_lines(), AS_WRITTEN):
        row = {key.strip().lower(): value for key, value in line.items()}
        yield where, {name: row[name] for name in wanted if name in row}


def _table_rows(source: Source, wanted: Collection[str]) -> Iterator[Entry]:
    written = _column_names(source, wanted)
    number = 0
    for frame in source.frames(list(written.values()), _AT_ONCE):
        for values in frame.iter_rows():
            number += 1
            yield f"{source}: row {number}", dict(zip(written, values, strict=True))


def _column_names(source: Source, wanted: Collection[str]) -> Mapping[str, str]:
    """The columns that are wanted and there, as the table writes their names.

    Raises:
        SchemaError: If there is none, or several of one name.
    """
    names = source.head_rows[0] if source.is_text and source.head_rows else list(source.schema)
    alike = [name.strip().lower() for name in names]
    written = {name: names[alike.index(name)] for name in wanted if name in alike}
    if not written:
        raise SchemaError(
            f"columns of the names {', '.join(wanted)} are required",
            found=f"the columns {first_cases(names)}" if names else "no columns",
            where=source,
        )
    for name in written:
        if alike.count(name) > 1:
            raise SchemaError(
                f"one column named {name!r} is required", found="several", where=source
            )
    return written


def plain_text(value: Any, column: str, where: str) -> str | None:
    """A value as text without blanks around it; None if there is none.

    Raises:
        SchemaError: If it is neither text nor a number.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or value != value:
        return None
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value).strip() or None
    raise SchemaError(
        f"the column {column!r} must hold text", found=type(value).__name__, where=where
    )
