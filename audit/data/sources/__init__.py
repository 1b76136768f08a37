"""What data are read from: files, workbooks, folders, frames, tables of Spark."""

from __future__ import annotations

import re
from contextlib import suppress
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from audit.base.databases import KINDS, Opened, opened
from audit.base.errors import InputError
from audit.base.plain_copies import plain_copy
from audit.base.queries import refuse_unnamed
from audit.base.reading import see
from audit.base.remote import address_of, local
from audit.data.sources.annotations import pictures_of
from audit.data.sources.fhir import fhir_of
from audit.data.sources.file import CopiedFile, File, Folder
from audit.data.sources.hub import hub_of
from audit.data.sources.in_memory import (
    Array,
    Frame,
    SavedDataset,
    frame_of,
    is_saved_dataset,
    written_index,
)
from audit.data.sources.meds import meds_of
from audit.data.sources.omop import omop_of
from audit.data.sources.source import Source
from audit.data.sources.sql import database, is_connection, queried, reached
from audit.data.sources.table_forms import table_file
from audit.hierarchies.formats.omop_tables import Tables, TablesOfBase

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://")

__all__ = ["File", "Folder", "Frame", "Source", "source_of"]


def source_of(data: object, query: str | None = None, table: str | None = None) -> Source:
    """The source that a path, a frame, or a query of a database, is.

    Args:
        data: A path, anything that `frame_of` takes, an array of NumPy, a list or series of
            labels, or of lists of labels, or a source, which is returned as it is. Or the address
            of a database, a connection to one, or a relation of DuckDB.
        query, table: The query, or the table, of the database.

    Raises:
        InputError: If it is none of these, or a database that cannot be read.
        SchemaError: If a frame cannot become columns of one type each.
    """
    if isinstance(data, Source):
        return data
    if is_connection(data):
        tables = TablesOfBase(reached(data)) if query is None and table is None else None
        return (tables and omop_of(tables)) or queried(data, query, table)
    if isinstance(data, str) and (address := _ADDRESS.match(data)) and not address_of(data):
        if address[1] not in KINDS:
            known = " or ".join(dict.fromkeys(kind.address for kind in KINDS.values()))
            raise InputError(f"a path, or {known}, is required", found=f"{address[1]}://")
        with opened(data) as found:
            return _in_base(found, query, table)
    if query is not None or table is not None:
        raise InputError(
            "--sql and --table need a database", found="none",
            where=data if isinstance(data, (str, Path)) else type(data).__name__,
            hint="sqlite:///FILE, duckdb:///FILE or postgresql://HOST/BASE names one",
        )  # fmt: skip
    if isinstance(data, (str, Path)):
        return _at(local(data))
    if isinstance(data, np.ndarray):
        if data.dtype.hasobject:
            with suppress(ValueError):  # lists of different lengths
                data = np.array(data.tolist())
        if data.dtype.kind != "U" and not data.dtype.hasobject:
            return Array(data)
        data = data.tolist()
    rows = _rows_of(data)
    if rows is not None:
        own = _ids_of(data)
        ids = own or [*map(str, range(len(rows)))]
        column = "label" if any(isinstance(row, int) for row in rows) else "labels"
        return Frame(frame_of({"id": ids, column: rows}), numbered=own is None)
    return Frame(frame_of(data))


def _ids_of(data: Any) -> list[str] | None:
    """The index of a series, where it is one of ids; raises InputError if it repeats."""
    index = written_index(data)
    if index is not None and len(set(index)) < len(index):
        raise InputError(
            "an index with an id for each entry of a series is required",
            found="one that repeats",
            hint="series.reset_index(drop=True) numbers the entries; series.rename('label')"
            ".rename_axis('instance').reset_index() gives each instance the labels of its entries",
        )
    return None if index is None else [*map(str, index)]


def _rows_of(data: object) -> list[Any] | None:
    """The labels of each instance in a list or series of them; None of anything else.

    An entry is a list of labels, or one label; None is an instance without labels. Numbers of
    classes stay numbers.
    """
    if hasattr(data, "to_list") and not hasattr(data, "columns"):
        data = data.to_list()
    if not isinstance(data, (list, tuple)):
        return None
    if data and all(isinstance(row, Integral) and not isinstance(row, bool) for row in data):
        return [int(row) for row in data]
    rows = [[row] if isinstance(row, str) else row for row in data]
    return rows if all(row is None or isinstance(row, (list, tuple)) for row in rows) else None


def _in_base(found: Opened, query: str | None, table: str | None) -> Source:
    """The rows of a query or a table of a database, or its tables of OMOP."""
    if query is not None or table is not None:
        return database(found, query, table)
    if (events := omop_of(TablesOfBase(found))) is None:
        refuse_unnamed(found)
    events.ended = found.closed_with(events)
    return events


def _at(path: Path) -> Source:
    if path.is_dir():
        folder = Folder(path)
        see(*folder.files)
        if is_saved_dataset(path):
            return SavedDataset(path)
        found = meds_of(path) or omop_of(Tables(path)) or fhir_of(path)
        return found or hub_of(path) or pictures_of(path) or folder
    if not path.is_file():
        return File(path)
    see(path)
    if (resources := fhir_of(path)) is not None:
        return resources
    if (made := table_file(path) or pictures_of(path)) is not None:
        return made
    copy, told = plain_copy(path)
    return File(path) if copy == path else CopiedFile(path, copy, told)
