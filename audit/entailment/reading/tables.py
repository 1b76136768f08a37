"""Files as tables of text, whatever they are written in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError, SchemaError
from audit.base.files import files_in, read_table, whole_characters
from audit.data.label_formats.jsonl import AS_WRITTEN, objects_on
from audit.data.sources import File
from audit.entailment.reading.columns import Kind

SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet")
"""Suffixes of the files that are read of a folder."""


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files, in place of each folder those in it that have one of `SUFFIXES`, by name.

    Raises:
        InputError: If there is none.
    """
    files = []
    for path in paths:
        within = files_in(path) if path.is_dir() else [path]
        files += [one for one in within if one is path or File(one).suffix in SUFFIXES]
    if not files:
        raise InputError(
            f"a file or a folder with files is required, of {', '.join(SUFFIXES)}",
            found="none",
            where=", ".join(map(str, paths)),
        )
    return files


def records_in(source: File, kind: Kind) -> pl.DataFrame:
    """All records of a file under the names of its columns, values as they are stored.

    A column of JSON that holds lists or objects is one of lists, so that it is no column of text.
    A file of two columns has a header if its first row has one of their names.

    Raises:
        InputError: If the file cannot be read, or a line of JSON is not an object.
        SchemaError: If a row has other fields than the first one.
    """
    source.refuse_pickle()
    if is_json(source):
        return _json_records(source)
    if has_header(source, kind):
        return source.table()
    table = read_table(source.path, separator=source.separator, header=False)
    if not 2 <= table.width <= len(kind.order):
        raise SchemaError(
            f"rows without a header must be {', '.join(kind.order)}",
            found=f"{table.width} columns, and no header with their names",
            where=source,
        )
    return table.rename(dict(zip(table.columns, kind.order, strict=False)))


def is_json(source: File) -> bool:
    """Whether a text file holds an object a line, or JSON that should."""
    begins = "".join(source.head_lines[:1]).lstrip()[:1] if source.is_text else ""
    return begins == "{" or (begins == "[" and "json" in source.suffix)


def has_header(source: File, kind: Kind) -> bool:
    """Whether the first row names columns; a file of tuples, or of types, always does so."""
    if not kind.order or not source.is_text:
        return True
    first = {cell.strip().lower() for row in source.head_rows[:1] for cell in row}
    return bool(first & set(kind.columns.values()))


def _json_records(source: File) -> pl.DataFrame:
    lines = (line for _, line in objects_on(source.lines(), AS_WRITTEN))
    frames, nested = [], set[str]()
    with whole_characters(source):
        while chunk := list(islice(lines, _AT_ONCE)):
            names = dict.fromkeys(key for line in chunk for key in line)
            columns = {name: [line.get(name) for line in chunk] for name in names}
            nested |= {name for name, values in columns.items() if any(map(_is_nested, values))}
            frames.append(
                pl.DataFrame(
                    {name: [_text(value) for value in values] for name, values in columns.items()},
                    schema=dict.fromkeys(names, pl.String),
                )
            )
    records = pl.concat(frames, how="diagonal") if frames else pl.DataFrame()
    return records.with_columns(pl.concat_list(name) for name in sorted(nested))


_AT_ONCE = 16_384
"""Number of lines whose objects are held at a time."""


def _is_nested(value: Any) -> bool:
    return isinstance(value, (list, dict))


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if _is_nested(value) else value
