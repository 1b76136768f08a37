"""Reader of JSON lines, one object at a time."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from audit.base.errors import InputError, SchemaError
from audit.base.files import first_bytes, is_gzip, once, refuse_pickle, unpacked


def objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place (``path:line``) and the object of each line that is not blank.

    The file may be gzipped. One line is in memory at a time.

    Raises:
        InputError: If the file cannot be read or is empty, or a line is not a JSON object or
            contains
            ``NaN`` or ``Infinity``, which are not valid JSON.
    """
    empty = True
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            empty = False
            yield f"{path}:{number}", _object(line, f"{path}:{number}")
    if empty:
        raise InputError("a file with content is required", found="an empty file", where=path)


def text_of(record: dict[str, Any], key: str, where: str) -> str:
    """The text under a key; raises SchemaError if the key is missing or its value is not text."""
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        found = f"the keys {', '.join(record)}" if key not in record else repr(value)
        raise SchemaError(f"a text under {key!r} is required", found=found, where=where)
    return value


def _lines(path: Path) -> Iterator[bytes]:
    refuse_pickle(path, first_bytes(path))
    try:
        with unpacked(path) if is_gzip(path) else path.open("rb") as stream:
            yield from stream
    except (OSError, EOFError, zlib.error) as error:
        raise InputError("a readable file is required", found=str(error), where=path) from None


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(
            line.decode("utf-8-sig"), parse_constant=_refuse_constant, object_pairs_hook=once
        )
    except (ValueError, RecursionError) as error:
        raise InputError(
            "every line must be a JSON object in UTF-8", found=str(error), where=where
        ) from None
    if not isinstance(value, dict):
        raise InputError(
            "every line must be a JSON object", found=type(value).__name__, where=where
        )
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")
