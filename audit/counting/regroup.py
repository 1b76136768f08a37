"""Grouping of rows by instance through files on the disk, for data larger than memory."""

from __future__ import annotations

import math
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from audit.base.disk import written_whole
from audit.base.errors import InputError
from audit.base.files import read_table
from audit.data.batches import rows_of
from audit.data.label_format import Chosen
from audit.data.row_rules import EVERY
from audit.data.sources import File, Source

EXPANSION = 40
"""Largest number of bytes of memory for each byte of the data, which may be compressed."""
MOST_PARTS = 256
"""Largest number of files open at a time."""

_ROWS = pa.schema(
    {"instance": pa.large_string(), "label": pa.large_string(), "counted": pa.bool_()}
)
_RECORDS = pa.schema({"instance": pa.large_string(), "labels": pa.large_list(pa.large_string())})


def regrouped(source: Source, chosen: Chosen, folder: Path, *, memory: int, at_once: int) -> Source:
    """Write a Parquet file in ``folder`` with one row per instance and the list of its ``labels``.

    Instances are distributed over files by the hash of their id, and the rows of each file are
    grouped in memory. Rows without an instance stay separate. Returns the file.

    Args:
        source: What `audit.data.batches.rows_of` can read.
        chosen: The columns, or keys, of the ids and labels.
        folder: An empty folder for the files.
        memory: Number of bytes that the rows of one file may use.
        at_once: Number of rows read at a time.

    Raises:
        InputError: If rules mark some rows.
        OutputError: If the disk is full.
    """
    if chosen.rules != EVERY:
        raise InputError("every row must count where sort=True", found=str(chosen.rules))
    parts = min(max(math.ceil(source.size * EXPANSION / memory), 1), MOST_PARTS)
    files = [folder / f"part-{number:03d}.parquet" for number in range(parts)]
    together = folder / "together.parquet"
    with written_whole(together) as begun:
        _spread(source, chosen, files, at_once)
        with pq.ParquetWriter(begun, _RECORDS) as writer:
            for file in files:
                records = read_table(file).group_by("instance", maintain_order=True)
                listed = records.agg(pl.col("label").filter("counted").alias("labels"))
                writer.write_table(listed.to_arrow().cast(_RECORDS))
                file.unlink()
    return File(together)


def _spread(source: Source, chosen: Chosen, files: list[Path], at_once: int) -> None:
    with ExitStack() as open_files:
        writers = [open_files.enter_context(pq.ParquetWriter(file, _ROWS)) for file in files]
        for rows in rows_of(source, chosen, at_once=at_once):
            part = (rows.labels["instance"].hash() % len(files)).fill_null(0)
            for number, writer in enumerate(writers):
                some = rows.labels.filter(part == number).select(_ROWS.names)
                writer.write_table(some.to_arrow().cast(_ROWS))
