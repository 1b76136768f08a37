"""Rows of a long table, one at a time, and values of instances on a nameless file."""

from __future__ import annotations

import json
import tempfile
import weakref
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any

import numpy as np

from audit.base.dag import IntArray
from audit.base.disk import on_disk
from audit.base.errors import InputError, SchemaError, first_cases
from audit.data.json_lines import AS_WRITTEN, objects_on
from audit.data.sources import source_of
from audit.data.sources.source import Source

Entry = tuple[str, Mapping[str, Any]]
"""Where a row is, for messages, and its values by name of column in lower case."""
_ROWS_AT_ONCE = 10_000
"""Rows of a table that are held at a time."""


def streamed_rows(path: Path, wanted: Collection[str]) -> Iterator[Entry]:
    """The rows of a table of text, JSON lines, Parquet or a workbook."""
    source = source_of(path)
    if path.is_dir():
        raise InputError("a file is required", found="a folder", where=path)
    source.refuse_pickle()
    for one in source.readings:
        raise InputError(
            "a table of text in UTF-8, JSON lines, Parquet or one sheet is required",
            found=one.decision,
            where=path,
        )
    in_lines = source.is_text and "".join(source.head_lines[:1]).lstrip().startswith("{")
    return _json_rows(source, wanted) if in_lines else _table_rows(source, wanted)


def _json_rows(source: Source, wanted: Collection[str]) -> Iterator[Entry]:
    for where, line in objects_on(source.streamed_lines(), AS_WRITTEN):
        row = {key.strip().lower(): value for key, value in line.items()}
        yield where, {name: row[name] for name in wanted if name in row}


def _table_rows(source: Source, wanted: Collection[str]) -> Iterator[Entry]:
    written = _column_names(source, wanted)
    number = 0
    for frame in source.frames(list(written.values()), _ROWS_AT_ONCE):
        for values in frame.iter_rows():
            number += 1
            yield f"{source}: row {number}", dict(zip(written, values, strict=True))


def _column_names(source: Source, wanted: Collection[str]) -> Mapping[str, str]:
    """The columns that are wanted and there, as the table writes their names."""
    names = source.head_rows[0] if source.is_text and source.head_rows else list(source.schema)
    alike = [name.strip().lower() for name in names]
    written = {name: names[alike.index(name)] for name in wanted if name in alike}
    if not written:
        raise SchemaError(
            f"columns of the names {', '.join(wanted)} are required",
            found=f"the columns {first_cases(names)}" if names else "no columns",
            where=source,
        )
    for name in written:
        if alike.count(name) > 1:
            raise SchemaError(
                f"one column named {name!r} is required", found="several", where=source
            )
    return written


def plain_text(value: Any, column: str, where: str) -> str | None:
    """A value as text without blanks around it; None if there is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or value != value:
        return None
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value).strip() or None
    raise SchemaError(
        f"the column {column!r} must hold text", found=type(value).__name__, where=where
    )


_AT_ONCE = 2**20
"""Bytes that are written at a time."""


class Shelf:
    """What is known of single instances; in memory are only the places where it is written.

    The file is in the system's folder for temporary files, nobody else can open it, and it is
    gone with the process.

    Args:
        entries: Each the id of an instance and a value of plain JSON, any number an instance.
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
