"""Reading files as text and tables, with one clear message for what is not as it should be."""

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
"""Suffixes of files that can run code when they are read as their makers read them."""

_AT_ONCE = 2**24
"""Bytes that are unpacked at a time."""
SNIFFED_BYTES = 65_536
"""How much of a file `first_bytes` reads."""


def sha256_of(path: Path) -> str:
    """Digest of a file's bytes as they lie on the disk."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def refuse_pickle(path: Path) -> None:
    """Refuse a file that is, or may hold, pickled objects; it is never opened as such."""
    if path.suffix.lower() in UNPICKLABLE or first_bytes(path)[:1] == b"\x80":
        raise InputError(
            "labels and hierarchies are read from text, JSON or Parquet",
            found="a file of pickled objects, which could run code when read",
            where=path,
            hint="export it as CSV or JSON lines",
        )


def first_bytes(path: Path) -> bytes:
    """The beginning of a file, unpacked; a file that cannot be read raises InputError."""
    with _reading(path), _stream(path) as stream:
        return stream.read(SNIFFED_BYTES)


def read_bytes(path: Path) -> bytes:
    """All of a file, unpacked where it is gzip; an empty one raises InputError."""
    with _reading(path), _stream(path) as stream:
        content = _unpacked(stream, path) if isinstance(stream, gzip.GzipFile) else stream.read()
    if not content.strip():
        raise InputError("a file with content is required", found="an empty file", where=path)
    return content


def read_text(path: Path) -> str:
    """All of a file as UTF-8 (a byte order mark is dropped), lines ended by ``\\n``."""
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
    """Line numbers from 1 and lines that are not blank."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield number, line


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object of its pairs; raises ValueError where a key stands in it twice.

    The ``object_pairs_hook`` of `json`, which would keep the last value alone.
    """
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(f"more than one value of the key {first_cases(twice)}")
    return made


def read_json(path: Path) -> Any:
    """A JSON document; a broken one raises InputError, with its line where that is known."""
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
    """A CSV or Parquet file with every CSV value as text, so that no leading zero is lost.

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
    """The column of that name in any case of letters; raises SchemaError where there is none."""
    return name_among(frame.columns, wanted, path)


def name_among(names: Sequence[str], wanted: str, path: Path, hint: str = "") -> str:
    """The name as written, else in another case of letters; raises SchemaError where none is."""
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
    """What lies in a folder, by name; a folder that cannot be read raises InputError."""
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
