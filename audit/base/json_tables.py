"""Tables of JSON: lines of records, an array of them, an object around lists of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from audit.base.csv_tables import TextShape
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import once, parsed_json, whole_characters
from audit.base.frames import table_of
from audit.base.streams import bare_suffix, text_blocks, text_stream
from audit.base.table import Table

Cells: TypeAlias = dict[str, str | list[str | None] | None]
"""Values of a record by dotted keys, as text."""

_LINES = (".jsonl", ".ndjson")
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
    if bare_suffix(path) in _LINES or (len(first) == 2 and _is_record(first)):
        return (_streamed(path, name, partial(_lines, path, name, shape.encoding)),)
    document = parsed_json("".join(text_blocks(path, shape.encoding)), path, _parse)
    if _are_records(document):
        return (table_of(_frame([*map(_cells, document)], name), name, (path,)),)
    lists = document if isinstance(document, dict) else {}
    lists = {key: records for key, records in lists.items() if _are_records(records)}
    if not lists:
        raise SchemaError(
            "lines of JSON objects, an array of them, or an object around one is required",
            found=f"an object of {first_cases(document)}" if document else "no record",
            where=name,
        )
    called = (name if len(lists) == 1 else f"{name}: {key}" for key in lists)
    frames = (_frame([*map(_cells, records)], name) for records in lists.values())
    return tuple(table_of(frame, own, (path,)) for own, frame in zip(called, frames, strict=True))


def _is_record(lines: Sequence[str]) -> bool:
    """Whether the first of two lines is a whole object or array, and the next begins as one."""
    try:
        return isinstance(json.loads(lines[0]), (dict, list)) and lines[1].lstrip()[0] in "{["
    except (ValueError, RecursionError):
        return False


def _are_records(document: Any) -> bool:
    return bool(document) and isinstance(document, list) and all(map(_is_one, document))


def _is_one(record: Any) -> bool:
    """Whether a value is a record: an object, or a list of objects, as of classes and scores."""
    return isinstance(record, dict) or (
        isinstance(record, list) and all(isinstance(one, dict) for one in record)
    )


def _lines(path: Path, name: str, encoding: str) -> Iterator[Cells]:
    with text_stream(path, encoding) as stream:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                record = parsed_json(line, f"{name}:{number}", _parse)
                if not _is_one(record):
                    required, where = "an object a line is required", f"{name}:{number}"
                    raise SchemaError(required, found=line.strip()[:60], where=where)
                yield _cells(record)


def _streamed(path: Path, name: str, read: Callable[[], Iterator[Cells]]) -> Table:
    schema = _schema_of(read, name)

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        records = read()
        while some := [*islice(records, at_once)]:
            yield _frame(some, name, {one: schema[one] for one in columns})

    return Table(name=name, schema=schema, scan=scan, files=(path,))


def _schema_of(read: Callable[[], Iterable[Cells]], where: str) -> dict[str, pl.DataType]:
    """Types of the keys of records; SchemaError if one holds an object in some, a value in others.

    A key that stands beside keys that begin with it and a dot was written with that dot.
    """
    schema = dict[str, pl.DataType]()
    for cells in read():
        for key, value in cells.items():
            if isinstance(value, list):
                schema[key] = pl.List(pl.String())
            elif key not in schema:
                schema[key] = pl.String()
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


def _frame(
    records: Sequence[Cells], where: str, schema: dict[str, pl.DataType] | None = None
) -> pl.DataFrame:
    """Records as a frame; a value alone, in a column of lists, is a list of one."""
    if schema is None:
        schema = _schema_of(lambda: records, where)
    import pyarrow as pa

    columns = dict[str, Any]()
    for key, kind in schema.items():
        values = [cells.get(key) for cells in records]
        if kind != pl.String():
            values = [[one] if isinstance(one, str) else one for one in values]
        arrow = pa.large_string() if kind == pl.String() else pa.large_list(pa.large_string())
        with whole_characters(where):
            columns[key] = pa.array(values, arrow)
    return pl.DataFrame(columns, schema)


def _cells(record: Any) -> Cells:
    """The values of a record by dotted keys."""
    cells: Cells = {}
    _put(record, "", cells)
    return cells


def _put(value: Any, key: str, cells: Cells) -> None:
    if isinstance(value, dict):
        for name, one in value.items():
            _put(one, f"{key}.{name}" if key else name, cells)
        return
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        each = [_cells({key: one} if key else one) for one in value]
        for name in dict.fromkeys(name for one in each for name in one):
            cells[name] = [_text(one.get(name)) for one in each]
        return
    if key in cells:
        raise SchemaError("keys that differ are required", found=f"{key!r} twice")
    cells[key] = [*map(_text, value)] if isinstance(value, list) else _text(value)


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value if value.strip() else None
    return None if value is None else json.dumps(value, ensure_ascii=False)
