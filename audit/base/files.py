"""Reading files as bytes, text, JSON and tables, with one clear error message for each fault."""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import io
import json
import os
import pickletools
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.limits import EXPANSION, UNPACKED
from audit.base.other_files import refuse_other
from audit.base.reading import reading, refuse_changed
from audit.base.text_tables import Preamble, no_table, preamble_of, ragged, seems_cut

UNPICKLABLE = (".pkl", ".pickle", ".pt", ".pth", ".joblib", ".bin")
"""Suffixes of what can run code when it is loaded, as pickles do; of ``.bin`` bytes say it."""

_AT_ONCE = 2**20
"""Bytes that are read at a time."""
SNIFFED_BYTES = 65_536
"""Number of bytes that `first_bytes` reads."""


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
    """Refuse a file that, by its first bytes, is or may hold pickled objects; none is unpickled."""
    suffix = path.suffix.lower()
    may_be = suffix in UNPICKLABLE and (suffix != ".bin" or not _is_plain(head))
    if may_be or head[:1] == b"\x80":
        raise InputError(
            f"{what} are read from text, JSON or Parquet",
            found="a file of pickled objects, which could run code when read",
            where=path,
            hint="export it as CSV or JSON lines",
        )


def _is_plain(head: bytes) -> bool:
    """Whether bytes are of a text that cannot be loaded as the oldest, written, kind of pickle."""
    try:
        text = head.decode() if len(head) < SNIFFED_BYTES else head[:-4].decode()
        list(zip(range(_OPERATIONS), pickletools.genops(head), strict=False))
    except UnicodeDecodeError:
        return False
    except ValueError:
        return "\0" not in text
    return False


_OPERATIONS = 20
"""Number of operations of a pickle that no other text holds by chance."""


def first_bytes(path: Path) -> bytes:
    """The first bytes of a file, decompressed."""
    with reading(path), _stream(path) as stream:
        head = stream.read(SNIFFED_BYTES)
    refuse_other(path, head)
    return head


def open_bytes(path: Path) -> BinaryIO:
    """A file's bytes to read from, unpacked if its name ends in ``.gz``; InputError if it fails."""
    with reading(path):
        packed = path.suffix.lower() == ".gz"
        return io.BytesIO(read_bytes(path)) if packed else path.open("rb")


def read_bytes(path: Path) -> bytes:
    """The content of a file, decompressed if it is gzip; raises InputError if it is empty."""
    with reading(path), _stream(path) as stream:
        content = b"".join(iter(partial(stream.read, _AT_ONCE), b""))
    if not content.strip():
        raise InputError("a file with content is required", found="an empty file", where=path)
    return content


