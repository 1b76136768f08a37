"""Texts in another encoding than UTF-8, with lines below their rows, or with cells that stand apart
in a way of their own, copied without these."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

from audit.base.errors import AuditError, first_cases
from audit.base.files import SNIFFED_BYTES, first_bytes, is_gzip, read_bytes
from audit.base.lines_below import lines_below
from audit.base.readings import Reading
from audit.base.spreadsheets import stream_of
from audit.base.text_tables import separator_in

_ODD = r"[~^|¦§\x01-\x08\x1c-\x1f]"
_RULE = re.compile(r"[+| ]*([-=]{2,}:?[+| :]+)*[-=]{2,}[+| :]*")
"""A line of dashes below the names of columns."""
_LOOKED_AT, _LEAST = 500, 3
"""Numbers of the first lines by which a way is known, and of lines that it must hold for."""

Split = Callable[[str], list[str]]


@dataclass(frozen=True)
class Dialect:
    """How the cells of each line stand apart.

    Args:
        header: Number of the line of the names of columns, from 0.
        rows: Number of that of the first row.
        unnamed: Whether a first column has no name.
        whole: The separator and the quote of cells that may hold line ends.
        names: The names of the columns, where no line is they.
    """

    said: str
    split: Split
    header: int = 0
    rows: int = 1
    unnamed: bool = False
    whole: tuple[str, str] | None = None
    names: tuple[str, ...] = ()

    def written(self, text: str) -> str:
        """The text as values separated by commas, up to the first blank line below a rule."""
        lines = text.split("\n")
        below: Sequence[str] = lines[self.rows :]
        if self.rows > self.header + 1:
            below = [*takewhile(str.strip, below)]
        named = self.names or self.split(lines[self.header])
        first = [*([""] if self.unnamed else []), *named]
        made = io.StringIO()
        write = csv.writer(made, lineterminator="\n").writerows
        write([first, *self._rows(below, len(first))])
        return made.getvalue()

    def _rows(self, lines: Sequence[str], width: int) -> Iterator[list[str]]:
        sign, quote = self.whole or (",", '"')
        held = csv.reader(stream_of("\n".join(lines)), delimiter=sign, quotechar=quote)
        for row in held if self.whole else map(self.split, filter(_is_row, lines)):
            yield row[:width] if row[width:] == [""] else row


def _is_row(line: str) -> bool:
    return bool(line.strip()) and not _RULE.fullmatch(line.strip())


def dialect_of(lines: Sequence[str]) -> Dialect | None:
    """The way in which the first lines, whole and without their ends, are a table; None of one that
    is read as it is."""
    lines = lines[:_LOOKED_AT]
    first = next((line for line in lines if line.strip()), "")
    if len(lines) < _LEAST or first.startswith(("{", "[", "<", "#", "!", "@", "%")):
        return None
    ways = (
        _ruled, _apart_by_signs, _quoted, _one_more, _in_columns, _apart_by_blanks, _of_one_name,
        _of_several,
    )  # fmt: skip
    return next((found for way in ways if (found := way(lines)) is not None), None)


def _ruled(lines: Sequence[str]) -> Dialect | None:
    """Columns below a line of dashes, as databases print them."""
    found = (n for n, line in enumerate(lines[1:12], 1) if _RULE.fullmatch(line.strip()))
    for n in found:
        spans = [one.span() for one in re.finditer("[-=]+", lines[n])]
        bars = "|" in lines[n - 1]
        split = _between_bars if bars else _slices([*spans])
        below = [*takewhile(str.strip, lines[n + 1 :])]
        apart = bars or all(line[a - 1 : a] in ("", " ") for line in below for a, _ in spans[1:])
        rows, names = [*map(split, filter(_is_row, below))], split(lines[n - 1])
        if len(names) > 1 and all(names) and apart and {*map(len, rows)} == {len(names)}:
            said = f"columns stand below line {n + 1}, which is dashes, up to the first blank line"
            return Dialect(said, split, n - 1, n + 1)
    return None


def _between_bars(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _slices(spans: Sequence[tuple[int, int]]) -> Split:
    ends = [*(b for b, _ in spans[1:]), None]
    places = [slice(a, end) for (a, _), end in zip(spans, ends, strict=True)]
    return lambda line: [line[place].strip() for place in places]


def _apart_by_signs(lines: Sequence[str]) -> Dialect | None:
    """Cells between signs that are hardly ever in texts, as ``~|~``."""
    odd = _ODD if separator_in(lines[0]) else _ODD.replace("[", "[$")
    signs = {*re.findall(f"{odd}+", lines[0])}
    sign = "".join(signs)
    full = [line for line in lines if line.strip()]
    if len(signs) != 1 or sign == "|" or len({line.count(sign) for line in full}) != 1:
        return None
    return Dialect(f"cells stand between {sign!r}", lambda line: [*map(_bare, line.split(sign))])


def _bare(cell: str) -> str:
    cell = cell.strip()
    return cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] and cell[0] in "'\"" else cell


def _quoted(lines: Sequence[str]) -> Dialect | None:
    """Cells between single quotes."""
    sign = separator_in(lines[0])
    names = lines[0].strip().split(sign) if sign else []
    if sign is None or not all(re.fullmatch("'[^']*'", name.strip()) for name in names):
        return None
    rows = [*csv.reader(lines[:-1], delimiter=sign, quotechar="'")]
    if {*map(len, filter(None, rows))} != {len(names)}:
        return None
    said = "single quotes stand around cells"
    return Dialect(said, lambda line: [*map(_bare, line.split(sign))], whole=(sign, "'"))


def _one_more(lines: Sequence[str]) -> Dialect | None:
    """Rows with one cell more than there are names: those of rows in R, or an empty last one."""
    sign = separator_in(lines[0])
    try:
        first, *rows = csv.reader(lines[:-1], delimiter=sign or ",", strict=True)
    except csv.Error:
        return None
    rows = [row for row in rows if row]
    if sign is None or len(rows) < _LEAST or {*map(len, rows)} != {len(first) + 1} or not first[1:]:
        return None
    names = [row[0] for row in rows]
    whole, split = (sign, '"'), lambda line: next(csv.reader([line], delimiter=sign))
    if not any(row[-1] for row in rows):
        return Dialect("a separator stands behind the last cell of each row", split, whole=whole)
    if len({*names}) < len(names) or not all(names):
        return None
    said = "the first cell of each row, which no column is named for, is the name of the row"
    return Dialect(said, split, unnamed=True, whole=whole)


def _in_columns(lines: Sequence[str]) -> Dialect | None:
    """Columns of a fixed width: places that are blank in all lines, with a name above each."""
    full = [line.rstrip() for line in lines if line.strip()]
    if any(re.search(r"[\t,;|\"]", line) for line in full[:1]) or len(full) < _LEAST:
        return None
    width = max(map(len, full))
    blank = [all(line[n : n + 1] in ("", " ") for line in full) for n in range(width)]
    starts = [n for n in range(width) if not blank[n] and (n == 0 or blank[n - 1])]
    named = [a for a, b in pairwise([*starts, width]) if full[0][a:b].strip()]
    spans = [*pairwise([*named, width])]
    split = _slices(spans)
    names = split(full[0])
    gaps = [*re.finditer(r"\S( {2,})\S", full[0])]
    if len(spans) < 2 or not gaps or not all(names) or any(" " * 2 in name for name in names):
        return None
    return Dialect("columns stand below their names, with blanks between them", split)


def _apart_by_blanks(lines: Sequence[str]) -> Dialect | None:
    """Cells between blanks, texts between quotes, as R writes a table."""
    if not re.fullmatch(r'"[^"]*"( "[^"]*")+', lines[0].strip()):
        return None
    split: Split = lambda line: next(csv.reader([line.strip()], delimiter=" "))  # noqa: E731
    rows = [split(line) for line in lines[:-1] if line.strip()]
    more = {len(row) - len(rows[0]) for row in rows[1:]}
    if more not in ({0}, {1}):
        return None
    said = "cells stand between blanks"
    return Dialect(said, split, unnamed=more == {1}, whole=(" ", '"'))


def _of_one_name(lines: Sequence[str]) -> Dialect | None:
    """Cells below names some of which are there twice, so that no option could mean one alone."""
    sign = separator_in(lines[0])
    try:
        first, *rows = csv.reader(lines[:-1], delimiter=sign or ",")
    except csv.Error:
        return None
    again = {name for name in first if first.count(name) > 1}
    widths = {*map(len, filter(None, rows))}
    if sign is None or "" in again or not again or widths != {len(first)}:
        return None
    numbered = [
        f"{name} {first[:n].count(name) + 1}" if name in first[:n] else name
        for n, name in enumerate(first)
    ]
    cells = [cell for row in rows for name, cell in zip(first, row, strict=False) if name in again]
    scores_of_a_class = all(re.fullmatch(r"[-+.\deE]*", cell) for cell in cells)
    if len({*numbered}) < len(first) or scores_of_a_class:
        return None
    further = next(new for name, new in zip(first, numbered, strict=True) if new != name)
    said = f"of columns of one name further ones are numbered, as {further!r}"
    return Dialect(said, lambda line: numbered, whole=(sign, '"'))


def _of_several(lines: Sequence[str]) -> Dialect | None:
    """Rows of several lengths, whose last cells are a few texts again and again, as labels are."""
    sign = next(filter(None, map(separator_in, lines)), None)
    try:
        first, *rows = filter(None, csv.reader(lines[:-1], delimiter=sign or ",", strict=True))
    except csv.Error:
        return None
    least = min(map(len, rows), default=0)
    more = [row for row in rows if len(row) > least]
    last = [cell for row in more for cell in row[least:] if cell]
    known = {*last}
    prose = any(cell != cell.strip() or set(cell) & {".", "|", '"'} for cell in known)
    if (
        sign is None
        or prose
        or max(_SEVERAL, 2 * len(known)) > len(last)
        or _MANY * len(more) < len(rows)
    ):
        return None
    held = [sum(row[n] in known for row in rows) / len(rows) for n in range(least)]
    ids = next((n for n, share in enumerate(held) if share > 1 / _MANY), least)
    longest = max(map(len, rows))
    whole = sum(len(row) == longest for row in rows)
    every = Counter(cell for row in rows for cell in row[ids:] if cell)
    once = sum(n == 1 for n in every.values())
    named = known.isdisjoint(first) and not any(re.search(r"[\d/]", cell) for cell in first[:ids])
    if (
        any(held[:ids])
        or whole > _WHOLE * len(rows)
        or _RARE * once > sum(every.values())
        or (named and ids + 1 < len(first) < longest)
    ):
        return None
    called = [f"column {chr(ord('A') + n)}" for n in range(ids)]
    names = (*(first[:ids] if named else called), "labels")
    said = f"a row has labels from its cell {ids + 1} on"

    def split(line: str) -> list[str]:
        row = next(csv.reader([line], delimiter=sign))
        return [*row[:ids], "|".join(filter(None, row[ids:]))]

    return Dialect(said, split, rows=int(named), names=names)


_SEVERAL, _WHOLE = 8, 0.8
"""Least number of labels at the ends of rows, and share of rows as long as the longest from which
shorter ones were cut."""
_MANY, _RARE = 10, 20
"""Where rows have labels at their ends, of so many rows one is longer, at least; and of so many
labels one is there once, at most."""
_BLOCK, _MOST_PACKED = 2**20, 2**22
"""Bytes that are read at once, and of the longest packed file whose end is looked at."""
_NO_LETTERS = re.compile("[\x00-\x08\x0e-\x1f\x80-\ufffc\ufffe-\U0010ffff]")
"""What a text in Windows-1252 does not hold where it is read as UTF-8: other letters, controls."""
_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_TABLES = (".csv", ".tsv", ".txt", ".tab", ".psv", ".dsv", ".dat", ".rpt", ".prn", ".asc", ".out")
_TEXTS = (*_TABLES, ".json", ".jsonl", ".ndjson")
_COPIES: dict[
    tuple[Path, int, int, int, bool], tuple[TemporaryDirectory[str], tuple[Reading, ...]]
] = {}
"""The copies of this process, which goes with them, and what is told, by file, times and size."""


def plain_copy(path: Path, *, rows: bool = True) -> tuple[Path, tuple[Reading, ...]]:
    """A file as text in UTF-8 of its rows alone, and what is told; the file itself if it is that.

    What is no UTF-8 is UTF-16 if its first bytes say so, else Windows-1252, which is told; so is
    what `lines_below` finds at the end of a table, and of one of ``rows`` a `Dialect` of these.
    What is none of these whole stays as it is: its reader refuses it.
    """
    bare = path.name.lower().removesuffix(".gz")
    if not bare.endswith(_TEXTS):
        return path, ()
    state, table = path.stat(), bare.endswith(_TABLES)
    key = (path.resolve(), state.st_ctime_ns, state.st_mtime_ns, state.st_size, rows)
    if key not in _COPIES:
        head = first_bytes(path)
        encoding = encoding_of(path, head)
        try:
            text = None if encoding is None else read_bytes(path).decode(encoding)
        except UnicodeDecodeError:
            return path, ()
        end = _end(path) if text is None and table else (text or "")[-SNIFFED_BYTES:]
        first = (text or head.decode("utf-8-sig", "replace"))[:SNIFFED_BYTES]
        lines = [line.rstrip("\r") for line in first.split("\n")]
        dialect = (
            dialect_of(lines[: -1 if len(first) >= SNIFFED_BYTES else None])
            if table and rows and "\ufffd" not in first
            else None
        )
        marked = table and not dialect
        below, worded = lines_below(lines, end, rows=rows) if marked else ([], False)
        if text is None and not (below or dialect):
            return path, ()
        text = read_bytes(path).decode("utf-8-sig") if text is None else text.lstrip("\ufeff")
        folder = TemporaryDirectory(prefix="audit-")
        if dialect is not None:
            text = dialect.written(text.replace("\r\n", "\n"))
        kept = text.rstrip(None if below else " \r\n").split("\n")[: -len(below) or None]
        copy = Path(folder.name) / path.name.removesuffix(".gz")
        copy.write_text("\n".join(kept).rstrip(" \r\n") + "\n", "utf-8", newline="")
        _COPIES[key] = folder, _told(path.name, text, encoding, dialect, below, worded)
    folder, told = _COPIES[key]
    return Path(folder.name) / path.name.removesuffix(".gz"), told


def encoding_of(path: Path, head: bytes) -> str | None:
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


def _end(path: Path) -> str:
    if is_gzip(path):
        short = path.stat().st_size <= _MOST_PACKED
        with suppress(AuditError):
            return read_bytes(path)[-SNIFFED_BYTES:].decode("utf-8", "replace") if short else ""
        return ""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - SNIFFED_BYTES))
        return stream.read().decode("utf-8", errors="replace")


def _told(
    name: str,
    text: str,
    encoding: str | None,
    dialect: Dialect | None,
    below: Sequence[str],
    worded: bool,
) -> tuple[Reading, ...]:
    told = []
    if encoding == "cp1252":
        rows = len(re.findall(r"(?m)^.*[^\x00-\x7f].*$", text))
        said, why = f"{name!r} is in Windows-1252", "it is no UTF-8, and says nothing else"
        told.append(Reading(said, why, rows, "iconv -f ENCODING -t utf-8", "lines"))
    if dialect is not None:
        as_many = "all of the first lines then have as many cells"
        why = "these are a few texts again and again" if dialect.names else as_many
        option = "write it with commas between cells"
        told.append(Reading(dialect.said, why, text.count("\n") - 1, option, "lines"))
    if below:
        notes = [line for line in below if line.strip(" ,;\t")]
        said = f"the last lines are no rows: {first_cases(notes)}"
        why = "they stand below a blank line and have no separators"
        why = "their words, or the blank line above them, say so" if worded else why
        option = "move them above other rows" if worded else "give them as many fields as rows have"
        told.append(Reading(said, why, len(notes), option, "lines"))
    return tuple(told)
