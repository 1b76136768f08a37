"""JSON: tables of lines of records, an array of them, or an object around lists of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import polars as pl

from audit.base.csv_tables import TextShape
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import bare_suffix, once, parsed_json, text_blocks, text_stream
from audit.base.table import Table, list_column

_Cells: TypeAlias = dict[str, str | list[str | None] | None]
"""Values of a record by dotted keys, as text."""
Line: TypeAlias = tuple[str, dict[str, Any]]
"""Where a line is, for messages, and its object."""

_T = TypeVar("_T")
_LINES = (".jsonl", ".ndjson")
_ROWS_IN_MEMORY = 50_000
"""Lines of a file that are held from the first time they are read; of more none is."""
_parse = json.JSONDecoder(object_pairs_hook=once, parse_float=str, parse_int=str).decode


def json_tables(path: Path, name: str, shape: TextShape) -> tuple[Table, ...]:
    """The tables of a file of JSON: one, or one for each list of records that an object holds.

    Keys of nested objects are joined by dots. A list of values is a list of texts, and so is each
    key of a list of objects. Numbers are as written. Lines are read some at a time.
    """
    with text_stream(path, shape.encoding) as stream:
        first = [*islice(filter(str.strip, stream), 2)]
    if not first:
        raise InputError("a file of JSON with records is required", found="nothing", where=name)
    if bare_suffix(path) in _LINES or (len(first) == 2 and _are_lines_of_records(first)):
        read = partial(_records_on_lines, path, name, shape.encoding)
        held = [*islice(read(), _ROWS_IN_MEMORY + 1)]
        return (_table(path, name, held.__iter__ if len(held) <= _ROWS_IN_MEMORY else read),)
    document = parsed_json("".join(text_blocks(path, shape.encoding)), path, _parse)
    lists = document if isinstance(document, dict) else {"": document}
    found = {
        key: [*map(_cells, records)]
        for key, records in lists.items()
        if records and isinstance(records, list) and all(map(_is_record, records))
    }
    if not found:
        raise SchemaError(
            "lines of JSON objects, an array of them, or an object around one is required",
            found=f"an object of {first_cases(document)}" if document else "no record",
            where=name,
        )
    return tuple(
        _table(path, name if len(found) == 1 else f"{name}: {key}", cells.__iter__)
        for key, cells in found.items()
    )


def _are_lines_of_records(lines: Sequence[str]) -> bool:
    """Whether the first of two lines is a whole object or array, and the next begins as one."""
    try:
        return isinstance(json.loads(lines[0]), (dict, list)) and lines[1].lstrip()[0] in "{["
    except (ValueError, RecursionError):
        return False


def _is_record(record: Any) -> bool:
    """Whether a value is a record: an object, or a list of objects, as of classes and scores."""
    listed = record if isinstance(record, list) else [record]
    return all(isinstance(one, dict) for one in listed)


def _records_on_lines(path: Path, name: str, encoding: str) -> Iterator[_Cells]:
    for where, line in numbered_lines(path, encoding, name):
        record = parsed_json(line, where, _parse)
        if not _is_record(record):
            found = excerpt(record)
            raise SchemaError("an object a line is required", found=found, where=where)
        yield _cells(record)


def _table(path: Path, name: str, read: Callable[[], Iterator[_Cells]]) -> Table:
    schema = _schema_of(read, name)

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        own = {one: schema[one] for one in columns}
        return frames(read(), lambda some: _frame(some, own), name, at_once)

    return Table(name=name, schema=schema, scan=scan, files=(path,))


def _schema_of(read: Callable[[], Iterable[_Cells]], where: str) -> dict[str, pl.DataType]:
    """Types of keys of records; SchemaError if one holds an object in some, a value in others."""
    schema = dict[str, pl.DataType]()
    for cells in read():
        for key, value in cells.items():
            if isinstance(value, list):
                schema[key] = pl.List(pl.String())
            else:
                schema.setdefault(key, pl.String())
    above = {key[: at.start()] for key in schema for at in re.finditer(r"\.", key)}
    for key in above & {*schema}:
        own = {(cells.get(key) not in (None, []), any(one.startswith(f"{key}.") for one in cells))
               for cells in read()}  # fmt: skip
        if {(True, False), (False, True)} <= own and (True, True) not in own:
            raise SchemaError(
                "a key must hold an object in each record, or in none",
                found=f"an object in {key!r} of some records, and a value in others",
                where=where,
            )
    return schema


def _frame(records: Sequence[_Cells], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    """Records as a frame; a value alone, in a column of lists, is a list of one."""
    columns = dict[str, Any]()
    for key, kind in schema.items():
        values: list[Any] = [cells.get(key) for cells in records]
        columns[key] = values if kind == pl.String() else _lists(values)
    return pl.DataFrame(columns, schema)


def _lists(values: Sequence[str | list[str | None] | None]) -> pl.Series:
    """A column of lists, a text as a list of one; many times as fast as Polars makes it."""
    lists = [[one] if isinstance(one, str) else one or [] for one in values]
    inner = pl.Series([*chain.from_iterable(lists)], dtype=pl.String)
    made = list_column(inner, np.cumsum([0, *map(len, lists)]))
    there = pl.Series([one is not None for one in values], dtype=pl.Boolean)
    return made.zip_with(there, pl.Series([None], dtype=made.dtype))


def _cells(record: Any) -> _Cells:
    """The values of a record by dotted keys."""
    cells: _Cells = {}
    _put(record, "", cells)
    return cells


def _put(value: Any, key: str, cells: _Cells) -> None:
    """Put a value, and each in it, into cells by its dotted key; SchemaError if that is there."""
    if isinstance(value, dict):
        for name, one in value.items():
            _put(one, f"{key}.{name}" if key else name, cells)
        return
    if isinstance(value, list) and value and _is_record(value):
        each = [_cells({key: one} if key else one) for one in value]
        for name in dict.fromkeys(name for one in each for name in one):
            cells[name] = [_text(one.get(name)) for one in each]
        return
    if key in cells:
        raise SchemaError("keys that differ are required", found=f"{key!r} twice")
    cells[key] = [*map(_text, value)] if isinstance(value, list) else _text(value)


def _text(value: Any) -> str | None:
    """A value as text, JSON unless it is a string; None if it is null or blank."""
    if isinstance(value, str):
        return value if value.strip() else None
    return None if value is None else json.dumps(value, ensure_ascii=False)


def numbered_lines(
    path: Path, encoding: str = "", name: object = None
) -> Iterator[tuple[str, str]]:
    """``NAME:NUMBER`` and text of each line that is not blank; one line is held at a time."""
    with text_stream(path, encoding) as stream:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                yield f"{name or path}:{number}", line


def objects_on(lines: Iterable[tuple[str, str]], decoder: json.JSONDecoder) -> Iterator[Line]:
    """The objects on lines with their places; InputError where there is none."""
    for where, text in lines:
        line = parsed_json(text, where, decoder.decode)
        if not isinstance(line, dict):
            required = "every line must be a JSON object"
            raise InputError(required, found=excerpt(line), where=where)
        yield where, line


def frames(
    lines: Iterable[_T],
    frame_of: Callable[[Sequence[_T]], pl.DataFrame],
    where: object,
    at_once: int = 16_384,
) -> Iterator[pl.DataFrame]:
    """Frames of some lines at a time; InputError at half a character, which JSON can write."""
    lines = iter(lines)
    while some := list(islice(lines, at_once)):
        try:
            frame = frame_of(some)
        except UnicodeEncodeError as error:
            found = f"half a character: {error.object!r}"
            raise InputError("text must be Unicode", found=found, where=where) from None
        yield frame


def excerpt(value: Any) -> str:
    """The beginning of a JSON value, for messages."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