@contextlib.contextmanager
def whole_characters(where: object) -> Iterator[None]:
    """Refuse half a character, which JSON can write and no table can hold."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InputError(
            "text must be Unicode", found=f"half a character: {error.object!r}", where=where
        ) from None


def read_text(path: Path) -> str:
    """The content of a file as UTF-8, without byte order mark, lines ended by ``\\n``."""
    content = read_bytes(path)
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin1"
        raise InputError(
            "text must be UTF-8",
            found="UTF-16" if encoding == "utf-16" else f"the byte 0x{content[error.start]:02x}",
            where=f"{path}:{line}",
            hint=f"convert it, for example with: iconv -f {encoding} -t utf-8",
        ) from None


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, each with its line number from 1."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield number, line


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs of a JSON object, as `json` shall hook them; ValueError if a key occurs twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(f"more than one value of the key {first_cases(twice)}")
    return made


def told_of(error: json.JSONDecodeError) -> str:
    """What is wrong in JSON, and where."""
    line = f"line {error.lineno}, " if error.lineno > 1 else ""
    return f"{error.msg} ({line}column {error.colno})"


def read_json(path: Path) -> Any:
    """The content of a JSON file; raises InputError if it is invalid, with the line if known."""
    try:
        return json.loads(read_text(path), object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise InputError(
            "a JSON document is required", found=told_of(error), where=f"{path}:{error.lineno}"
        ) from None
    except (RecursionError, ValueError) as error:
        raise InputError(
            "a JSON document of moderate depth and numbers, with each key once, is required",
            found=str(error),
            where=path,
        ) from None


def read_table(
    path: Path, *, separator: str = ",", header: bool = True, preamble: Preamble | None = None
) -> pl.DataFrame:
    """Read a CSV or Parquet file; CSV values stay text, so that no leading zero is lost.

    Empty CSV fields are null, and what stands before the rows, as ``preamble`` says or is found, is
    passed over. A row with too few or too many fields raises SchemaError with its line; blank lines
    are rows without values.
    """
    if path.suffix.lower() == ".parquet":
        from audit.base.columnar import read_parquet

        return read_parquet(path)
    text = read_text(path).rstrip("\n")
    preamble = preamble or preamble_of(text[:SNIFFED_BYTES].split("\n"))
    content = preamble.of_text(text).encode()
    try:
        table = pl.read_csv(
            io.BytesIO(content), separator=separator, has_header=header, infer_schema=False
        )
    except pl.exceptions.PolarsError:
        raise ragged(path, content, separator, preamble) or no_table(path) from None
    if seems_cut(table, content, separator):
        error = ragged(path, content, separator, preamble)
        if error:
            raise error
    named = _header(content, separator)
    table.columns = _numbered(named if header and len(named) == table.width else table.columns)
    return table


def _header(content: bytes, separator: str) -> list[str]:
    """The first row of a text, where Polars leaves quotes within quotes doubled."""
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8", newline="")
    with contextlib.suppress(csv.Error):
        return next(csv.reader(text, delimiter=separator), [])
    return []


def _numbered(names: Sequence[str]) -> list[str]:
    """Names of which one again is marked as such."""
    made = list[str]()
    for bare in names:
        own, times = bare, 0
        while own in made:
            own, times = f"{bare}{REPEATED}{times}", times + 1
        made.append(own)
    return made


def called(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """The names that are one of those wanted; case and blanks around them are ignored."""
    alike = {name.strip().lower() for name in wanted}
    return [name for name in names if name.strip().lower() in alike]


def column_named(frame: pl.DataFrame, wanted: str, where: object) -> str:
    """The column of that name, ignoring case; raises SchemaError if there is none."""
    return name_among(frame.columns, wanted, where)


def name_among(names: Sequence[str], wanted: str, where: object, hint: str = "") -> str:
    """The name as written, else a match that ignores case."""
    same = called(names, [wanted])
    name = wanted if wanted in same or not same else same[0]
    if f"{name}{REPEATED}0" in names:
        raise SchemaError(
            f"one column named {name!r} is required", found="several of that name", where=where
        )
    if same:
        return name
    alone = names[0] if len(names) == 1 else ""
    raise SchemaError(
        f"a column named {wanted!r} is required",
        found=f"the columns {first_cases(names)}" if names else "no columns",
        where=where,
        hint="separate fields by commas, or by tabs in a file that ends in .tsv"
        if any(sign in alone for sign in ";\t|,")
        else hint,
    )


REPEATED = "_duplicated_"
"""What Polars puts, with a number, after the name of a column that an earlier column has too."""


def named_once(names: Collection[str]) -> set[str]:
    """The names that one column alone has, so that somebody can mean it."""
    several = {name for name in names if f"{name}{REPEATED}0" in names}
    return {name for name in names if several.isdisjoint({name, name.partition(REPEATED)[0]})}


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
        raise InputError(
            "a readable folder is required", found=error.strerror or str(error), where=folder
        ) from None


def unpacked(path: Path) -> BinaryIO:
    """The bytes that a gzip file unpacks to, as far as the limit on them allows.

    Reading on raises InputError; the limit is the one stated where the file is opened, whatever
    thread reads it.
    """
    return io.BufferedReader(_Unpacked(path), _AT_ONCE)


class _Unpacked(io.RawIOBase):
    def __init__(self, path: Path) -> None:
        self._path, self._size = path, 0
        self._stream, self._stated = gzip.GzipFile(path), copy_context()

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        """Fill a buffer; 0 at the end."""
        try:
            read = self._stream.readinto(into)
        except zlib.error as error:
            raise gzip.BadGzipFile(str(error)) from None
        self._size += read
        self._stated.run(
            UNPACKED.refuse_beyond,
            self._size,
            self._path,
            allowed=EXPANSION * self._path.stat().st_size,
            whole=False,
        )
        return read

    def close(self) -> None:
        """Close the file too."""
        self._stream.close()
        super().close()


def _stream(path: Path) -> BinaryIO:
    packed = is_gzip(path)
    if path.suffix.lower() == ".gz" and path.stat().st_size == 0:
        raise InputError(
            "a gzip file with content is required", found="a file of 0 bytes", where=path
        )
    return unpacked(path) if packed else path.open("rb")


def is_gzip(path: Path) -> bool:
    """Whether a file begins as one that gzip packed."""
    with path.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"
