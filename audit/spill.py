"""Sums of rare pairs beyond a memory budget: sorted runs on the disk, added up when asked for."""

from __future__ import annotations

import errno
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from audit.engine.tally import SortedTail, Sums, summed
from audit.errors import OutputError

ROWS_PER_GROUP = 262_144
"""Pairs that are read back at a time."""
LAST = 2**63 - 1
"""Beyond every key."""


class SpilledTail:
    """Sums of pairs of which no more than a budget is held in memory.

    Args:
        folder: Where runs are written; None: a temporary folder that goes with this object.
        memory: Bytes that the sums in memory may take.
        runs: Runs that were written before, oldest first.
        parts: What was held beside them.
    """

    def __init__(
        self,
        folder: Path | None,
        memory: int,
        runs: Sequence[Path] = (),
        parts: Sequence[Sums] = (),
    ) -> None:
        self.folder, self.memory, self.runs = folder, memory, list(runs)
        self.held = SortedTail(parts)

    def add(self, sums: Sums) -> None:
        """Add the sums of a batch; what is held goes to the disk where it exceeds the budget.

        Raises:
            OutputError: If the disk takes no more; no half-written run is left.
        """
        self.held.add(sums)
        if self.held.nbytes > self.memory:
            self._spill()

    def between(self, first: int, stop: int) -> Sums:
        """The sums of the keys from ``first`` to before ``stop``."""
        runs = [_read(run, first, stop) for run in self.runs]
        return summed([*runs, self.held.between(first, stop)])

    def _spill(self) -> None:
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="audit-pairs-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        run = run_file(self.folder, len(self.runs))
        _write(self.held.between(0, LAST), run)
        self.runs.append(run)
        self.held = SortedTail()


def run_file(folder: Path, number: int) -> Path:
    """The file of a run, numbered from 0."""
    return folder / f"run-{number:06d}.parquet"


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Where to write a file that takes its place only once it is whole.

    Raises:
        OutputError: If the disk is full or the folder may not be written; what was begun is gone.
    """
    begun = path.with_name(f".{path.name}.begun")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield begun
        begun.replace(path)
    except OSError as error:
        raise OutputError(
            "room on the disk is required" if _is_full(error) else "a writable folder is required",
            found=error.strerror or str(error),
            where=path.parent,
            hint="free some, or name another folder; what was counted before is kept",
        ) from None
    finally:
        begun.unlink(missing_ok=True)


def _is_full(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _write(sums: Sums, run: Path) -> None:
    table = pa.table({"key": sums.keys, "joint": sums.joint, "confusion": sums.confusion})
    with written_whole(run) as begun:
        pq.write_table(table, begun, row_group_size=ROWS_PER_GROUP, compression="zstd")


def _read(run: Path, first: int, stop: int) -> Sums:
    within = pl.col("key").is_between(first, stop, closed="left")
    frame = pl.scan_parquet(run).filter(within).collect()
    key, joint, confusion = (frame[name].to_numpy() for name in ("key", "joint", "confusion"))
    return Sums(key.astype(np.int64), joint.astype(np.int64), confusion.astype(np.float64))
