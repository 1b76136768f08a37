"""Tables read some rows at a time, as batches of Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from audit.base.columnar import polars_of, refuse_large_parquet, without_metadata
from audit.base.errors import InputError, SchemaError
from audit.base.files import is_gzip, unpacked
from audit.base.text_tables import Preamble

PARTS_OF_BATCH = 8
"""Number of parts of a Parquet row group that make a batch."""
CSV_BLOCK = 4 * 2**20
"""Number of bytes of a text table that are parsed at a time."""


def row_groups(path: Path, columns: list[str], at_once: int, start: int = 0) -> Iterator[Any]:
    """Rows of a Parquet file from one on, parts of row groups."""
    size, first = max(at_once // PARTS_OF_BATCH, 1), 0
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        refuse_large_parquet(path, file, columns)
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if first + rows > start:
                within = _row_group(file, group, columns, size, path)
                yield from passed(within, max(start - first, 0))
            first += rows


def _row_group(file: Any, group: int, columns: list[str], size: int, path: Path) -> Iterator[Any]:
    try:
        for part in file.iter_batches(batch_size=size, row_groups=[group], columns=columns):
            part.validate(full=True)  # text that is no UTF-8 makes Polars panic
            yield without_metadata(part.select(columns))
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            "a whole Parquet file is required",
            found=f"damage in row group {group} (from 0): {str(error).splitlines()[0]}",
            where=path,
            hint="get the file again; row groups before this one can be read",
        ) from None


def text_blocks(
    path: Path, columns: list[str], separator: str, preamble: Preamble
) -> Iterator[Any]:
    """Blocks of a text table, with values as text."""
    try:
        with pa.input_stream(_content(path, preamble)) as stream:
            yield from pyarrow.csv.open_csv(
                stream,
                read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=CSV_BLOCK),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=separator, newlines_in_values=True
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=columns,
                    column_types=dict.fromkeys(columns, pa.string()),
                    strings_can_be_null=True,
                    null_values=[""],
                ),
            )
    except (OSError, EOFError, pa.ArrowException) as error:
        raise SchemaError(
            "a table in UTF-8 whose rows have as many fields as the first one is required",
            found=str(error).splitlines()[0],
            where=path,
        ) from None


def _content(path: Path, preamble: Preamble) -> BinaryIO | Path:
    """The header and the rows of a text; of one without notes its path, which is read fastest."""
    packed = is_gzip(path)
    if preamble == Preamble():
        return unpacked(path) if packed else path
    return preamble.of_stream(unpacked(path) if packed else path.open("rb"))


def passed(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Arrow batches without the first rows."""
    for batch in batches:
        if rows < batch.num_rows:
            yield batch.slice(rows) if rows else batch
        rows = max(rows - batch.num_rows, 0)


def gathered(batches: Iterable[Any], at_once: int) -> Iterator[pl.DataFrame]:
    """Batches together until there are enough rows."""
    held: list[Any] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= at_once:
            yield frame_of_batches(held)
            held, rows = [], 0
    if rows:
        yield frame_of_batches(held)


def frame_of_batches(batches: list[Any]) -> pl.DataFrame:
    """Batches as one frame; there is at least one."""
    return polars_of(pa.Table.from_batches(batches))


def without_rows(schema: Any) -> Any:
    """A batch of no rows with the columns of a schema."""
    return pa.RecordBatch.from_arrays([pa.array([], one.type) for one in schema], schema=schema)
