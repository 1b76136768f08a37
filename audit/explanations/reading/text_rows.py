"""Attributions and evidence in text that is no JSON lines, each row as JSON lines would have it.

CSV whose lists are written as text; the spans of CodiEsp's third track; and the JSON documents of
MDACE.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from audit.base.errors import InputError, SchemaError
from audit.base.files import files_in, read_text
from audit.base.json_tables import Line, excerpt, lines_of, objects_on
from audit.base.table import REPEATED
from audit.base.tables import open_table
from audit.data.class_lists import distinct

Decoder: TypeAlias = json.JSONDecoder
_NUMBER = r"[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|nan|inf)"
_NUMBERS = re.compile(rf"\[?\s*{_NUMBER}(?:[\s,]+{_NUMBER})*\s*,?\s*\]?", re.IGNORECASE)
_LIST = re.compile(r"[\[(]\s*[\[(\])'\"\d.+-]")
_SPANS = re.compile(r"\d+ \d+(?:;\d+ \d+)*")
_TRACK_X = re.compile(rf"[^\t]+\t(?:DIAGNOSTICO|PROCEDIMIENTO)\t[^\t]+\t[^\t]*\t{_SPANS.pattern}")


def objects_in(path: Path, decoder: Decoder) -> Iterator[Line]:
    """The rows of a text, or of the texts of a folder, as objects by the names of columns."""
    for part in files_in(path) if path.is_dir() else [path]:
        first = next((line.strip() for _, line in lines_of(part)), "")
        if first.startswith(("{", "[")):
            yield from _of_objects(part, decoder)
        elif _TRACK_X.fullmatch(first):
            yield from _track_x(part)
        else:
            yield from _of_table(part)


def _of_table(part: Path) -> Iterator[Line]:
    """Rows of a table whose lists are written as text."""
    table = open_table(part).frame()
    names = {name: name.partition(REPEATED)[0].strip().lower() for name in table.columns}
    distinct([*names.values()], "column", part)
    for number, row in enumerate(table.iter_rows(named=True), start=1):
        cells = {names[name]: value for name, value in row.items() if value is not None}
        yield f"{part}: row {number}", {k: _cell(k, v) for k, v in cells.items()}


def _cell(name: str, text: str) -> Any:
    """A cell with the lists that are written in it; what cannot be read stays, and is counted."""
    if name == "spans" and _SPANS.fullmatch(text.strip()):
        return _pairs(text)
    return _listed(text) if name in _LISTS else text


_LISTS = ("tokens", "scores", "explanation_tokens", "marks", "spans", "offsets")


def _listed(text: str) -> Any:
    """The list that a text writes: numbers, as JSON or as Python; words apart by blanks otherwise.

    >>> _listed("[0.5 1]"), _listed("['a', 'b c']"), _listed("he played")
    (['0.5', '1'], ['a', 'b c'], ['he', 'played'])
    >>> _listed("[CLS] he")
    ['[CLS]', 'he']
    """
    written = text.strip()
    if _NUMBERS.fullmatch(written):
        return re.findall(_NUMBER, written, re.IGNORECASE)
    if not _LIST.match(written):
        return written.split()
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(written)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return _plain(found) if isinstance(found, (list, tuple)) else text
    return text


def _plain(found: Sequence[Any]) -> list[Any]:
    """Lists in lists, numbers as text, as JSON lines have them."""
    return [
        _plain(one) if isinstance(one, (list, tuple))
        else str(one) if type(one) in (int, float)
        else one
        for one in found
    ]  # fmt: skip


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
