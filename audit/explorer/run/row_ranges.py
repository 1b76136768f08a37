"""Ranges of rows of a Parquet file, of which only the row groups that hold them are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq


class RowRanges:
    """A Parquet file that is read by ranges of rows, from several threads at once.

    Args:
        path: The file; its footer is read once.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._footer = path, pq.read_metadata(path)
        groups = range(self._footer.num_row_groups)
        sizes = [self._footer.row_group(group).num_rows for group in groups]
        self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    def read(self, start: int, stop: int, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The rows from ``start`` to before ``stop``; all columns if none are named."""
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        last = int(np.searchsorted(self._starts, stop, side="left"))
        groups = range(first, last) if start < stop else range(0)
        wanted = None if columns is None else list(columns)
        with pq.ParquetFile(self._path, metadata=self._footer, memory_map=True) as file:
            rows = file.read_row_groups(list(groups), columns=wanted, use_threads=False)
        before = int(self._starts[first]) if start < stop else 0
        read = pl.from_arrow(pa.table(rows).slice(start - before, stop - start))
        assert isinstance(read, pl.DataFrame)
        return read
