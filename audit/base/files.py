"""Reading files as bytes, text and JSON, with one clear error message for each fault."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, AnyStr, BinaryIO

from audit.base.errors import AuditError, InputError, first_cases
from audit.base.streams import (
    SUFFIXES,
    bare_suffix,
    blocks_of,
    reading,
    refuse_changed,
    text_blocks,
)

SNIFFED_BYTES = 65_536
"""Number of bytes that `first_bytes` reads, at most."""


def sha256_of(path: Path) -> str:
    """SHA-256 digest of a file's bytes as stored, without decompressing them."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_as_read(path: Path) -> str:
    """SHA-256 digest of a file that has been read; InputError if it changed since it was seen."""
    refuse_changed(path)
    digest = sha256_of(path)
    refuse_changed(path)
    return digest


def refuse_pickle(path: Path, head: bytes, what: str = "labels and hierarchies") -> None:
    """Refuse a file that by its name or first byte may hold pickled objects; none is unpickled."""
    pickled = (".pkl", ".pickle", ".pt", ".pth", ".joblib")
    if bare_suffix(path) in pickled or head.startswith(b"\x80"):
        raise InputError(
            f"{what} are read from text, JSON or Parquet",
            found="a file of pickled objects, which could run code when read",
            where=path,
            hint="export it as CSV or JSON lines",
        )


def first_bytes(path: Path) -> bytes:
    """The first bytes of a file, decompressed."""
    return next(blocks_of(path), b"")[:SNIFFED_BYTES]


def open_bytes(path: Path) -> BinaryIO:
    """A file's bytes to read from, unpacked if its name ends so; InputError if it fails."""
    packed = path.suffix.lower() in SUFFIXES
    with reading(path):
        return io.BytesIO(read_bytes(path)) if packed else path.open("rb")


def read_bytes(path: Path) -> bytes:
    """The content of a file, decompressed; raises InputError if it is empty."""
    return _with_content(b"".join(blocks_of(path)), path)


def read_text(path: Path) -> str:
    """The content of a file as UTF-8, without byte order mark, lines ended by ``\\n``."""
    return _with_content("".join(text_blocks(path)), path)


def _with_content(content: AnyStr, path: Path) -> AnyStr:
    if not content.strip():
        raise InputError("a file with content is required", found="an empty file", where=path)
    return content


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, each with its line number from 1."""
    lines = enumerate(read_text(path).split("\n"), start=1)
    return ((number, line) for number, line in lines if line.strip())


def read_json(path: Path) -> Any:
    """The content of a JSON file; raises InputError if it is invalid, with the line if known."""
    return parsed_json(read_text(path), path)


def parsed_json(text: str, where: object, decode: Callable[[str], Any] | None = None) -> Any:
    """The value of a text of JSON with each key once; InputError, with the line of a file, if it is
    none. ``decode`` decodes it otherwise."""
    try:
        return (decode or _DECODER.decode)(text)
    except (RecursionError, ValueError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 0
        raise InputError(
            "a JSON document of moderate depth and numbers, with each key once, is required",
            found=str(error),
            where=f"{where}:{line}" if line and isinstance(where, Path) else where,
        ) from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs of a JSON object, as `json` shall hook them; ValueError if a key occurs twice."""
    if len(made := dict(pairs)) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(f"more than one value of the key {first_cases(twice)}")
    return made


_DECODER = json.JSONDecoder(object_pairs_hook=once)


def in_text(paths: Iterable[Path]) -> list[Path]:
    """Paths in order; raises InputError if one is no UTF-8, so that no result can name it."""
    found = sorted(paths)
    unlike = [path for path in found if str(path) != os.fsencode(path).decode("utf-8", "ignore")]
    if unlike:
        required, hint = "paths in UTF-8 are required", "rename it"
        raise InputError(required, found=first_cases(map(ascii, map(str, unlike))), hint=hint)
    return found


def files_in(folder: Path) -> list[Path]:
    """The entries of a folder, sorted by name; raises InputError if it cannot be read."""
    try:
        return in_text(folder.iterdir())
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError("a readable folder is required", found=found, where=folder) from None


def estimated_rows(dataset: str | Path) -> int:
    """Rows of a file, or of the parts of one table in a folder; 0 where that cannot be said.

    Text has as many rows as its length allows, if all lines are as long as the first ones, packed
    text five times as many. Texts in a folder are parts of one table if they begin with the same
    line.
    """
    import pyarrow.parquet as pq

    place, rows, first = Path(dataset), 0, set[bytes]()
    with contextlib.suppress(AuditError, OSError, ValueError):  # the reader of the data refuses
        for file in files_in(place) if place.is_dir() else [place]:
            if file.suffix.lower() == ".parquet":
                rows += pq.read_metadata(file).num_rows
                continue
            head = first_bytes(file)
            first.add(head.partition(b"\n")[0])
            if b"\0" in head or len(first) > 1:
                return 0
            length = file.stat().st_size * (5 if file.suffix.lower() in SUFFIXES else 1)
            rows += length * head.count(b"\n") // max(len(head), 1)
        return rows
    return 0
