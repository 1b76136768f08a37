"""The files of texts, pictures and attributions of a run's instances.

A picture that is none, or lies elsewhere than beside the file, is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import sha256_of
from audit.base.plurals import counted
from audit.data.records import ATTRIBUTION_COLUMNS, ATTRIBUTION_DEFAULTS
from audit.data.sources.source import ID_NAMES
from audit.explorer.run.shelf import Shelf, plain_text, streamed_rows
from audit.results.result import AuditResult

_PLAIN = ("target", "model", "method", "seed")
"""What a row is of, in the order of `Attribution`."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """How much each token of an instance speaks for a label, or against it, as one method says."""

    target: str
    model: str
    method: str
    seed: str
    tokens: Sequence[str]
    scores: Sequence[float]


def attribution_shelf(
    result: AuditResult, numbers: Mapping[str, int]
) -> tuple[Shelf, Sequence[str]]:
    """Attributions by instance, and what is to be said of them.

    They are those of the file that the run names, if it is still the one that was read. A run
    without explanations has none.

    Raises:
        InputError: If the file cannot be read.
    """
    file = next((one for one in result.inputs if one["role"] == "attributions"), None)
    if file is None:
        return Shelf((), numbers), ()
    path = Path(file["path"])
    if path.is_file() and sha256_of(path) == file["sha256"]:
        read = Shelf(_attributions(path), numbers)
        return read, (f"Attributions of {read.instances:,} of them, from {path}.",)
    fault = "is not the one that the run was made from" if path.exists() else "is not there"
    return Shelf((), numbers), (f"{path} {fault}: no attributions are shown.",)


def _attributions(path: Path) -> Iterator[tuple[str | None, list[Any]]]:
    """The rows that have as many finite scores as tokens, and read no other explanation."""
    for where, row in streamed_rows(
        path, (*ATTRIBUTION_COLUMNS, *ATTRIBUTION_DEFAULTS, "borrowed")
    ):
        tokens = _list(row.get("tokens"))
        scores = [_number(one) for one in _list(row.get("scores"))]
        sound = all(isinstance(token, str) for token in tokens) and all(map(math.isfinite, scores))
        borrowed = str(row.get("borrowed")).lower() in ("true", "1")
        if tokens and len(tokens) == len(scores) and sound and not borrowed:
            plain = [plain_text(row.get(name), name, where) for name in _PLAIN]
            defaults = [str(ATTRIBUTION_DEFAULTS.get(name, "")) for name in _PLAIN]
            said = [value or default for value, default in zip(plain, defaults, strict=True)]
            yield plain_text(row.get("id"), "id", where), [*said, tokens, scores]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


TEXT, PICTURE = "text", "picture"
LARGEST = 50_000_000
"""Bytes of a picture at most."""
_BEGINNINGS = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
}
"""What files of each type begin with; that of a WebP has its length within."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as it lies on the disk."""

    content: bytes
    media_type: str


class MediaFile:
    """Texts and pictures by instance, and the attributions that the run was made from.

    Texts are copied to a `Shelf` as they are read; a picture is read when it is asked for.

    ``notes`` says what was read and what was not, for the one who opens the window.

    Args:
        path: A table with the id of an instance, and its ``text``, its ``picture`` or both: the
            path of a file from the table's folder.

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
        """The picture of an instance, as `read_picture` reads it; None if it has none."""
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
    """The column of the id; a `SchemaError` if the first row of a file lacks what is required."""
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


def read_picture(folder: Path, name: str) -> Picture:
    """A picture of a folder, known by its first bytes whatever its name is.

    Raises:
        InputError: If there is no such file in the folder or below it, or it is no PNG, JPEG, GIF
            or WebP, or too large.
    """
    path = _within(folder, name)
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(
                f"a picture of at most {LARGEST:,} bytes is required",
                found=f"{path.stat().st_size:,} bytes",
                where=name,
            )
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            "a picture that can be read is required", found=error.strerror or "", where=name
        ) from None
    return Picture(content, _type_of(content, name))


def _within(folder: Path, name: str) -> Path:
    """The file, links followed, if it is in the folder or below it."""
    try:
        root = folder.resolve()
        path = (root / name).resolve()
        there = path.is_file()
    except (OSError, ValueError, RuntimeError):  # a name too long, of half characters, a ring
        raise InputError(
            "a picture is required", found="a path that does not name a file", where=name
        ) from None
    if not path.is_relative_to(root):
        raise InputError(
            "a picture must be in the folder of the file that names it, or below it",
            found="a path that leads elsewhere",
            where=name,
        )
    if not there:
        raise InputError("a picture is required", found="no file of that name", where=name)
    return path


def _type_of(content: bytes, name: str) -> str:
    for kind, beginnings in _BEGINNINGS.items():
        if content.startswith(beginnings):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    raise InputError(
        "a picture is a PNG, JPEG, GIF or WebP by its content", found="another file", where=name
    )
