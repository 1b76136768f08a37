"""JSON lines, or a JSON array: an object for each row, read some rows at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NoReturn, TypeAlias

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import once, told_of, whole_characters
from audit.data.sources.source import Source

Line: TypeAlias = tuple[str, dict[str, Any]]
"""Where a line is, for messages, and its object."""
AT_ONCE = 16_384
"""Number of lines whose objects are held at a time, unless the reader says otherwise."""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_STRICT = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=_refuse_constant, object_pairs_hook=once
)
AS_NUMBERS = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=once)
AS_WRITTEN = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=once
)
"""Keeps numbers as they are written, since an id may be ``0017`` or ``428.0``."""


def objects(source: Source, *, streamed: bool = False) -> Iterator[Line]:
    """The object on each line that is not blank, or in an array; numbers stay as written.

    The array may be the only list of objects in one object around it. An array is held in memory,
    lines are not if they are ``streamed``.
    """
    lines = chain.from_iterable(_of_part(part, streamed) for part in source.parts)
    return ((where, _with_names(line)) for where, line in lines)


def _with_names(line: dict[str, Any]) -> dict[str, Any]:
    """An object with names for numbers of classes that are named beside them, as SageMaker does."""
    for beside in [key for key in line if key.endswith(_BESIDE)]:
        key, said = beside.removesuffix(_BESIDE), line[beside]
        if key not in line or not isinstance(said, dict):
            continue
        value = line[key]
        named = said.get("class-map") or {"": ""}
        inside = value.get("annotations") if isinstance(value, dict) else None
        boxes = [one.get("class_id") for one in inside] if isinstance(inside, list) else value
        numbers = boxes if isinstance(boxes, list) else [boxes]
        if all(str(number) in named for number in numbers):
            line = {**line, key: [named[str(number)] for number in numbers]}
        elif "class-name" in said:
            line = {**line, key: said["class-name"]}
        else:
            continue
        del line[beside]
    return line


_BESIDE = "-metadata"


def _of_part(part: Source, streamed: bool) -> Iterator[Line]:
    if is_array(part):
        return _in_array(part)
    if is_document(part):
        return _in_document(part)
    return objects_on(part.streamed_lines() if streamed else part.lines())


def objects_on(
    lines: Iterable[tuple[str, str]], decoder: json.JSONDecoder = _STRICT
) -> Iterator[Line]:
    """The objects on lines with their places, none of which is blank; as `objects`."""
    for where, text in lines:
        try:
            line = decoder.decode(text)
        except (ValueError, RecursionError) as error:
            raise InputError(_OBJECT, found=_said(error), where=where) from None
        if not isinstance(line, dict):
            raise InputError(_OBJECT, found=excerpt(line), where=where)
        yield where, line


_OBJECT = "every line must be a JSON object"


def _said(error: Exception) -> str:
    return told_of(error) if isinstance(error, json.JSONDecodeError) else str(error)


def frames(
    lines: Iterable[Line],
    frame_of: Callable[[Sequence[Line]], pl.DataFrame],
    where: object,
    at_once: int = AT_ONCE,
) -> Iterator[pl.DataFrame]:
    """Frames of some lines at a time."""
    lines = iter(lines)
    while some := list(islice(lines, at_once)):
        with whole_characters(where):
            frame = frame_of(some)
        yield frame


def is_array(source: Source) -> bool:
    """Whether a text begins as a JSON array."""
    return _first_line(source).startswith("[")


def is_object(source: Source) -> bool:
    """Whether the first line of a text is a JSON object."""
    first = _first_line(source)
    try:
        return first.startswith("{") and isinstance(_STRICT.decode(first), dict)
    except (ValueError, RecursionError):
        return False


def begins_object(source: Source) -> bool:
    """Whether the first line of a text begins as a JSON object."""
    return _first_line(source).startswith("{")


def _first_line(source: Source) -> str:
    return "".join(source.head_lines[:1]).strip()


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+')


def is_document(source: Source) -> bool:
    """Whether a text begins as one object around lists of objects, which is no record itself."""
    if source.suffix in (".jsonl", ".ndjson") or not begins_object(source):
        return False
    lines = source.head_lines[:2]
    if len(lines) > 1 and lines[1].startswith("{") and is_object(source):
        return False
    tokens, depth, key, lists = ["", ""], 0, "", set[str]()
    for found in _TOKEN.finditer("\n".join(source.head_lines)):
        token = found[0]
        if depth == 1 and token == ":":
            key = tokens[-1].strip('"')
        lists |= {key} if (depth, tokens[-1], token) == (2, "[", "{") else set()
        if key in _OF_RECORDS:
            return False
        depth += (token in "[{") - (token in "]}")
        tokens.append(token)
    return bool(lists)


_OF_RECORDS = ("labels", "label", "scores", "score")
"""Keys of an object that is a record."""


def _in_document(source: Source) -> Iterator[Line]:
    held = _decoded(source, "a JSON object")
    lists = {
        key: value
        for key, value in held.items()
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value)
    }
    if len(lists) != 1:
        first = next(iter(lists), "KEY")
        raise SchemaError(
            "an object with one list of objects, the records, is required",
            found=f"lists of objects in {first_cases(lists)}" if lists else "none",
            where=source,
            hint=f"jq -c '.{first}[]' FILE > {first}.jsonl takes one out",
        )
    for key, entries in lists.items():
        for number, entry in enumerate(entries, start=1):
            yield f"{source}: entry {number} of {key!r}", entry


def _decoded(source: Source, required: str) -> Any:
    try:
        return _STRICT.decode(source.text().strip())
    except (ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(
            required + " is required", found=_said(error), where=f"{source}{line}"
        ) from None


def _in_array(source: Source) -> Iterator[Line]:
    entries = _decoded(source, "a JSON array of objects")
    for number, entry in enumerate(entries, start=1):
        where = f"{source}: entry {number}"
        if not isinstance(entry, dict):
            raise InputError(
                "every entry of the array must be a JSON object", found=excerpt(entry), where=where
            )
        yield where, entry


def keys_of(lines: Iterable[Line]) -> list[str]:
    """All keys of some lines, in order of first occurrence."""
    return list(dict.fromkeys(key for _, line in lines for key in line))


def nested(lines: Iterable[Line]) -> set[str]:
    """Keys that hold a list or an object on at least one line."""
    return {
        key for _, line in lines for key, value in line.items() if isinstance(value, (list, dict))
    }


def plain(value: Any, key: str, where: str) -> str | None:
    """Return a value that is text, a number as written, or null; else raise SchemaError."""
    if value is None or isinstance(value, str):
        return value
    raise SchemaError(
        f"the key {key!r} must hold text or a number", found=excerpt(value), where=where
    )


def excerpt(value: Any) -> str:
    """The beginning of a JSON value, for messages."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def flattened(value: Any, along: str, name: str = "") -> list[dict[str, str | None]]:
    """Rows of plain values by dotted key, one for each entry of the lists on the way ``along``.

    Of other lists, values that differ are one text.

    >>> flattened({"id": "1", "code": {"coding": [{"code": "a"}, {"code": "b"}]}}, "code.coding")
    [{'id': '1', 'code.coding.code': 'a'}, {'id': '1', 'code.coding.code': 'b'}]
    """
    if isinstance(value, list):
        rows = [row for one in value for row in flattened(one, along, name)]
        return (rows or [{}]) if f"{along}.".startswith(f"{name}.") else [_together(rows)]
    if not isinstance(value, dict):
        return [{name: json.dumps(value) if isinstance(value, bool) else value}]
    rows = [{}]
    for key, inner in value.items():
        below = flattened(inner, along, f"{name}.{key}" if name else key)
        rows = [row | one for row in rows for one in below]
    return rows


def _together(rows: Sequence[dict[str, str | None]]) -> dict[str, str | None]:
    found: dict[str, dict[str | None, None]] = {}
    for row in rows:
        for key, value in row.items():
            found.setdefault(key, {})[value] = None
    return {k: next(iter(own)) if len(own) == 1 else json.dumps([*own]) for k, own in found.items()}


def entries_below(lines: Sequence[Line], key: str) -> Iterator[Any]:
    """The entries of the lists, or the keys of the objects, below a key."""
    lists = (line.get(key) for _, line in lines)
    return (one for own in lists if isinstance(own, (list, dict)) for one in own)


def span_text(entry: Any) -> str | None:
    """The text of a span, ``[0, 5, "PERSON"]``; None of what is no span."""
    if not (isinstance(entry, list) and len(entry) == 3 and all(isinstance(e, str) for e in entry)):
        return None
    *ends, text = entry
    return text if all(map(str.isdecimal, ends)) and not text.isdecimal() else None


def first_list(value: Any, keys: Sequence[str]) -> list[Any]:
    """The entries of the first list on a way of keys that is none of codings."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, list):
            return [] if key == "coding" else value
    return []
