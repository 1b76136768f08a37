"""Sums of pairs in Parquet, in the order of their keys, read back some keys at a time."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from audit.dag import IntArray
from audit.disk import written_whole
from audit.engine.sums import Sums
from audit.errors import InputError

ROWS_PER_GROUP = 262_144
"""Pairs that are read back at a time."""

_JOINT = pa.schema({"key": pa.int64(), "joint": pa.int64()})
_SUMS = _JOINT.append(pa.field("confusion", pa.float64()))


def write_sums(parts: Iterable[Sums], file: Path, *, confusion: bool = True) -> None:
    """Write sums that come in the order of their keys.

    Args:
        parts: The sums.
        file: Where they go.
        confusion: Whether entropies are written, or joint counts alone.

    Raises:
        OutputError: If the disk takes no more; no half-written file is left.
    """
    schema = _SUMS if confusion else _JOINT
    with (
        written_whole(file) as begun,
        pq.ParquetWriter(
            begun,
            schema,
            compression="lz4",
            use_dictionary=False,
            column_encoding={"key": "DELTA_BINARY_PACKED", "joint": "DELTA_BINARY_PACKED"},
        ) as writer,
    ):
        for part in _grouped(parts):
            columns = {"key": part.keys, "joint": part.joint, "confusion": part.confusion}
            table = pa.table([columns[name] for name in schema.names], schema)
            writer.write_table(table, row_group_size=ROWS_PER_GROUP)


def _grouped(parts: Iterable[Sums]) -> Iterable[Sums]:
    """The same sums, enough for a row group at a time."""
    held: list[Sums] = []
    for part in parts:
        held.append(part)
        if sum(map(len, held)) >= ROWS_PER_GROUP:
            yield _joined(held)
            held = []
    if any(map(len, held)):
        yield _joined(held)


def _joined(parts: list[Sums]) -> Sums:
    if len(parts) == 1:
        return parts[0]
    return Sums(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.joint for part in parts]),
        np.concatenate([part.confusion for part in parts]),
    )


class SumsFile:
    """A file that `write_sums` wrote, opened when it is first read.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def between(self, first: int, stop: int) -> Sums:
        """The sums of the keys from ``first`` to before ``stop``; whole row groups are read.

        Raises:
            InputError: If the file is gone or damaged.
        """
        try:
            begins, ends = self._bounds
            groups = np.flatnonzero((begins < stop) & (ends >= first)).tolist()
            return _within(self._opened.read_row_groups(groups), first, stop)
        except (OSError, KeyError, ValueError, pa.ArrowException) as error:
            raise InputError(
                "a whole file of counts is required",
                found=str(error).splitlines()[0],
                where=self.path,
                hint="count all data again",
            ) from None

    def all(self) -> Sums:
        """All sums."""
        return self.between(0, np.iinfo(np.int64).max)

    @cached_property
    def _opened(self) -> pq.ParquetFile:
        return pq.ParquetFile(self.path)

    @cached_property
    def _bounds(self) -> tuple[IntArray, IntArray]:
        """First and last key of each row group."""
        metadata = self._opened.metadata
        groups = range(metadata.num_row_groups)
        found = [metadata.row_group(group).column(0).statistics for group in groups]
        begins, ends = ([getattr(one, end) for one in found] for end in ("min", "max"))
        return np.array(begins, np.int64), np.array(ends, np.int64)


def _within(table: pa.Table, first: int, stop: int) -> Sums:
    keys = table["key"].to_numpy()
    some = slice(*np.searchsorted(keys, (first, stop)))
    held = "confusion" in table.column_names
    confusion = table["confusion"].to_numpy() if held else np.zeros(len(keys))
    return Sums(keys[some], table["joint"].to_numpy()[some], confusion[some])
