"""Tables stored with types: Parquet, Arrow, workbooks, NumPy; and sheets where text stays text."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import polars as pl

from audit.base.errors import InputError, first_cases
from audit.base.files import reading
from audit.base.limits import unpacking
from audit.base.machine import require_package
from audit.base.table import Table, array_frame, gathered, table_of

_ROWS = 8_192
"""Rows that are unpacked at a time."""


def stored_table(path: Path, name: str) -> Table:
    """The table of a file of Parquet or Arrow, unchanged; ``class_names`` are those in the file."""
    import pyarrow as pa

    def frames(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        size, refuse_beyond = 0, unpacking(path)
        with _opened(path, name) as (_, batches):
            for batch in batches([*columns]):
                own = batch.select(columns)
                frame = frame_of_batch(own)  # which refuses damaged buffers, that have no size
                size += own.nbytes
                refuse_beyond(size)
                yield frame

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        return gathered(frames(columns), at_once)

    with _opened(path, name) as (schema, _):
        empty = frame_of_batch(pa.Table.from_batches([], schema))  # an empty array needs pandas
        names = class_names_in((schema.metadata or {}).get(b"huggingface", b"{}"))
    return Table(name=name, schema=dict(empty.schema), scan=scan, files=(path,), class_names=names)


@contextmanager
def _opened(path: Path, name: str) -> Iterator[tuple[Any, Callable[[list[str]], Iterable[Any]]]]:
    """The schema of Parquet or Arrow, and its batches by columns; of Arrow they have all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(path), _library_errors("a whole file of Parquet or Arrow is required", name):
        if path.suffix.lower() == ".parquet":
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                yield file.schema_arrow, lambda columns: file.iter_batches(_ROWS, columns=columns)
            return
        with pa.memory_map(str(path)) as file:
            is_file = file.read(6) == b"ARROW1"
            file.seek(0)
            reader = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file)
            own = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
            yield reader.schema, lambda _: own


def frame_of_batch(batch: Any) -> pl.DataFrame:
    """A batch or table of Arrow as a frame, without metadata and types of a driver."""
    import pyarrow as pa

    batch.validate(full=True)  # Polars panics where text is not UTF-8, or metadata is not
    own = [isinstance(column.type, pa.BaseExtensionType) for column in batch.columns]
    columns = [
        column.cast(column.type.storage_type) if extends else column
        for column, extends in zip(batch.columns, own, strict=True)
    ]
    names = [f"column {n}" for n in range(len(columns))]  # Polars gives one to a column without
    frame = pl.DataFrame(pl.from_arrow(pa.Table.from_arrays(columns, names=names)))
    return frame.rename(dict(zip(names, batch.schema.names, strict=True)))


def class_names_in(told: bytes) -> dict[str, tuple[str, ...]]:
    """Names of classes by column, as ``datasets`` writes them of ``ClassLabel``, in lists too."""
    made = dict[str, tuple[str, ...]]()
    for column, feature in json.loads(told).get("info", {}).get("features", {}).items():
        while isinstance(feature, list) or (isinstance(feature, Mapping) and "feature" in feature):
            feature = feature[0] if isinstance(feature, list) else feature["feature"]
        if isinstance(feature, Mapping) and feature.get("_type") == "ClassLabel":
            made[column] = tuple(map(str, feature.get("names", ())))
    return made


def sheets_of(path: Path) -> dict[str, pl.DataFrame]:
    """The sheets with rows of a workbook by name, every cell as text."""
    require_package("fastexcel", "to read a workbook")
    with reading(path), suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        _refuse_large(path, archive)
    with reading(path), _library_errors("a workbook that can be read is required", path):
        sheets = pl.read_excel(path, sheet_id=0, infer_schema_length=0, raise_if_empty=False)
    return {name: rows.cast(pl.String) for name, rows in sheets.items() if rows.height}


def workbook_table(path: Path, name: str, table: str | None) -> Table:
    """The only sheet with rows of a workbook, or the one of that name, every cell as text."""
    sheets = sheets_of(path)
    return table_of(sheets[_named(sheets, table, "a sheet with rows", name)], name, (path,))


