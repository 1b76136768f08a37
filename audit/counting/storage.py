"""Sums of pairs on the disk, in the order of their keys: rare ones in sorted runs, and Parquet."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias
from zipfile import BadZipFile

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from audit.base.columnar import refuse_damaged_parts
from audit.base.dag import IntArray
from audit.base.disk import flush, on_disk, written_whole
from audit.base.errors import InputError
from audit.data.sources import Source
from audit.engine.pairs.sums import NOTHING, SortedTail, Sums, end_to_end, summed

ROWS_PER_GROUP = 32_768
"""Number of pairs in a row group, the unit in which they are read back."""
GROUPS_AT_ONCE = 32
"""Number of row groups that are read together where many are."""

_JOINT = pa.schema({"key": pa.int64(), "joint": pa.int64()})
_SUMS = _JOINT.append(pa.field("confusion", pa.float64()))


def write_sums(parts: Iterable[Sums], file: Path, *, confusion: bool = True) -> None:
    """Write sums that come in the order of their keys."""
    with written_whole(file) as begun, begun.open("wb") as stream:
        _write(parts, stream, confusion)


def packed_sums(sums: Sums) -> bytes:
    """Sums as the bytes of a sums file; entropies are left out if all are 0."""
    stream = io.BytesIO()
    _write([sums], stream, bool(sums.confusion.any()))
    return stream.getvalue()


def unpacked_sums(packed: bytes) -> Sums:
    """Inverse of `packed_sums`."""
    return _within(pq.read_table(pa.BufferReader(packed)), 0, np.iinfo(np.int64).max)


def _write(parts: Iterable[Sums], stream: BinaryIO, confusion: bool) -> None:
    schema = _SUMS if confusion else _JOINT
    with pq.ParquetWriter(
        stream,
        schema,
        compression="lz4",
        use_dictionary=False,
        column_encoding={"key": "DELTA_BINARY_PACKED", "joint": "DELTA_BINARY_PACKED"},
    ) as writer:
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
            yield end_to_end(held)
            held = []
    if any(map(len, held)):
        yield end_to_end(held)


class SumsFile:
    """A file that `write_sums` wrote, opened when it is first read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def between(self, first: int, stop: int) -> Sums:
        """The sums of the keys from ``first`` up to, but not including, ``stop``.

        Reads whole row groups.
        """
        with self._readable():
            read = self._opened.read_row_groups(self.groups(first, stop).tolist())
            return _within(read, first, stop)

    def groups(self, first: int, stop: int) -> IntArray:
        """The row groups with keys from ``first`` up to ``stop``."""
        with self._readable():
            begins, ends = self._bounds
        return np.flatnonzero((begins < stop) & (ends >= first))

    def blocks(self, first: int, stop: int) -> Iterator[Sums]:
        """As `between`, in order of keys, in blocks of `GROUPS_AT_ONCE` row groups."""
        groups, (begins, ends) = self.groups(first, stop), self._bounds
        for start in range(0, len(groups), GROUPS_AT_ONCE):
            some = groups[start : start + GROUPS_AT_ONCE]
            low, high = int(begins[some[0]]), int(ends[some[-1]]) + 1
            yield self.between(max(low, first), min(high, stop))

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, KeyError, ValueError, pa.ArrowException) as error:
            raise InputError(
                "a whole file of counts is required",
                found=str(error).splitlines()[0],
                where=self.path,
                hint="count all data again",
            ) from None

    @cached_property
    def _opened(self) -> pq.ParquetFile:
        file = pq.ParquetFile(self.path)
        refuse_damaged_parts(self.path, file)
        if file.schema_arrow not in (_SUMS, _JOINT):
            raise ValueError(f"columns {', '.join(map(str, file.schema_arrow))}")
        return file

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


AnyArray: TypeAlias = NDArray[Any]
Arrays: TypeAlias = dict[str, AnyArray]

LAST = 2**63 - 1
"""A key greater than all keys of pairs."""

_COLUMNS = ("keys", "joint", "confusion")


