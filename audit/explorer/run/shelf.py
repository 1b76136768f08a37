"""Values of instances on a file without a name, so that those of a million take no memory."""

from __future__ import annotations

import json
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any

import numpy as np

from audit.base.dag import IntArray
from audit.base.disk import on_disk
from audit.base.errors import first_cases

_AT_ONCE = 2**20
"""Bytes that are written at a time."""


class Shelf:
    """What is known of single instances; in memory are only the places where it is written.

    The file is in the system's folder for temporary files, nobody else can open it, and it is
    gone with the process.

    Args:
        entries: Each the id of an instance and a value of plain JSON, any number an instance.
        numbers: A number from 0 for each instance that may be asked for; entries of others are
            only counted.

    Raises:
        OutputError: If there is no room for it.
    """

    def __init__(self, entries: Iterable[tuple[str | None, Any]], numbers: Mapping[str, int]):
        self._numbers, self._reading = numbers, Lock()
        owners, ends, self.unknown = array("q"), array("q", [0]), 0
        place = Path(tempfile.gettempdir())
        with on_disk(place):
            self._file: IO[bytes] = tempfile.TemporaryFile(buffering=_AT_ONCE)  # noqa: SIM115
        weakref.finalize(self, _close, self._file)
        for instance, value in entries:
            number = None if instance is None else numbers.get(instance)
            if number is None:
                self.unknown += 1
                continue
            written = json.dumps(value).encode()
            with on_disk(place):
                self._file.write(written)
            owners.append(number)
            ends.append(ends[-1] + len(written))
        with on_disk(place):
            self._file.flush()
        self._owners, self._ends = (np.array(one, np.int64) for one in (owners, ends))

    def of(self, instance: str) -> list[Any]:
        """The values of an instance in the order of the entries; none if nothing is known of it."""
        places = np.flatnonzero(self._owners == self._numbers.get(instance, -1)).tolist()
        return [json.loads(self._written(place)) for place in places]

    def _written(self, place: int) -> bytes:
        start, end = self._ends[place : place + 2].tolist()
        with self._reading:
            self._file.seek(start)
            return self._file.read(end - start)

    @property
    def instances(self) -> int:
        """How many instances have a value."""
        return int((self._counts > 0).sum())

    @property
    def repeated(self) -> str:
        """The first instances that have several values, and how many do; empty if none has."""
        several = np.flatnonzero(self._counts > 1)
        if not len(several):
            return ""
        names = list(self._numbers)
        return first_cases([names[number] for number in several[:5].tolist()], len(several))

    @property
    def _counts(self) -> IntArray:
        return np.bincount(self._owners, minlength=len(self._numbers))


def _close(file: IO[bytes]) -> None:
    with suppress(OSError):  # of what a full disk did not take
        file.close()
