"""The file of texts and pictures of a run's instances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap
from pathlib import Path

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.plurals import counted
from audit.data.records import ID_NAMES
from audit.results.exploration import Attribution, Picture
from audit.results.result import AuditResult
from audit.runs.exploring.attribution_shelf import attribution_shelf
from audit.runs.exploring.pictures import read_picture
from audit.runs.exploring.row_stream import plain_text, streamed_rows
from audit.runs.exploring.shelf import Shelf

TEXT, PICTURE = "text", "picture"


class MediaFile:
    """Texts and pictures by instance, and the attributions that the run was made from.

    Texts are copied to a `Shelf` as they are read; a picture is read when it is asked for.

    Args:
        path: A table with the id of an instance, and its ``text``, its ``picture`` or both: the
            path of a file from the table's folder.
        result: A run that keeps its instances.

    Raises:
        InputError: If the file is no such table, or has no row of an instance of the run.
        SchemaError: If a column is missing, or an instance is in two rows.
    """

    def __init__(self, path: Path, result: AuditResult) -> None:
        numbers = _numbers(result)
        self._folder = path.absolute().parent
        self._shelf = Shelf(_entries(path), numbers)
        if not self._shelf.instances:
            raise InputError(
                "a row of an instance of the run is required",
                found=counted(self._shelf.unknown, "rows of others"),
                where=path,
                hint=f"the run has the instances {first_cases(list(numbers)[:9], len(numbers))}",
            )
        if self._shelf.repeated:
            raise SchemaError(
                "an instance must be in one row",
                found=f"in several: {self._shelf.repeated}",
                where=path,
            )
        self._attributions, explained = attribution_shelf(result, numbers)
        self.notes = (*_notes(self._shelf, len(numbers)), *explained)

    def text(self, instance: str) -> str | None:
        """The text of an instance; None if it has none."""
        return self._row(instance)[0]

    def picture(self, instance: str) -> Picture | None:
        """The picture of an instance; None if it has none.

        Raises:
            InputError: As `read_picture`.
        """
        name = self._row(instance)[1]
        return None if name is None else read_picture(self._folder, name)

    def attributions(self, instance: str) -> Sequence[Attribution]:
        """Attributions of an instance by label, model, method and seed; none without any."""
        rows = starmap(Attribution, self._attributions.of(instance))
        return sorted(rows, key=lambda row: (row.target, row.model, row.method, row.seed))

    def _row(self, instance: str) -> tuple[str | None, str | None]:
        held = self._shelf.of(instance)
        return tuple(held[0]) if held else (None, None)


def _numbers(result: AuditResult) -> Mapping[str, int]:
    """A number for each instance that the run keeps, or that is behind a finding."""
    assert result.instances is not None, "the run keeps its instances"
    tables = [result.instances, *([] if result.cases is None else [result.cases])]
    ids = pl.concat([table.select("instance") for table in tables]).unique().sort("instance")
    return {instance: n for n, instance in enumerate(ids.collect().to_series())}


def _entries(path: Path) -> Iterator[tuple[str | None, tuple[str | None, str | None]]]:
    """Each row's id, and its text and picture; rows with neither are left out."""
    name = ""
    for where, row in streamed_rows(path, (*ID_NAMES, TEXT, PICTURE)):
        name = name or _id_name(row, path)
        text, picture = (plain_text(row.get(one), one, where) for one in (TEXT, PICTURE))
        if text or picture:
            yield plain_text(row.get(name), name, where), (text, picture)


def _id_name(row: Mapping[str, object], path: Path) -> str:
    """The column of the id, if the first row of a file has what is required.

    Raises:
        SchemaError: If it has not.
    """
    ids = [name for name in ID_NAMES if name in row]
    if len(ids) != 1:
        raise SchemaError(
            f"one column {', '.join(ID_NAMES[:-1])} or {ID_NAMES[-1]} is required",
            found=f"the columns {first_cases(ids)}" if ids else "none of these",
            where=path,
            hint="it holds the ids of instances as the run has them",
        )
    if TEXT not in row and PICTURE not in row:
        raise SchemaError(f"a column {TEXT} or {PICTURE} is required", found="neither", where=path)
    return ids[0]


def _notes(shelf: Shelf, instances: int) -> Iterator[str]:
    yield f"Media of {shelf.instances:,} of {counted(instances, 'instances')}."
    if shelf.unknown:
        yield f"Left out: {counted(shelf.unknown, 'rows of instances that the run lacks')}."
