"""Texts in another encoding than UTF-8, with lines below their rows, or with cells that stand apart
in a way of their own, copied without these."""

from __future__ import annotations

import codecs
import io
import re
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from audit.base.dialects import Dialect, dialect_of
from audit.base.errors import first_cases
from audit.base.files import SNIFFED_BYTES, first_bytes, is_gzip, read_bytes
from audit.base.readings import Reading
from audit.base.text_tables import separator_in

_BLOCK = 2**20
_NO_LETTERS = re.compile("[\x00-\x08\x0e-\x1f\x80-\ufffc\ufffe-\U0010ffff]")
"""What a text in Windows-1252 does not hold where it is read as UTF-8: other letters, controls."""
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_TABLES = (".csv", ".tsv", ".txt", ".tab", ".psv", ".dsv", ".dat", ".rpt", ".prn", ".asc", ".out")
_TEXTS = (*_TABLES, ".json", ".jsonl", ".ndjson")
_MOST = 12
"""Number of lines below the rows of a table, at most."""
_COPIES: dict[
    tuple[Path, int, int, int, bool], tuple[TemporaryDirectory[str], tuple[Reading, ...]]
] = {}
"""The copies of this process, which goes with them, and what is told, by file, times and size."""


def plain_copy(path: Path, *, rows: bool = True) -> tuple[Path, tuple[Reading, ...]]:
    """A file as text in UTF-8 of its rows alone, and what is told; the file itself if it is that.

    What is no UTF-8 is UTF-16 if its first bytes say so, else Windows-1252, which is told; so is
    what stands below a blank line at the end of a table of ``rows``, without any separators, and a
    `Dialect` of its rows. What is none of these whole stays as it is: its reader refuses it.
    """
    bare = path.name.lower().removesuffix(".gz")
    if not bare.endswith(_TEXTS):
        return path, ()
    state, table = path.stat(), rows and bare.endswith(_TABLES)
    key = (path.resolve(), state.st_ctime_ns, state.st_mtime_ns, state.st_size, rows)
    if key not in _COPIES:
        head = first_bytes(path)
        encoding = _encoding(path, head)
        try:
            text = None if encoding is None else read_bytes(path).decode(encoding)
        except UnicodeDecodeError:
            return path, ()
        end = _end(path, head) if text is None and table else (text or "")[-SNIFFED_BYTES:]
        first = (text or head.decode("utf-8-sig", "replace"))[:SNIFFED_BYTES]
        lines = [line.rstrip("\r") for line in first.split("\n")]
        dialect = (
            dialect_of(lines[: -1 if len(first) >= SNIFFED_BYTES else None])
            if table and "\ufffd" not in first
            else None
        )
        below = _below(first, end) if table and not dialect else []
        if text is None and not (below or dialect):
            return path, ()
        text = read_bytes(path).decode("utf-8-sig") if text is None else text.lstrip("\ufeff")
        folder = TemporaryDirectory(prefix="audit-")
        if dialect is not None:
            text = dialect.written(text.replace("\r\n", "\n"))
        kept = text.rstrip(None if below else " \r\n").split("\n")[: -len(below) or None]
        copy = Path(folder.name) / path.name.removesuffix(".gz")
        copy.write_text("\n".join(kept).rstrip(" \r\n") + "\n", "utf-8", newline="")
        _COPIES[key] = folder, _told(text, encoding, below, dialect)
    folder, told = _COPIES[key]
    return Path(folder.name) / path.name.removesuffix(".gz"), told


def _encoding(path: Path, head: bytes) -> str | None:
    """The encoding of a text that is not UTF-8; of a packed one its first bytes tell."""
    if marked := _MARKS.get(head[:2]):
        return marked
    if b"\0" in head:
        return None
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with io.BytesIO(head) if is_gzip(path) else path.open("rb") as stream:
            for block in iter(partial(stream.read, _BLOCK), b""):
                decoder.decode(block)
    except UnicodeDecodeError:
        text = read_bytes(path).decode("utf-8", errors="replace")
        return None if _NO_LETTERS.search(text) else "cp1252"
    return None


def _end(path: Path, head: bytes) -> str:
    if is_gzip(path):
        return ""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - SNIFFED_BYTES))
        return stream.read().decode("utf-8", errors="replace")


def _below(head: str, end: str) -> list[str]:
    """The last lines, from the blank one above them on, if they have no separator nor quote."""
    lines = [line.rstrip("\r") for line in end.rstrip().split("\n")]
    signs = "".join(filter(None, map(separator_in, head.split("\n")[:50])))
    place = max((n for n, line in enumerate(lines) if not line.strip()), default=0)
    below = lines[place:]
    bare = not any(set(line) & {*signs, '"'} for line in below)
    return below if signs and place > 0 and 1 < len(below) <= _MOST and bare else []


def _told(
    text: str, encoding: str | None, below: list[str], dialect: Dialect | None
) -> tuple[Reading, ...]:
    told = []
    if encoding == "cp1252":
        rows = len(re.findall(r"(?m)^.*[^\x00-\x7f].*$", text))
        said, why = "the text is in Windows-1252", "it is no UTF-8, and says nothing else"
        told.append(Reading(said, why, rows, "iconv -f ENCODING -t utf-8", "lines"))
    if dialect is not None:
        why = "all of the first lines have as many cells so"
        option = "write it with commas between cells"
        told.append(Reading(dialect.said, why, text.count("\n") - 1, option, "lines"))
    if below:
        said = f"the last lines are no rows: {first_cases(below[1:])}"
        why = "they stand below a blank line and have no separators"
        told.append(
            Reading(said, why, len(below) - 1, "give them as many fields as rows have", "lines")
        )
    return tuple(told)
