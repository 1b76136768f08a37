"""Long arrays: in memory while short, else in mapped files; and how much is worked on at a time."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any
from weakref import WeakSet

import numpy as np
from numpy.typing import DTypeLike, NDArray

from audit.base.disk import on_disk

_LONGEST_IN_MEMORY: ContextVar[int] = ContextVar("held", default=4 * 2**20)
"""Bytes of an array above which it stands in a file; a 64th as many rows are worked on at once."""
_MAPS: WeakSet[mmap.mmap] = WeakSet()


@contextmanager
def holding(most: int) -> Iterator[None]:
    """Keep arrays of more than ``most`` bytes in files within the block; work on less at a time."""
    before = _LONGEST_IN_MEMORY.set(most)
    try:
        yield
    finally:
        _LONGEST_IN_MEMORY.reset(before)


def at_once() -> int:
    """Number of rows, or values, that are worked on at a time."""
    return max(_LONGEST_IN_MEMORY.get() // 64, 1)


def slices(n: int) -> Iterator[slice]:
    """Stretches of an array of so many values; memory is given back after each."""
    for start in range(0, n, at_once()):
        yield slice(start, min(start + at_once(), n))
        give_back_pages()


def counts_of(values: NDArray[Any], n: int) -> NDArray[np.int64]:
    """How often each number from 0 to n - 1 occurs, shape (n,)."""
    found = np.zeros(n, np.int64)
    for some in slices(len(values)):
        found += np.bincount(values[some], minlength=n)
    return found


def stored(values: NDArray[Any]) -> NDArray[Any]:
    """An array as it is where it is short, else the same values in a file."""
    if values.nbytes <= _LONGEST_IN_MEMORY.get():
        return values
    with on_disk(Path(tempfile.gettempdir())), tempfile.TemporaryFile() as file:
        file.write(np.ascontiguousarray(values).data)
        file.flush()
        return _mapped(file, values.dtype)


class Growing:
    """An array to whose end parts are added.

    What is in a file has no name, so that nothing is left of it, however the process ends.
    """

    def __init__(self, kind: DTypeLike) -> None:
        self._kind = np.dtype(kind)
        self._parts: list[NDArray[Any]] = []
        self._file: IO[bytes] | None = None
        self._length = self._waiting = 0

    def __len__(self) -> int:
        return self._length

    def add(self, values: NDArray[Any]) -> None:
        """Add a part, shape (n,); OutputError where the disk is full."""
        self._parts.append(np.array(values, self._kind))
        self._length += len(values)
        self._waiting += self._parts[-1].nbytes
        if self._waiting > _LONGEST_IN_MEMORY.get():
            self._write()

    def whole(self) -> NDArray[Any]:
        """All parts as one array, to which nothing is added from now on."""
        if self._file is None:
            self._parts = [np.concatenate([np.empty(0, self._kind), *self._parts])]
            return self._parts[0]
        self._write()
        with self._file as file:
            return _mapped(file, self._kind)

    def _write(self) -> None:
        """Move the parts that wait in memory to the end of the file."""
        with on_disk(Path(tempfile.gettempdir())):
            self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115
            for part in self._parts:
                self._file.write(part.data)
            self._file.flush()
        self._parts, self._waiting = [], 0


def _mapped(file: IO[bytes], kind: DTypeLike) -> NDArray[Any]:
    """What a file holds as an array, whose memory `give_back_pages` gives back."""
    pages = mmap.mmap(file.fileno(), 0)
    _MAPS.add(pages)
    return np.frombuffer(pages, kind)


def give_back_pages() -> None:
    """Let the system take the memory of what stands in files; it is read again where needed."""
    if hasattr(mmap, "MADV_DONTNEED"):
        for pages in list(_MAPS):
            pages.madvise(mmap.MADV_DONTNEED)
