"""Tables, whatever they are read from: files, folders, frames and queries."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.csv_tables import TextShape, text_table
from audit.base.databases import is_database, scheme_of, sql_tables
from audit.base.errors import COPIES, InputError, SchemaError, first_cases
from audit.base.files import bare_suffix, files_in, reading, refuse_pickle, see
from audit.base.json_tables import json_tables
from audit.base.remote import local
from audit.base.stored_tables import array_table, stored_table, workbook_table
from audit.base.table import Table, frame_of, gathered, table_of

__all__ = ["TextShape", "open_table", "open_tables"]

UNSTATED = TextShape()
_TEXT = (".csv", ".tsv", ".tab", ".psv", ".txt")
_JSON = (".json", ".jsonl", ".ndjson")
_STORED = (".parquet", ".arrow", ".feather", ".ipc")
_BOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_ARRAYS = (".npy", ".npz")
_NO_DATA = re.compile(
    r"[._]|(readme|licen[cs]e|sha256sums)\b|(dataset_info|dataset_dict|state)\.json$", re.IGNORECASE
)
"""How names of files begin that are no data of a folder."""
_SPLIT = re.compile(
    r"(?:^|[-_/])(train|training|dev|val|valid|validation|test)(?=[-_/]|$)", re.IGNORECASE
)
_SETS = re.compile(r"diagnos|procedure", re.IGNORECASE)
"""What names tell tables of equal columns apart by that are no parts of one."""


def open_table(data: object, **stated: Any) -> Table:
    """The one table of `open_tables`; raises InputError, which names them, if there are several."""
    tables = open_tables(data, **stated)
    if len(tables) != 1:
        found = first_cases(one.name for one in tables)
        hint = "name the file that is meant"
        raise InputError("one table is required", found=found, where=data, hint=hint)
    return tables[0]


def open_tables(
    data: object,
    *,
    query: str | None = None,
    table: str | None = None,
    text: TextShape = UNSTATED,
) -> tuple[Table, ...]:
    """The tables of a file, a folder, data in memory or a query.

    A folder holds one table where its files have equal columns; files of train, development and
    test data have a column ``split`` then. Else each of its files is a table.

    Args:
        data: A path or an address of a file, the address of a database, or anything that
            `audit.base.table.frame_of` takes.
        query: The query of a database.
        table: The table of a database, the sheet of a workbook or the array of a ``.npz`` file.
        text: What is stated of text tables.

    Raises:
        InputError: If it is none of these, or cannot be read.
    """
    if is_database(data):
        return sql_tables(data, query, table)
    where = data if isinstance(data, (str, Path)) else type(data).__name__
    if query is not None:
        hint = "sqlite:///FILE, duckdb:///FILE or postgresql://HOST/BASE names one"
        raise InputError("--sql needs a database", found="none", where=where, hint=hint)
    if not isinstance(data, (str, Path)):
        _refuse(where, table, text)
        return (table_of(frame_of(data), "data frame"),)
    path = local(data)
    if path.is_dir():
        _refuse(where, table)
        return _of_folder(path, text)
    with reading(path):
        see(path)
        scheme = scheme_of(path)
    if scheme:
        return sql_tables(f"{scheme}:///{path}", None, table)
    return _of_file(path, COPIES.get(str(path), str(data)), table, text)


def _refuse(where: object, table: str | None = None, text: TextShape = UNSTATED) -> None:
    """Raise InputError if a table or lines of text are stated of what has none of them."""
    if table is not None:
        required = "--table needs a database, a workbook or arrays"
        raise InputError(required, found="another file", where=where)
    if text != UNSTATED:
        required = "--encoding, --skip-rows and --no-header need a table of text"
        raise InputError(required, found="another one", where=where)


def _of_file(path: Path, name: str, table: str | None, text: TextShape) -> tuple[Table, ...]:
    suffix = bare_suffix(path)
    refuse_pickle(path, b"")
    if suffix in _BOOKS or suffix in _ARRAYS:
        _refuse(name, text=text)
        return ((workbook_table if suffix in _BOOKS else array_table)(path, name, table),)
    _refuse(name, table, text if suffix in _STORED else UNSTATED)
    if suffix in _STORED:
        return (stored_table(path, name),)
    return json_tables(path, name, text) if suffix in _JSON else (text_table(path, name, text),)


def _of_folder(folder: Path, text: TextShape) -> tuple[Table, ...]:
    """The tables of a folder: files of equal columns are one, unless names tell tables or splits
    apart; InputError if none."""
    files = _data_in(folder)
    if not files:
        raise InputError(
            "a folder of tables is required",
            found=first_cases(path.name for path in files_in(folder)) or "an empty folder",
            where=folder,
        )
    see(*files)
    groups = defaultdict[tuple[object, ...], list[tuple[str, Table]]](list)
    for path in files:
        name = path.relative_to(folder).as_posix()[: -len("".join(path.suffixes)) or None]
        split = _SPLIT.search(name)
        rest = re.sub(r"\d", "", name.replace(split[0], "", 1)) if split else None
        kind = tuple(word.lower() for word in _SETS.findall(name))
        for table in _of_part(path, text):
            key = (tuple(table.schema), rest, kind)
            groups[key].append((split[1].lower() if split else "", table))
    one = len(groups) == 1
    return tuple(_concatenated(str(folder) if one else "", parts) for parts in groups.values())


def _of_part(path: Path, text: TextShape) -> tuple[Table, ...]:
    """The tables of a file in a folder; none of one of JSON that holds no records."""
    try:
        return _of_file(path, str(path), None, text)
    except SchemaError:
        if bare_suffix(path) != ".json":
            raise
        return ()


def _data_in(folder: Path) -> list[Path]:
    """Files of tables in a folder, else in its subfolders; ``.txt`` only if there is no other."""
    inside = [path for path in files_in(folder) if not _NO_DATA.match(path.name)]
    known = (*_TEXT, *_JSON, *_STORED, *_BOOKS, *_ARRAYS)
    files = [path for path in inside if path.is_file() and bare_suffix(path) in known]
    files = [path for path in files if bare_suffix(path) != ".txt"] or files
    return files or [file for path in inside if path.is_dir() for file in _data_in(path)]


def _concatenated(name: str, parts: Sequence[tuple[str, Table]]) -> Table:
    """The parts of one table one after the other, with their splits where they are of several."""
    splits, tables = zip(*parts, strict=True)
    first: Table = tables[0]
    if len(parts) == 1:
        return first
    known = [(one, kind) for part in tables[::-1] for one, kind in part.schema.items()]
    schema = dict(first.schema) | {one: kind for one, kind in known if kind != pl.Null}
    if any(table.class_names != first.class_names for table in tables):
        raise SchemaError("every file of a folder must name classes alike", where=name)
    named = len({*splits}) > 1 and first.column("split") is None

    def frames(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        for split, table in parts:
            for frame in table.frames([one for one in columns if one in schema], at_once):
                try:
                    made = frame.cast({one: schema[one] for one in frame.columns})
                except pl.exceptions.PolarsError as error:
                    required, found = f"columns of the types of {first} are required", str(error)
                    raise SchemaError(required, found=found.split("\n")[0], where=table) from None
                yield made.with_columns(split=pl.lit(split)).select(columns) if named else made

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        return gathered(frames(columns, at_once), at_once)

    return replace(
        first,
        name=name or first.name,
        schema=schema | ({"split": pl.String()} if named else {}),
        scan=scan,
        files=tuple(file for table in tables for file in table.files),
        split_files=named,
    )
