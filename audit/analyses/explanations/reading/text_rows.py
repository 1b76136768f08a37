"""Rows of JSON lines, and published evidence as such rows: CodiEsp's third track, and MDACE."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from audit.base.errors import InputError, SchemaError
from audit.base.files import files_in, read_text
from audit.base.json_tables import Line, excerpt, lines_of, objects_on

Decoder: TypeAlias = json.JSONDecoder
_SPANS = re.compile(r"\d+ \d+(?:;\d+ \d+)*")
_TRACK_X = re.compile(rf"[^\t]+\t(?:DIAGNOSTICO|PROCEDIMIENTO)\t[^\t]+\t[^\t]*\t{_SPANS.pattern}")


def objects_in(path: Path, decoder: Decoder) -> Iterator[Line]:
    """The rows of a text, or of the texts of a folder, as objects by the names of columns."""
    for part in files_in(path) if path.is_dir() else [path]:
        first = next((line.strip() for _, line in lines_of(part)), "")
        if _TRACK_X.fullmatch(first):
            yield from _track_x(part)
        elif first.startswith(("{", "[")):
            yield from _of_objects(part, decoder)
        elif first:
            raise InputError(
                "attributions and evidence are lines of JSON objects, or Parquet",
                found=excerpt(first),
                where=part,
                hint="write_ndjson of Polars, or to_json(lines=True) of pandas, writes lines",
            )


def _pairs(text: str) -> list[list[int]]:
    return [[int(end) for end in pair.split()] for pair in text.strip().split(";")]


def _track_x(part: Path) -> Iterator[Line]:
    """Id, kind, code, words and their places: a record for each id and code, of all its places."""
    spans: dict[tuple[str, str], list[list[int]]] = {}
    for where, text in lines_of(part):
        cells = [cell.strip() for cell in text.split("\t")]
        if len(cells) != 5 or not _SPANS.fullmatch(cells[4]):
            raise InputError(
                "each line must hold five cells, the last with spans such as 307 316;348 361",
                found=excerpt(text.rstrip("\n")),
                where=where,
            )
        spans.setdefault((cells[0], cells[2]), []).extend(_pairs(cells[4]))
    yield from _records(str(part), spans)


def _of_objects(part: Path, decoder: Decoder) -> Iterator[Line]:
    """Objects on lines; of a document of MDACE, a record for each note and code."""
    whole = next(text for _, text in lines_of(part)).strip() == "{"
    found = _document(part, decoder) if whole else objects_on(lines_of(part), decoder)
    for where, one in found:
        if isinstance(one.get("notes"), list):
            yield from _of_notes(one["notes"], where)
        else:
            yield where, one


def _document(part: Path, decoder: Decoder) -> Iterator[Line]:
    try:
        yield str(part), dict(decoder.decode(read_text(part).strip()))
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError("a JSON object is required", found=str(error), where=part) from None


def _of_notes(notes: Sequence[Any], where: str) -> Iterator[Line]:
    spans: dict[tuple[str, str], list[list[int]]] = {}
    for note in notes:
        try:
            for one in note["annotations"]:
                key = str(note["note_id"]), str(one["code"])
                spans.setdefault(key, []).append([int(one["begin"]), int(one["end"])])
        except (KeyError, TypeError, ValueError) as error:
            raise SchemaError(
                "each note needs a note_id, and annotations with code, begin and end",
                found=f"{type(error).__name__}: {error}",
                where=where,
            ) from None
    yield from _records(where, spans)


def _records(where: str, spans: Mapping[tuple[str, str], list[list[int]]]) -> Iterator[Line]:
    for (name, code), own in spans.items():
        yield where, {"id": name, "target": code, "spans": _united(own)}


def _united(spans: list[list[int]]) -> list[list[int]]:
    """Spans in order, those that share characters as one; what is empty or reversed stays."""
    found: list[list[int]] = []
    for first, end in sorted(spans):
        if found and first < found[-1][1] and first < end:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([first, end])
    return found
