"""Tables that can be copied: how each kind of file is read whole with Polars, and written again."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.databases import is_base
from audit.base.files import is_gzip, open_bytes
from audit.base.remote import address_of
from audit.data.dataset import LabelDataset
from audit.data.json_lines import is_array, is_document
from audit.data.label_formats.mimic import kind_of, tables_of
from audit.data.records import is_json
from audit.data.sources import File, Folder, Source, source_of
from audit.data.sources.file import CopiedFile
from audit.data.sources.sheets import read_sheets
from audit.data.sources.tables import TableFile

_OF_CODE_SETS = ("mimic3", "mimic4")
"""Formats whose tables each hold one code set, which the name of the file says."""
_TEXT = "text is written in UTF-8, a row a line, with quotes only where they are needed"
_LINES = "a line has every key that any has, null where it had none; blanks go"
_PARQUET = "row groups, compression and metadata of Parquet are those that Polars writes"
_BOOK = "a workbook keeps the values of its cells: no formulas, styles or empty sheets"


@dataclass(frozen=True)
class OpenTable:
    """A table that was read whole, and what writes another one as such a file.

    Args:
        codes: The code set of all its labels, where the name of the file says one.
        not_kept: What of the file a copy does not keep.
    """

    path: Path
    source: Source
    frame: pl.DataFrame
    write: Callable[[pl.DataFrame, Path], object]
    not_kept: str
    codes: str = ""


def open_tables(labels: LabelDataset, dataset: str) -> list[OpenTable]:
    """The tables whose rows are the labels as they were read; none where one cannot be copied."""
    layout = labels.layout
    if layout is None or is_base(dataset) or address_of(dataset):
        return []
    named = {one.strip().lower() for one in (*layout.labels, layout.id) if one is not None}
    source = source_of(dataset)
    if not isinstance(source, (File, Folder, TableFile)) or source.queried:
        return []
    of_sets = labels.format in _OF_CODE_SETS
    found = []
    for part in tables_of(source, "hosp") if of_sets else source.parts:
        opened = _opened(part)
        if opened is None or not named <= {one.strip().lower() for one in opened[0].columns}:
            return []
        frame, write, not_kept = opened
        codes = (kind_of(part) or "") * of_sets
        found.append(OpenTable(part.files[0], part, frame, write, not_kept, codes))
    return found


_Opened = tuple[pl.DataFrame, Callable[[pl.DataFrame, Path], object], str]


def _opened(part: Source) -> _Opened | None:
    if isinstance(part, TableFile):
        return _workbook(part.path) if part.suffix == ".xlsx" else None
    if not isinstance(part, File) or part.class_names:
        return None
    if not part.is_text:
        frame = pl.read_parquet(part.path, hive_partitioning=False)
        return frame, pl.DataFrame.write_parquet, _PARQUET
    if isinstance(part, CopiedFile) and not part.encoding:
        return None
    if is_array(part) or is_document(part):
        return None
    return _lines(part) if is_json(part) else _text(part)


def _text(part: File) -> _Opened | None:
    notes = part.preamble
    if notes.blanks or notes.unquoted or not part.schema:
        return None
    frame = part.table()
    if frame.columns != [*part.schema]:
        return None
    with open_bytes(part.path) as stream:
        above = b"".join(stream.readline() for _ in range(notes.lines))
        end = "\r\n" if stream.readline().endswith(b"\r\n") else "\n"
    without_header = notes.header is not None

    def write(rows: pl.DataFrame, into: Path) -> None:
        made = rows.write_csv(
            separator=part.separator, line_terminator=end, include_header=not without_header
        )
        text = above + made.encode()
        into.write_bytes(gzip.compress(text, mtime=0) if is_gzip(part.files[0]) else text)

    return frame, write, _TEXT


def _lines(part: File) -> _Opened | None:
    """Lines of JSON that are equal once Polars has read and written them, but for nulls."""
    with open_bytes(part.path) as stream:
        data = stream.read()
    try:
        frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
        written = frame.write_ndjson().encode()
    except pl.exceptions.PolarsError:
        return None
    if _objects(data) != _objects(written):
        return None

    def write(rows: pl.DataFrame, into: Path) -> None:
        text = rows.write_ndjson().encode()
        into.write_bytes(gzip.compress(text, mtime=0) if is_gzip(part.files[0]) else text)

    return frame, write, _LINES


def _objects(data: bytes) -> list[Any]:
    return [_without_nulls(json.loads(one)) for one in data.splitlines() if one.strip()]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [*map(_without_nulls, value)] if isinstance(value, list) else (type(value), value)


def _workbook(path: Path) -> _Opened | None:
    """The only sheet of a workbook, with its names in the first row."""
    sheets = read_sheets(path)
    ((name, (_, above)), *further) = sheets.items()
    if further or above:
        return None
    frame = pl.read_excel(path, sheet_name=name)
    plain: dict[Any, str] = {pl.selectors.numeric(): "General"}
    write = partial(pl.DataFrame.write_excel, worksheet=name, dtype_formats=plain)
    return frame, write, _BOOK
