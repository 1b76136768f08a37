"""Reading of label files in batches of rows, so that memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from audit.base.errors import InputError, SchemaError
from audit.base.files import first_bytes, is_gzip, refuse_pickle, unpacked
from audit.data.columns import (
    column_for,
    id_among,
    is_parquet,
    names_of,
    pick,
    separator_of,
    table_schema,
)
from audit.data.label_formats.jsonl import frame_of, matches, nested, objects_on
from audit.data.label_formats.long import label_column

PARTS_OF_BATCH = 8
"""Number of parts of a Parquet row group that make a batch."""
CSV_BLOCK = 4 * 2**20
"""Number of bytes of a text table that are parsed at a time."""
LINES_LOOKED_AT = 1_000
"""Number of JSON lines from which the keys of the id and the labels are detected."""


@dataclass(frozen=True)
class Rows:
    """A batch of consecutive rows of a file.

    Args:
        first: Number of the first row, from 0.
        stop: Number of the row after the last.
        labels: ``instance, label`` as tidy text, ``row`` (from 0), and ``counted``: whether the row
            is an assertion in the ledger. An instance without labels has one row that is not.
    """

    first: int
    stop: int
    labels: pl.DataFrame


def rows_of(
    path: Path, instance: str, label: str, *, at_once: int, start: int = 0
) -> Iterator[Rows]:
    """Read the rows of CSV, TSV, Parquet or JSON lines, about ``at_once`` at a time.

    ``label`` may hold a list in Parquet, and holds one in JSON lines. Blank lines are no rows.

    Args:
        path: The file; text may be gzipped.
        instance: Column, or key, of the instance's id.
        label: Column, or key, of the label.
        at_once: Approximate number of rows per batch; batches end at the same rows each time.
        start: Number of rows to skip; must be the end of a batch of an earlier reading.

    Raises:
        InputError: If the file cannot be read, with the line or the row group.
        SchemaError: If a column is missing, or holds neither plain values nor lists of them.
    """
    refuse_pickle(path)
    if is_parquet(path):
        frames = _parquet(path, _columns(path, instance, label), at_once, start)
    elif matches(path, first_bytes(path)):
        frames = _passed(_json_lines(path, instance, label, at_once), start)
    else:
        frames = _passed(_text_table(path, _columns(path, instance, label), at_once), start)
    for frame in frames:
        stop = start + frame.height
        yield Rows(start, stop, labels_of(frame, path, start))
        start = stop


def columns_of(path: Path, instance: str | None, label: str | None) -> tuple[str, str]:
    """The columns, or keys, of the instance's id and of the label, found as `audit.load_labels`.

    Args:
        path: A file that `rows_of` can read; of JSON lines the first `LINES_LOOKED_AT` are used.
        instance: The column that the user named; None: detect it.
        label: The column that the user named; None: detect it.

    Raises:
        InputError: If the file cannot be read.
        SchemaError: If a column does not exist, or several could be meant.
    """
    refuse_pickle(path)
    if not is_parquet(path) and matches(path, first_bytes(path)):
        lines = list(islice(objects_on(_lines(path), path), LINES_LOOKED_AT))
        names = list(dict.fromkeys(key for _, line in lines for key in line))
        labels = column_for("labels", label or "labels", names, path)
        return id_among(names, instance, {labels, *nested(lines)}, path), labels
    schema = table_schema(path)
    labels = label_column(schema, label, path)
    return id_among(list(schema), instance, {labels}, path), labels


def labels_of(frame: pl.DataFrame, path: Path, first: int = 0) -> pl.DataFrame:
    """The ``labels`` of `Rows` from a frame whose first two columns are instance and label."""
    listed = isinstance(frame.dtypes[1], (pl.List, pl.Array))
    instance, label = frame.columns
    picked = pick(frame, path, **{"instance": instance, "labels" if listed else "label": label})
    picked = picked.with_columns(row=pl.int_range(first, first + pl.len()))
    if not listed:
        return picked.select("instance", "label", "row", counted=pl.lit(True))
    some = pl.col("labels").list.len().fill_null(0) > 0
    counted = some | pl.col("instance").is_null()
    filled = picked.with_columns(labels=pl.when(some).then("labels"), counted=counted)
    return filled.explode("labels").select("instance", "row", "counted", label="labels")


def _columns(path: Path, instance: str, label: str) -> list[str]:
    names = names_of(path)
    wanted = {"instance": instance, "label": label}
    return [column_for(role, name, names, path) for role, name in wanted.items()]


def _parquet(path: Path, columns: list[str], at_once: int, start: int) -> Iterator[pl.DataFrame]:
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        yield from _gathered(_parquet_parts(file, columns, at_once, start, path), at_once)


def _parquet_parts(
    file: Any, columns: list[str], at_once: int, start: int, path: Path
) -> Iterator[Any]:
    """Rows from one on, parts of row groups; where parts end does not depend on where they begin.

    A batch ends where a part ends, so the batches after it are the same in every reading.
    """
    size, first = max(at_once // PARTS_OF_BATCH, 1), 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if first + rows > start:
            for part in _row_group(file, group, columns, size, path):
                passed = min(max(start - first, 0), part.num_rows)
                first += part.num_rows
                if passed < part.num_rows:
                    yield part.slice(passed)
        else:
            first += rows


def _row_group(file: Any, group: int, columns: list[str], size: int, path: Path) -> Iterator[Any]:
    try:
        for part in file.iter_batches(batch_size=size, row_groups=[group], columns=columns):
            yield part.select(columns)
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            "a whole Parquet file is required",
            found=f"damage in row group {group} (from 0): {str(error).splitlines()[0]}",
            where=path,
            hint="get the file again; row groups before this one can be read",
        ) from None


def _text_table(path: Path, columns: list[str], at_once: int) -> Iterator[pl.DataFrame]:
    try:
        with pa.input_stream(unpacked(path) if is_gzip(path) else path) as stream:
            reader = pyarrow.csv.open_csv(
                stream,
                read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=CSV_BLOCK),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=separator_of(path), newlines_in_values=True
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=columns,
                    column_types=dict.fromkeys(columns, pa.string()),
                    strings_can_be_null=True,
                    null_values=[""],
                ),
            )
            yield from _gathered(reader, at_once)
    except (OSError, EOFError, pa.ArrowException) as error:
        raise SchemaError(
            "a table whose rows have as many fields as the first one, in UTF-8, is required",
            found=str(error).splitlines()[0],
            where=path,
        ) from None


def _gathered(parts: Iterable[Any], at_once: int) -> Iterator[pl.DataFrame]:
    """Parts together until there are enough rows."""
    held: list[Any] = []
    rows = 0
    for part in parts:
        held.append(part)
        rows += part.num_rows
        if rows >= at_once:
            yield _frame(held)
            held, rows = [], 0
    if rows:
        yield _frame(held)


def _frame(parts: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(pa.Table.from_batches(parts)))


def _json_lines(path: Path, instance: str, label: str, at_once: int) -> Iterator[pl.DataFrame]:
    lines = objects_on(_lines(path), path)
    while some := list(islice(lines, at_once)):
        names = list(dict.fromkeys(key for _, line in some for key in line))
        key = column_for("instance", instance, names, path)
        labels = column_for("labels", label, names, path)
        yield frame_of(some, labels, {"instance": key}, path).select("instance", "labels")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        content = unpacked(path) if is_gzip(path) else path.open("rb")
        with TextIOWrapper(content, encoding="utf-8-sig", newline="\n") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield number, line
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(
            "whole lines of UTF-8 text are required", found=str(error), where=f"{path}:{number + 1}"
        ) from None


def _passed(frames: Iterable[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    for frame in frames:
        if rows < frame.height:
            yield frame[rows:]
        rows = max(rows - frame.height, 0)


def batched(frames: Iterable[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """The same rows in order, at least so many at a time but for the last; none of no frame.

    >>> [len(batch) for batch in batched([pl.DataFrame({"a": [1, 2]})] * 3, 3)]
    [4, 2]
    """
    held: list[pl.DataFrame] = []
    for frame in frames:
        held.append(frame)
        if sum(map(len, held)) >= rows:
            yield pl.concat(held)
            held = []
    if held:
        yield pl.concat(held)