def array_table(path: Path, name: str, table: str | None) -> Table:
    """The array of a ``.npy`` file; of an ``.npz`` file the only one, or the one of that name."""
    arrays = arrays_in(path, name)
    chosen = "" if "" in arrays else _named(arrays, table, "an array", name)
    return table_of(array_frame(arrays[chosen]), name, (path,))


def arrays_in(path: Path, name: str) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a file of NumPy by their names, empty of one alone; pickles are refused
    unread."""
    required = "a whole NumPy file of numbers or text is required"
    with (
        reading(path),
        path.open("rb") as stream,
        _library_errors(required, name),
        catch_warnings(),
    ):
        simplefilter("ignore")  # of headers that Python 2 wrote
        read = np.load(stream, allow_pickle=False)
        if isinstance(read, np.ndarray):
            return {"": read}
        _refuse_large(path, read.zip)
        if len({*read.files}) < len(read.files):
            raise ValueError("two members that are one array")
        arrays = dict(read)
        if not all(isinstance(one, np.ndarray) for one in arrays.values()):
            raise ValueError("a member that is not an array")
        return arrays


def _refuse_large(path: Path, archive: zipfile.ZipFile) -> None:
    unpacking(path)(sum(member.file_size for member in archive.infolist()))


def _named(names: Collection[str], table: str | None, what: str, where: str) -> str:
    """The name that is ``table``, the only one if it is None; InputError unless just one fits."""
    chosen = [one for one in names if table in (None, one)]
    if len(chosen) == 1:
        return chosen[0]
    raise InputError(
        f"{what} must be named where there are several, or none of that name",
        found=first_cases(names) or "none",
        where=where,
        hint=f"--table {quote(next(iter(names)))}" if names else "",
    )


@contextmanager
def _library_errors(required: str, where: object) -> Iterator[None]:
    """Turn any error of a library into one InputError, which says what file is ``required``."""
    try:
        yield
    except InputError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        pickled = "allow_pickle" in str(error)
        found = "pickled objects, which could run code when read" if pickled else str(error)
        hint = "write names as text: np.array(names, dtype=str)" if pickled else ""
        raise InputError(required, found=found.split("\n")[0], where=where, hint=hint) from None


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LONGEST_NAME = 31
"""Characters of the name of a sheet, at most."""
_LONGEST_CELL = 32_767
"""Characters of a cell, at most."""


def defused(table: pl.DataFrame) -> pl.DataFrame:
    """A table for CSV: a text that a spreadsheet would read as a formula begins with a quote."""
    text = pl.col(pl.String)
    begins = text.str.slice(0, 1).is_in(_FORMULA)
    return table.with_columns(pl.when(begins).then(pl.lit("'") + text).otherwise(text).name.keep())


def defused_text(text: str) -> str:
    """A text for CSV, after a quote where a spreadsheet would read it as a formula.

    >>> defused_text("=1+1"), defused_text("1+1")
    ("'=1+1", '1+1')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def as_before(text: str) -> str:
    """A text as it was before it was defused.

    >>> as_before("'=1+1"), as_before("'n")
    ('=1+1', "'n")
    """
    return text[1:] if text[:1] == "'" and text[1:].startswith(_FORMULA) else text


def write_workbook(tables: Mapping[str, pl.DataFrame], file: Path) -> None:
    """Write tables as the sheets of a workbook of Excel; text is written as text.

    The same tables give the same bytes. A longer name is cut to 31 characters, a longer text to
    32,767.
    """
    from datetime import UTC, datetime

    from xlsxwriter import Workbook

    plain = dict.fromkeys(("strings_to_formulas", "strings_to_urls"), False)
    stream = io.BytesIO()
    with Workbook(stream, {**plain, "in_memory": True}) as book:
        book.set_properties({"created": datetime(2000, 1, 1, tzinfo=UTC)})
        heading = book.add_format({"bold": True})
        for name, table in tables.items():
            sheet = book.add_worksheet(name[:_LONGEST_NAME])
            sheet.write_row(0, 0, table.columns, heading)
            sheet.freeze_panes(1, 0)
            cut = table.with_columns(pl.col(pl.String).str.slice(0, _LONGEST_CELL))
            for column, values in enumerate(cut):
                sheet.write_column(1, column, values)
    file.write_bytes(stream.getvalue())
