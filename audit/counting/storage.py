"""Sums of pairs on the disk, in the order of their keys: rare ones in sorted runs, and Parquet."""

from __future__ import annotations

import io
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from audit.base.dag import IntArray
from audit.base.disk import written_whole
from audit.engine.pairs.sums import NOTHING, SortedTail, Sums, end_to_end, summed

ROWS_PER_GROUP = 32_768
"""Number of pairs in a row group, the unit in which they are read back."""
GROUPS_AT_ONCE = 32
"""Number of row groups that are read together where many are."""

_JOINT = pa.schema({"key": pa.int64(), "joint": pa.int64()})
_SUMS = _JOINT.append(pa.field("confusion", pa.float64()))


def write_sums(sums: Sums, file: Path) -> None:
    """Write sums that are in the order of their keys."""
    with written_whole(file) as begun, begun.open("wb") as stream:
        _write(sums, stream, confusion=True)


def packed_sums(sums: Sums) -> bytes:
    """Sums as the bytes of a sums file; entropies are left out if all are 0."""
    stream = io.BytesIO()
    _write(sums, stream, confusion=bool(sums.confusion.any()))
    return stream.getvalue()


def unpacked_sums(packed: bytes) -> Sums:
    """Inverse of `packed_sums`."""
    return _within(pq.read_table(pa.BufferReader(packed)), 0, np.iinfo(np.int64).max)


def _write(sums: Sums, stream: BinaryIO, *, confusion: bool) -> None:
    schema = _SUMS if confusion else _JOINT
    with pq.ParquetWriter(
        stream,
        schema,
        compression="lz4",
        use_dictionary=False,
        column_encoding={"key": "DELTA_BINARY_PACKED", "joint": "DELTA_BINARY_PACKED"},
    ) as writer:
        columns = {"key": sums.keys, "joint": sums.joint, "confusion": sums.confusion}
        table = pa.table([columns[name] for name in schema.names], schema)
        writer.write_table(table, row_group_size=ROWS_PER_GROUP)


class SumsFile:
    """A file that `write_sums` wrote, opened when it is first read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def between(self, first: int, stop: int) -> Sums:
        """The sums of the keys from ``first`` up to, but not including, ``stop``.

        Reads whole row groups.
        """
        read = self._opened.read_row_groups(self.groups(first, stop).tolist())
        return _within(read, first, stop)

    def groups(self, first: int, stop: int) -> IntArray:
        """The row groups with keys from ``first`` up to ``stop``."""
        begins, ends = self._bounds
        return np.flatnonzero((begins < stop) & (ends >= first))

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


LAST = 2**63 - 1
"""A key greater than all keys of pairs."""


class SpilledTail:
    """Sums of pairs within a memory budget; what exceeds it is written to the disk as runs.

    Args:
        folder: Where they are written.
        memory: Number of bytes that the sums in memory may use.
    """

    def __init__(self, folder: Path, memory: int) -> None:
        self.folder, self.memory = folder, memory
        self.held, self.runs = SortedTail(), list[SumsFile]()

    def add(self, sums: Sums) -> None:
        """Add the sums of a batch; sums in memory beyond the budget are written to the disk."""
        self.held.add(sums)
        if self.held.nbytes > self.memory:
            self._spill()

    def between(self, first: int, stop: int) -> Sums:
        """The sums of the keys from ``first`` up to, but not including, ``stop``.

        As few keys are added up at a time as leave `GROUPS_AT_ONCE` row groups to read, about.
        """
        groups = sum(len(run.groups(first, stop)) for run in self.runs)
        step = max((stop - first) // (1 + groups // GROUPS_AT_ONCE), 1)
        bounds = pairwise([*range(first, stop, step), stop])
        return end_to_end([NOTHING, *(self._between(*bound) for bound in bounds)])

    def _between(self, first: int, stop: int) -> Sums:
        runs = [run.between(first, stop) for run in self.runs]
        return summed([*runs, self.held.between(first, stop)])

    def _spill(self) -> None:
        run = self.folder / f"pairs-{len(self.runs):06d}.parquet"
        write_sums(self.held.between(0, LAST), run)
        self.runs.append(SumsFile(run))
        self.held = SortedTail()
