"""Reading files as bytes, text, JSON and tables, with one clear error message for each fault."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.limits import EXPANSION, UNPACKED

UNPICKLABLE = (".pkl", ".pickle", ".pt", ".pth", ".joblib", ".bin")
"""Suffixes of formats that can run code when they are loaded, such as pickles."""

_AT_ONCE = 2**24
"""Bytes that are unpacked at a time."""
SNIFFED_BYTES = 65_536
"""Number of bytes that `first_bytes` reads."""


def sha256_of(path: Path) -> str:
    """SHA-256 digest of a file's bytes as stored, without decompressing them."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def refuse_pickle(path: Path, what: str = "labels and hierarchies") -> None:
    """Refuse a file that is, or may hold, pickled objects; it is never unpickled.

    Args:
        path: The file.
        what: What it should hold, for the message.
    """
    if path.suffix.lower() in UNPICKLABLE or first_bytes(path)[:1] == b"\x80":
        raise InputError(
            f"{what} are read from text, JSON or Parquet",
            found="a file of pickled objects, which could run code when read",
            where=path,
            hint="export it as CSV or JSON lines",
        )


def first_bytes(path: Path) -> bytes:
    """The first bytes of a file, decompressed; raises InputError if it cannot be read."""
    with _reading(path), _stream(path) as stream:
        return stream.read(SNIFFED_BYTES)


def read_bytes(path: Path) -> bytes:
    """The content of a file, decompressed if it is gzip; raises InputError if it is empty."""
    with _reading(path), _stream(path) as stream:
        content = _unpacked(stream, path) if isinstance(stream, gzip.GzipFile) else stream.read()
    if not content.strip():
        raise InputError("a file with content is required", found="an empty file", where=path)
    return content


def read_text(path: Path) -> str:
    """The content of a file as UTF-8, without byte order mark, lines ended by ``\\n``."""
    content = read_bytes(path)
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            "text must be UTF-8",
            found=f"the byte 0x{content[error.start]:02x}",
            where=f"{path}:{line}",
            hint="convert it, for example with: iconv -f latin1 -t utf-8",
        ) from None


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, each with its line number from 1."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield number, line


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dictionary of a JSON object's pairs; raises ValueError if a key occurs twice.

    To be used as the ``object_pairs_hook`` of `json`, which would only keep the last value.
    """
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(f"more than one value of the key {first_cases(twice)}")
    return made


def read_json(path: Path) -> Any:
    """The content of a JSON file; raises InputError if it is invalid, with the line if known."""
    try:
        return json.loads(read_text(path), object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise InputError(
            "a JSON document is required", found=error.msg, where=f"{path}:{error.lineno}"
        ) from None
    except (RecursionError, ValueError) as error:
        raise InputError(
            "a JSON document of moderate depth and numbers, with each key once, is required",
            found=str(error),
            where=path,
        ) from None


def read_table(path: Path, *, separator: str = ",", header: bool = True) -> pl.DataFrame:
    """Read a CSV or Parquet file; CSV values stay text, so that no leading zero is lost.

    Empty CSV fields are null. A row with too few or too many fields raises SchemaError with its
    line; blank lines are rows without values.
    """
    if path.suffix.lower() == ".parquet":
        return _read_parquet(path)
    content = read_text(path).rstrip("\n").encode()
    try:
        table = pl.read_csv(
            io.BytesIO(content), separator=separator, has_header=header, infer_schema=False
        )
    except pl.exceptions.PolarsError:
        raise _ragged(path, content, separator) from None
    if table.width > 1 and _cut_rows(table, content, separator):
        raise _ragged(path, content, separator)
    return table.rename({name: name.replace('""', '"') for name in table.columns if '""' in name})


def column_named(frame: pl.DataFrame, wanted: str, path: Path) -> str:
    """The column of that name, ignoring case; raises SchemaError if there is none."""
    return name_among(frame.columns, wanted, path)


def name_among(names: Sequence[str], wanted: str, path: Path, hint: str = "") -> str:
    """The name as written, else a match that ignores case; raises SchemaError if there is none."""
    same = [name for name in names if name.strip().lower() == wanted.strip().lower()]
    if same:
        return wanted if wanted in same else same[0]
    raise SchemaError(
        f"a column named {wanted!r} is required",
        found=f"the columns {first_cases(names)}" if names else "no columns",
        where=path,
        hint=hint,
    )


def files_in(folder: Path) -> list[Path]:
    """The entries of a folder, sorted by name; raises InputError if it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise InputError(
            "a readable folder is required", found=error.strerror or str(error), where=folder
        ) from None


def _read_parquet(path: Path) -> pl.DataFrame:
    if path.is_file() and path.stat().st_size == 0:
        raise InputError("a file with content is required", found="an empty file", where=path)
    with _reading(path):
        try:
            return pl.read_parquet(path)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise InputError(
                "a Parquet file is required", found=str(error).split("\n")[0], where=path
            ) from None


def _cut_rows(table: pl.DataFrame, content: bytes, separator: str) -> bool:
    """Whether a row lacks its last fields: a last field that is null, and not empty in the text.

    Quotes that hold line ends can hide a cut row; none is seen where there is none.
    """
    nulls = table.to_series(table.width - 1).null_count()
    if nulls == 0:
        return False
    lines = pl.Series(content.decode().split("\n"))[-table.height :].str.strip_chars_end("\r")
    blank = lines.str.strip_chars() == ""
    empty = lines.str.ends_with(separator) | lines.str.ends_with(f'{separator}""') | blank
    return nulls > int(empty.sum())


def _ragged(path: Path, content: bytes, separator: str) -> SchemaError:
    import csv

    rows = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=separator)
    with contextlib.suppress(csv.Error):
        width = len(next(rows, []))
        for fields in rows:
            if fields and len(fields) != width:
                return SchemaError(
                    f"every row must have the {width} fields of the first one",
                    found=f"{len(fields)} fields",
                    where=f"{path}:{rows.line_num}",
                    hint="a field that holds the separator must stand in double quotes; a row with "
                    "fewer fields was cut",
                )
    return SchemaError("a table of separated values is required", where=path)


def _unpacked(stream: gzip.GzipFile, path: Path) -> bytes:
    """All that is packed, some at a time, so that a limit holds before memory is taken."""
    parts, size, allowed = [], 0, EXPANSION * path.stat().st_size
    while part := stream.read(_AT_ONCE):
        size += len(part)
        UNPACKED.refuse_beyond(size, path, allowed=allowed)
        parts.append(part)
    return b"".join(parts)


def _stream(path: Path) -> BinaryIO | gzip.GzipFile:
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    if path.suffix.lower() == ".gz" and path.stat().st_size == 0:
        raise InputError(
            "a gzip file with content is required", found="a file of 0 bytes", where=path
        )
    return gzip.open(path) if packed else path.open("rb")


class _reading:  # noqa: N801 - reads as the statement it is: with _reading(path)
    """Turn what the operating system and gzip raise into one InputError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        if not self.path.exists():
            raise InputError("a file is required", found="nothing there", where=self.path)
        if self.path.is_dir():
            raise InputError("a file is required", found="a folder", where=self.path)
        if not self.path.is_file():
            raise InputError(
                "a file is required",
                found="a pipe or a device, which cannot be read twice",
                where=self.path,
                hint="write what it gives to a file first",
            )

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, (gzip.BadGzipFile, EOFError, zlib.error)):
            raise InputError(
                "a whole gzip file is required", found=str(error), where=self.path
            ) from None
        if isinstance(error, OSError):
            raise InputError(
                "a readable file is required", found=error.strerror or str(error), where=self.path
            ) from None
