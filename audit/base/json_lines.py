"""Lines of JSON: an object on each, with its place, for readers of values that are no cells."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from audit.base.errors import InputError
from audit.base.files import whole_characters
from audit.base.streams import CONVERTED, text_stream

Line: TypeAlias = tuple[str, dict[str, Any]]
"""Where a line is, for messages, and its object."""
AT_ONCE = 16_384
"""Number of lines whose objects are held at a time."""
_OBJECT = "every line must be a JSON object"


def lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a text that are not blank, with their places; one is held at a time."""
    with text_stream(path, way=CONVERTED) as stream:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                yield f"{path}:{number}", line


def objects_on(lines: Iterable[tuple[str, str]], decoder: json.JSONDecoder) -> Iterator[Line]:
    """The objects on lines with their places; InputError where there is none."""
    for where, text in lines:
        try:
            line = decoder.decode(text)
        except (ValueError, RecursionError) as error:
            raise InputError(_OBJECT, found=str(error), where=where) from None
        if not isinstance(line, dict):
            raise InputError(_OBJECT, found=excerpt(line), where=where)
        yield where, line


def frames(
    lines: Iterable[Line], frame_of: Callable[[Sequence[Line]], pl.DataFrame], where: object
) -> Iterator[pl.DataFrame]:
    """Frames of some lines at a time."""
    lines = iter(lines)
    while some := list(islice(lines, AT_ONCE)):
        with whole_characters(where):
            frame = frame_of(some)
        yield frame


def keys_of(lines: Iterable[Line]) -> list[str]:
    """All keys of some lines, in order of first occurrence."""
    return list(dict.fromkeys(key for _, line in lines for key in line))


def excerpt(value: Any) -> str:
    """The beginning of a JSON value, for messages."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
