"""Files as bytes, text and JSON: unpacked within a limit, and as they were when first read."""

from __future__ import annotations

import codecs
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, AnyStr, BinaryIO, TextIO

from audit.base.errors import AuditError, InputError, first_cases
from audit.base.limits import unpacking

AT_ONCE = 2**20
"""Bytes that are read at a time."""
PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
"""How packed files are packed, by their first bytes."""
SUFFIXES = (".gz", ".bz2", ".zst")
"""What the names of packed files end in."""
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}

_SEEN: dict[Path, tuple[int, ...]] = {}
"""What files were when they were first seen, before anything of them was read."""
_COMMANDS: list[bool] = []
"""One entry for each command that is running; elsewhere, reading a path begins anew."""


@contextmanager
def inputs_of_a_command() -> Iterator[None]:
    """Keep what each file was when it was first read, as long as the block runs.

    Raises:
        InputError: In place of another error that is none of a user's, if a file that was read has
            changed.
    """
    _SEEN.clear()
    _COMMANDS.append(True)
    try:
        yield
    except Exception as error:
        if not isinstance(error, (AuditError, RuntimeError, BrokenPipeError)):
            refuse_changed(*_SEEN)
        raise
    finally:
        _COMMANDS.pop()


def see(*paths: Path, opened: bool = False) -> None:
    """Note what files are, before they are read: their device, inode, size and times.

    A command keeps the first note of a file. Elsewhere a later one replaces it, and files that are
    only being ``opened`` are not noted.
    """
    for path in map(Path.absolute, paths):
        if path not in _SEEN if _COMMANDS else not opened:
            _SEEN[path] = _identity(path)


def _identity(path: Path) -> tuple[int, ...]:
    try:
        now = path.stat()
    except OSError:
        return (0,)
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


def refuse_changed(*paths: Path) -> None:
    """Refuse files, or files in folders, that have changed since they were first read."""
    for given in map(Path.absolute, paths):
        known = [given] if given in _SEEN else [path for path in _SEEN if given in path.parents]
        if changed := next((path for path in known if _identity(path) != _SEEN[path]), None):
            raise InputError(
                "files that stay as they are while they are read are required",
                found="a file that was replaced or written to meanwhile",
                where=changed,
                hint="run it again once nothing writes to it",
            )


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Note a file that the block reads; InputError if it is none, or the system cannot read it."""
    if not path.is_file():
        found, hint = "nothing there", ""
        if path.is_dir():
            found = "a folder"
        elif path.exists():
            found = "a pipe or a device, which cannot be read twice"
            hint = "write its output to a file first"
        raise InputError("a file is required", found=found, where=path, hint=hint)
    see(path, opened=True)
    try:
        yield
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError("a readable file is required", found=found, where=path) from None


def bare_suffix(path: Path) -> str:
    """The suffix of a name in lower case, that of packing left out; empty if there is none."""
    name = path.name.lower()
    for packed in SUFFIXES:
        name = name.removesuffix(packed)
    return Path(name).suffix


def blocks_of(path: Path) -> Iterator[bytes]:
    """The bytes of a file in blocks, unpacked; InputError if it cannot be read or is cut."""
    with reading(path), path.open("rb") as stream:
        start = stream.read(4)
        kind = next((name for begins, name in PACKED.items() if start.startswith(begins)), None)
        stream.seek(0)
        if kind is None:
            yield from iter(partial(stream.read, AT_ONCE), b"")
            return
        import pyarrow as pa

        size, refuse_beyond = 0, unpacking(path)
        try:
            with pa.CompressedInputStream(pa.PythonFile(stream), kind) as unpacked:
                while block := unpacked.read(AT_ONCE):
                    size += len(block)
                    refuse_beyond(size)
                    yield block
        except OSError as error:
            required = f"a whole file as {kind} packs it is required"
            raise InputError(required, found=str(error), where=path) from None


def text_blocks(path: Path, encoding: str = "") -> Iterator[str]:
    """The text of a file in blocks, without byte order mark, lines ended by a line feed.

    It is UTF-8 or, by its byte order mark, UTF-16, unless an ``encoding`` is stated; InputError
    names the first line that is not.
    """
    decoder, line = None, 1
    for block in chain(blocks_of(path), [b""]):
        if decoder is None:
            known = (name for mark, name in _MARKS.items() if block.startswith(mark))
            decoder = _decoder(encoding or next(known, "utf-8"))
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            start = error.object.rfind(b"\n", 0, error.start) + 1
            read = error.object[start:].partition(b"\n")[0].decode("cp1252", "replace").strip()
            raise InputError(
                f"text in {encoding or 'UTF-8'} is required",
                found=f"the byte 0x{error.object[error.start]:02x}",
                where=f"{path}:{line}",
                hint="--encoding NAME states another (of other files than the labels: iconv -f "
                f"NAME -t utf-8); cp1252 would read the line as {read[:60]!r}",
            ) from None
        line += text.count("\n")
        yield text


def _decoder(encoding: str) -> io.IncrementalNewlineDecoder:
    try:
        return io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(), True)
    except (LookupError, UnicodeError):
        required, hint = "an encoding of text is required", "utf-8, utf-16 and cp1252 are usual"
        raise InputError(required, found=repr(encoding), where="--encoding", hint=hint) from None


def text_stream(path: Path, encoding: str = "") -> TextIO:
    """The text of a file as a stream: UTF-8, UTF-16 by its mark, or as stated; lines end in LF."""
    blocks = (text.encode() for text in text_blocks(path, encoding))
    return io.TextIOWrapper(as_stream(blocks), "utf-8", newline="\n")


def as_stream(blocks: Iterator[bytes]) -> io.BufferedReader:
    """A stream of bytes that come in blocks."""
    return io.BufferedReader(_Blocks(blocks), AT_ONCE)


class _Blocks(io.RawIOBase):
    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._left = blocks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        """Fill a buffer; 0 at the end."""
        while not self._left:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._left = memoryview(block)
        n = min(len(into), len(self._left))
        into[:n], self._left = self._left[:n], self._left[n:]
        return n


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
    return _unless_blank(b"".join(blocks_of(path)), path)


def read_text(path: Path) -> str:
    """The text of a file, UTF-8 or UTF-16 by its mark, lines ended by LF; InputError if empty."""
    return _unless_blank("".join(text_blocks(path)), path)


def _unless_blank(content: AnyStr, path: Path) -> AnyStr:
    """The content of a file as it is; InputError if it is empty or blank."""
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
