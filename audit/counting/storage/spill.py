"""Sums of rare pairs beyond a memory budget: sorted runs on the disk, added up when read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.base.errors import InputError
from audit.counting.storage.sums_file import SumsFile, write_sums
from audit.engine.pairs.sums import SortedTail, Sums, summed

AnyArray: TypeAlias = NDArray[Any]
Arrays: TypeAlias = dict[str, AnyArray]

LAST = 2**63 - 1
"""A key greater than all keys of pairs."""

_COLUMNS = ("keys", "joint", "confusion")


class SpilledTail:
    """Sums of pairs within a memory budget; what exceeds it is written to the disk as runs.

    Args:
        folder: Folder to which runs are written.
        memory: Number of bytes that the sums in memory may use.
        name: Prefix of the names of its runs, distinct from others in the folder.
        runs: Names of the existing runs that belong to it, when a count is resumed.
        written: Number of runs written before.
        parts: Sums held in memory before.
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
        """Add the sums of a batch; sums in memory beyond the budget are written to the disk.

        Raises:
            OutputError: If the disk is full; no partial run is left.
        """
        self.held.add(sums)
        if self.held.nbytes > self.memory:
            self._spill()

    def between(self, first: int, stop: int) -> Sums:
        """The sums of the keys from ``first`` up to, but not including, ``stop``."""
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
        """A tail that resumes from an earlier `state`; an empty state gives an empty tail.

        Raises:
            InputError: If a run that was written before is missing.
        """
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
