"""JSON lines: one object per instance, with a list of its labels."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import polars as pl

from audit.base.errors import InputError, SchemaError
from audit.base.files import once, read_lines
from audit.data.columns import column_for, exploded, head_lines, id_among, pick, raw_labels
from audit.data.label_format import Columns, LabelFormat, RawLabels
from audit.data.unnamed_columns import MOST_VALUES, unnamed_columns

Line = tuple[int, dict[str, Any]]


def read(path: Path, columns: Columns) -> RawLabels:
    """Read one list of labels per line; null or an empty list is an instance without labels.

    Numbers become text as they are written. The id is the named key, else ``id``, ``instance`` or
    ``hadm_id``, else the only key beside the labels that holds a plain value.

    Raises:
        InputError: If a line is not a JSON object.
        SchemaError: If a key is missing, or holds a value that is not allowed there.
    """
    lines = list(objects(path))
    names = list(dict.fromkeys(key for _, line in lines for key in line))
    labels = column_for("labels", columns.label or "labels", names, path)
    roles = {
        role: column_for(role, name, names, path)
        for role, name in columns.beside.items()
        if name is not None
    }
    beside = {labels, *roles.values(), *nested(lines)}
    roles["instance"] = id_among(names, columns.id, beside, path)
    frame = frame_of(lines, labels, roles, path)
    listed = pick(frame, path, labels="labels", **{role: role for role in roles})
    raw = raw_labels(exploded(listed), listed, path)
    others = _few_valued(lines, set(names) - beside - {roles["instance"]})
    table = pl.DataFrame([listed["instance"].alias(roles["instance"]), *others])
    return replace(raw, unnamed=unnamed_columns(table, roles["instance"], (), path))


def matches(path: Path, head: bytes) -> bool:
    """Whether the first line is a JSON object, or begins as one in a file with that suffix."""
    first = "".join(head_lines(path, head)[:1]).strip()
    if not first.startswith("{"):
        return False
    if {".jsonl", ".ndjson"} & {suffix.lower() for suffix in path.suffixes[-2:]}:
        return True
    try:
        return isinstance(_DECODER.decode(first), dict)
    except (ValueError, RecursionError):
        return False


def objects(path: Path) -> Iterator[Line]:
    """The object on each nonblank line with its line number from 1; numbers stay as written.

    Raises:
        InputError: If a line is not a JSON object.
    """
    return objects_on(read_lines(path), path)


def objects_on(
    lines: Iterable[tuple[int, str]], path: Path, decoder: json.JSONDecoder | None = None
) -> Iterator[Line]:
    """The objects on numbered lines, none of which is blank; as `objects`.

    Args:
        lines: Numbers from 1 with the text of the line.
        path: The file, for messages.
        decoder: Another reader of values than that of `objects`.
    """
    for number, text in lines:
        where = f"{path}:{number}"
        try:
            line = (decoder or _DECODER).decode(text)
        except (ValueError, RecursionError) as error:
            raise InputError(_OBJECT, found=_first_words(error), where=where) from None
        if not isinstance(line, dict):
            raise InputError(_OBJECT, found=_shown(line), where=where)
        yield number, line


_OBJECT = "every line must be a JSON object"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=_refuse_constant, object_pairs_hook=once
)


def _first_words(error: Exception) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


def nested(lines: list[Line]) -> set[str]:
    """Keys that hold a list or an object on at least one line."""
    return {
        key for _, line in lines for key, value in line.items() if isinstance(value, (list, dict))
    }


def _few_valued(lines: list[Line], keys: Collection[str]) -> Iterator[pl.Series]:
    """Values a line of each key that holds few different ones: text, a number or nothing."""
    for key in sorted(keys):
        values = [line.get(key) for _, line in lines]
        if key.isprintable() and _is_few(values):
            yield pl.Series(key, values, pl.String)


def _is_few(values: Iterable[Any]) -> bool:
    found: set[str | None] = set()
    for value in values:
        if not (value is None or (isinstance(value, str) and value.isprintable())):
            return False
        found.add(value)
        if len(found) > MOST_VALUES + (None in found):
            return False
    return True


def frame_of(lines: list[Line], labels: str, roles: dict[str, str], path: Path) -> pl.DataFrame:
    """A frame with ``labels``, a list of text, and a text column for each role; one row per line.

    Raises:
        SchemaError: If a line lacks the key of the labels, or a value is not allowed there.
    """
    columns: dict[str, list[Any]] = {"labels": [], **{role: [] for role in roles}}
    for number, line in lines:
        columns["labels"].append(_labels(line, labels, f"{path}:{number}"))
        for role, key in roles.items():
            columns[role].append(plain(line.get(key), key, f"{path}:{number}"))
    schema = {name: pl.List(pl.String) if name == "labels" else pl.String for name in columns}
    try:
        return pl.DataFrame(columns, schema=schema)
    except UnicodeEncodeError as error:
        raise InputError(
            "text must be Unicode", found=f"half a character: {error.object!r}", where=path
        ) from None


def _labels(line: dict[str, Any], key: str, where: str) -> list[str | None] | None:
    if key not in line:
        raise SchemaError(f"every line must have the key {key!r}", found="none", where=where)
    labels = line[key]
    if labels is None:
        return None
    if not isinstance(labels, list):
        raise SchemaError(f"the key {key!r} must hold a list", found=_shown(labels), where=where)
    for label in labels:
        if not (label is None or isinstance(label, str)):
            raise SchemaError("a label must be text or a number", found=_shown(label), where=where)
    return labels


def plain(value: Any, key: str, where: str) -> str | None:
    """Return a value that is text, a number as written, or null; else raise SchemaError."""
    if value is None or isinstance(value, str):
        return value
    raise SchemaError(
        f"the key {key!r} must hold text or a number", found=_shown(value), where=where
    )


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


FORMAT = LabelFormat(
    name="jsonl",
    title="JSON lines with a key for the id and a list in labels",
    matches=matches,
    read=read,
)
