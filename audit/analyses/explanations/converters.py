"""Published evidence as rows of spans: CodiEsp's third track and MDACE, by text and code."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError, SchemaError
from audit.base.files import read_text
from audit.base.json_tables import excerpt, numbered_lines

Place = tuple[str, str, int, int]
"""The id of a text, a code, the first character and the one after the last."""
_SPANS = r"\d+ \d+(?:;\d+ \d+)*"
_TRACK_X = re.compile(rf"([^\t]+)\t[^\t]*\t([^\t]+)\t[^\t]*\t({_SPANS})\s*")


def converted(path: Path) -> pl.DataFrame | None:
    """The evidence in a file of CodiEsp or MDACE: ``id, target, spans``, a row a text and code.

    None if the file is neither.

    Raises:
        InputError: If a line of CodiEsp is not whole.
        SchemaError: If a note of MDACE lacks its id, or an annotation its place or code.
    """
    first = next((text for _, text in numbered_lines(path)), "")
    if _TRACK_X.fullmatch(first):
        return _by_text(_codiesp(path))
    document = _object(first)
    if document is None and first.startswith("{"):
        document = _object(read_text(path))
    notes = (document or {}).get("notes")
    return _by_text(_mdace(notes, path)) if isinstance(notes, list) else None


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _codiesp(path: Path) -> Iterator[Place]:
    """The place of each span; InputError for a line without id, kind, code, words and spans."""
    for where, text in numbered_lines(path):
        if (found := _TRACK_X.fullmatch(text)) is None:
            raise InputError(
                "each line must hold five cells, the last with spans such as 307 316;348 361",
                found=excerpt(text.rstrip("\n")),
                where=where,
            )
        name, code, spans = (cell.strip() for cell in found.groups())
        for span in spans.split(";"):
            first, end = span.split()
            yield name, code, int(first), int(end)


def _mdace(notes: Sequence[Any], path: Path) -> Iterator[Place]:
    """The place of each annotation in the notes of an admission; ``path`` is for errors."""
    try:
        for note in notes:
            for one in note["annotations"]:
                code, first, end = str(one["code"]), int(one["begin"]), int(one["end"])
                yield str(note["note_id"]), code, first, end
    except (KeyError, TypeError, ValueError) as error:
        raise SchemaError(
            "each note needs a note_id, and annotations with code, begin and end",
            found=f"{type(error).__name__}: {error}",
            where=path,
        ) from None


def _by_text(places: Iterable[Place]) -> pl.DataFrame:
    """``id, target, spans``: a row for each text and code, with all its spans."""
    spans = defaultdict[tuple[str, str], list[list[int]]](list)
    for name, code, first, end in places:
        spans[name, code].append([first, end])
    rows = [(*of, own) for of, own in spans.items()]
    return pl.DataFrame(rows, ["id", "target", "spans"], orient="row")