class SpilledTail:
    """Sums of pairs within a memory budget; what exceeds it is written to the disk as runs.

    Args:
        memory: Number of bytes that the sums in memory may use.
        name: Prefix of the names of its runs, distinct from others in the folder.
        runs: Names of the existing runs that belong to it, when a count is resumed.
    """

    def __init__(
        self,
        folder: Path,
        memory: int,
        name: str = "run",
        runs: Sequence[str] = (),
        written: int = 0,
        parts: Sequence[Sums] = (),
    ) -> None:
        self.folder, self.memory, self.name, self.written = folder, memory, name, written
        self.held = SortedTail(parts)
        self.runs = [SumsFile(folder / run) for run in runs]

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

    def state(self) -> Arrays:
        """The state from which `restored` resumes."""
        names = [run.path.name for run in self.runs]
        state: Arrays = {"runs": np.array(names, np.str_), "written": np.array(self.written)}
        for number, part in enumerate(self.held.parts):
            state |= {f"{number:04d}.{name}": getattr(part, name) for name in _COLUMNS}
        return state

    @classmethod
    def restored(
        cls, folder: Path, memory: int, name: str, state: Mapping[str, AnyArray]
    ) -> SpilledTail:
        """A tail that resumes from an earlier `state`; an empty state gives an empty tail."""
        if not state:
            return cls(folder, memory, name)
        for run in state["runs"].tolist():
            _refuse_gone(folder / run)
        numbers = sorted({key.split(".")[0] for key in state if "." in key})
        parts = [Sums(*(state[f"{number}.{column}"] for column in _COLUMNS)) for number in numbers]
        return cls(folder, memory, name, state["runs"].tolist(), int(state["written"]), parts)

    def _spill(self) -> None:
        run = self.folder / f"{self.name}-{self.written:06d}.parquet"
        write_sums([self.held.between(0, LAST)], run)
        self.runs.append(SumsFile(run))
        self.written, self.held = self.written + 1, SortedTail()


def _refuse_gone(file: Path) -> None:
    if not file.exists():
        raise InputError(
            "the files beside a checkpoint are required",
            found="nothing there",
            where=file,
            hint="remove the checkpoint to count anew",
        )


ENDS = 2**20
"""Number of bytes at each end of a file that identify it, which include a Parquet file's schema."""
IDENTITY = "identity"


def files_beside(checkpoint: Path) -> Path:
    """The folder of the files that belong to a checkpoint."""
    return checkpoint.with_name(f"{checkpoint.name}.files")


def identity_of(source: Source, **counted: object) -> dict[str, Any]:
    """What must be unchanged to resume a count: size and ends of each file, and the settings.

    Data in no file are known by their digest.
    """
    digest = hashlib.sha256(bytes.fromhex(source.digest))
    for path in source.files:
        with path.open("rb") as stream:
            digest.update(stream.read(ENDS))
            stream.seek(max(path.stat().st_size - ENDS, 0))
            digest.update(stream.read())
    return {"size": source.size, "ends": digest.hexdigest(), "polars": pl.__version__, **counted}


def write_checkpoint(path: Path, identity: Mapping[str, Any], arrays: Arrays) -> None:
    """Replace a checkpoint atomically, so that the previous one stays until this one is complete.

    It survives a power failure, together with the files that belong to it.

    Raises:
        OutputError: If it cannot be written; the previous one is kept.
    """
    stated = np.frombuffer(json.dumps(identity, sort_keys=True).encode(), np.uint8)
    with on_disk(path.parent):
        for file in files_beside(path).glob("*"):
            flush(file)
        if files_beside(path).exists():
            flush(files_beside(path))
    with written_whole(path, lasting=True) as begun, begun.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **{IDENTITY: stated}, **arrays)


def read_checkpoint(path: Path, identity: Mapping[str, Any]) -> Arrays:
    """Read the arrays of a checkpoint."""
    with _reading(path), path.open("rb") as stream, np.load(stream) as stored:
        arrays = {name: stored[name] for name in stored.files}
        found = json.loads(arrays.pop(IDENTITY).tobytes())
    other = sorted(name for name in {**found, **identity} if found.get(name) != identity.get(name))
    if other:
        raise InputError(
            "a checkpoint of the same input and settings is required",
            found=f"another {', '.join(other)}",
            where=path,
            hint="remove it to count anew",
        )
    return arrays


def within(arrays: Arrays, part: str) -> Arrays:
    """Inverse of `under`: the arrays of a part, without its prefix."""
    return {
        name.removeprefix(f"{part}."): arrays[name]
        for name in arrays
        if name.startswith(f"{part}.")
    }


def under(part: str, arrays: Arrays) -> Arrays:
    """The arrays with the name of a part as prefix of their names."""
    return {f"{part}.{name}": array for name, array in arrays.items()}


def packed(frame: pl.DataFrame) -> NDArray[np.uint8]:
    """Convert a frame to an array of bytes for a checkpoint."""
    return np.frombuffer(frame.write_ipc(None).getvalue(), np.uint8)


def unpacked(array: NDArray[np.uint8]) -> pl.DataFrame:
    """Inverse of `packed`."""
    return pl.read_ipc(io.BytesIO(array.tobytes()))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise InputError(
            "a whole checkpoint is required",
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            where=path,
            hint="remove it to count anew",
        ) from None
