"""JSON lines, or a JSON array: one object per instance, with a list of its labels."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NoReturn

import polars as pl

from audit.base.errors import InputError, SchemaError
from audit.base.files import once, whole_characters
from audit.data.columns import column_for, exploded, id_among, pick, raw_labels
from audit.data.label_format import Batches, Columns, LabelFormat, RawLabels
from audit.data.sources import Source
from audit.data.unnamed_columns import MOST_VALUES, unnamed_columns

Line = tuple[str, dict[str, Any]]
"""Where a line is, for messages, and its object."""
LINES_LOOKED_AT = 1_000
"""Number of JSON lines from which the keys of the id and the labels are detected in batches."""


def read(source: Source, columns: Columns) -> RawLabels:
    """Read one list of labels per line; null or an empty list is an instance without labels.

    Numbers become text as they are written. The id is the named key, else ``id``, ``instance`` or
    ``hadm_id``, else the only key beside the labels that holds a plain value.

    Raises:
        InputError: If a line is not a JSON object.
        SchemaError: If a key is missing, or holds a value that is not allowed there.
    """
    lines = list(objects(source))
    names = list(dict.fromkeys(key for _, line in lines for key in line))
    labels = column_for("labels", columns.label or "labels", names, source)
    roles = {
        role: column_for(role, name, names, source)
        for role, name in columns.beside.items()
        if name is not None
    }
    beside = {labels, *roles.values(), *nested(lines)}
    roles["instance"] = id_among(names, columns.id, beside, source)
    frame = frame_of(lines, labels, roles, source)
    listed = pick(frame, source, labels="labels", **{role: role for role in roles})
    raw = raw_labels(exploded(listed), listed, source)
    others = _few_valued(lines, set(names) - beside - {roles["instance"]})
    table = pl.DataFrame([listed["instance"].alias(roles["instance"]), *others])
    return replace(raw, unnamed=unnamed_columns(table, roles["instance"], (), source))


def matches(source: Source) -> bool:
    """Whether the first line is a JSON object, or begins as one in a file with that suffix.

    Or whether the text begins as an array, with a key ``labels`` in it.
    """
    first = "".join(source.head_lines[:1]).strip()
    if _is_array(source):
        return '"labels"' in "".join(source.head_lines)
    if not first.startswith("{"):
        return False
    if source.suffix in (".jsonl", ".ndjson"):
        return True
    try:
        return isinstance(_DECODER.decode(first), dict)
    except (ValueError, RecursionError):
        return False


def columns_in_batches(source: Source, instance: str | None, label: str | None) -> tuple[str, str]:
    """The keys of the instance's id and of the labels, from the first `LINES_LOOKED_AT` lines."""
    lines = list(islice(_streamed(source), LINES_LOOKED_AT))
    names = list(dict.fromkeys(key for _, line in lines for key in line))
    labels = column_for("labels", label or "labels", names, source)
    return id_among(names, instance, {labels, *nested(lines)}, source), labels


def frames_in_batches(
    source: Source, instance: str, label: str, at_once: int, start: int
) -> Iterator[pl.DataFrame]:
    """Frames of ids and lists of labels; a key of the wanted names is looked for in each frame."""
    lines = _streamed(source)
    while some := list(islice(lines, at_once)):
        names = list(dict.fromkeys(key for _, line in some for key in line))
        key = column_for("instance", instance, names, source)
        labels = column_for("labels", label, names, source)
        frame = frame_of(some, labels, {"instance": key}, source).select("instance", "labels")
        if start < frame.height:
            yield frame[start:]
        start = max(start - frame.height, 0)


def objects(source: Source) -> Iterator[Line]:
    """The object on each line that is not blank, or in an array; numbers stay as written.

    Raises:
        InputError: If a line, or an entry of the array, is not a JSON object.
    """
    return chain.from_iterable(
        _in_array(part) if _is_array(part) else objects_on(part.lines()) for part in source.parts
    )


def _streamed(source: Source) -> Iterator[Line]:
    """As `objects`, without holding the text of lines in memory; an array is held."""
    return chain.from_iterable(
        _in_array(part) if _is_array(part) else objects_on(part.streamed_lines())
        for part in source.parts
    )


def _is_array(source: Source) -> bool:
    return "".join(source.head_lines[:1]).lstrip().startswith("[")


def _in_array(source: Source) -> Iterator[Line]:
    try:
        entries = _DECODER.decode(source.text().strip())
    except json.JSONDecodeError as error:
        raise InputError(
            "a JSON array of objects is required", found=error.msg, where=f"{source}:{error.lineno}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            "a JSON array of objects is required", found=str(error), where=source
        ) from None
    for number, entry in enumerate(entries, start=1):
        where = f"{source}: entry {number}"
        if not isinstance(entry, dict):
            raise InputError(
                "every entry of the array must be a JSON object", found=_excerpt(entry), where=where
            )
        yield where, entry


def objects_on(
    lines: Iterable[tuple[str, str]], decoder: json.JSONDecoder | None = None
) -> Iterator[Line]:
    """The objects on lines, none of which is blank; as `objects`.

    Args:
        lines: The place of each line, for messages, with its text.
        decoder: Another reader of values than that of `objects`.
    """
    for where, text in lines:
        try:
            line = (decoder or _DECODER).decode(text)
        except (ValueError, RecursionError) as error:
            found = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise InputError(_OBJECT, found=found, where=where) from None
        if not isinstance(line, dict):
            raise InputError(_OBJECT, found=_excerpt(line), where=where)
        yield where, line


_OBJECT = "every line must be a JSON object"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=_refuse_constant, object_pairs_hook=once
)
AS_WRITTEN = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=once
)
"""Keeps numbers as they are written, since an id may be ``0017`` or ``428.0``."""


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


def frame_of(lines: list[Line], labels: str, roles: dict[str, str], source: Source) -> pl.DataFrame:
    """A frame with ``labels``, a list of text, and a text column for each role; one row per line.

    Raises:
        SchemaError: If a line lacks the key of the labels, or a value is not allowed there.
    """
    columns: dict[str, list[Any]] = {"labels": [], **{role: [] for role in roles}}
    for where, line in lines:
        columns["labels"].append(_labels(line, labels, where))
        for role, key in roles.items():
            columns[role].append(plain(line.get(key), key, where))
    schema = {name: pl.List(pl.String) if name == "labels" else pl.String for name in columns}
    with whole_characters(source):
        return pl.DataFrame(columns, schema=schema)


def _labels(line: dict[str, Any], key: str, where: str) -> list[str | None] | None:
    if key not in line:
        raise SchemaError(f"every line must have the key {key!r}", found="none", where=where)
    labels = line[key]
    if labels is None:
        return None
    if not isinstance(labels, list):
        raise SchemaError(f"the key {key!r} must hold a list", found=_excerpt(labels), where=where)
    for label in labels:
        if not (label is None or isinstance(label, str)):
            raise SchemaError(
                "a label must be text or a number", found=_excerpt(label), where=where
            )
    return labels


def plain(value: Any, key: str, where: str) -> str | None:
    """Return a value that is text, a number as written, or null; else raise SchemaError."""
    if value is None or isinstance(value, str):
        return value
    raise SchemaError(
        f"the key {key!r} must hold text or a number", found=_excerpt(value), where=where
    )


def _excerpt(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


FORMAT = LabelFormat(
    name="jsonl",
    title="JSON lines, or a JSON array, with a key for the id and a list in labels",
    matches=matches,
    read=read,
    batches=Batches(columns_in_batches, frames_in_batches),
)
