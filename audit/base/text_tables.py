"""Tables of text: what stands before their rows, and rows of another length than the first one."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from audit.base.errors import SchemaError
from audit.base.readings import Reading, asked
from audit.base.spreadsheets import stream_of

_MARKS = ("#", "!", "%", "//")
"""What lines of notes begin with."""
_LOOKED_AT = 100
"""Number of rows by which a header is told from a row."""
_NUMBER = re.compile(r"\s*[-+]?[\d.,]*\d[\d.,]*\s*")
_BLANKS = re.compile(r'([,;]) +"(?!"[^,;\r\n])')
"""Blanks between a separator and a quote; not where quotes in a quoted cell are doubled."""
_QUOTES = re.compile(r'[^\t\r\n]*"[^\t\r\n]*')
"""A cell with a quote, between tabs."""
_OF_PHENOTYPES = {"hpo_id", "biocuration"}
_OF_GENES = (
    "DB", "DB_Object_ID", "DB_Object_Symbol", "Qualifier", "GO_ID", "DB:Reference", "Evidence",
    "With", "Aspect", "DB_Object_Name", "Synonym", "DB_Object_Type", "Taxon_ID", "Date",
    "Assigned_By", "Annotation_Extension", "Gene_Product_Form_ID",
)  # fmt: skip
"""Columns of GAF, which has no header, as Biopython calls them."""
_OF_PRODUCTS = (
    "DB", "DB_Object_ID", "Qualifier", "GO_ID", "DB:Reference", "Evidence", "With",
    "Interacting_Taxon_ID", "Date", "Assigned_By", "Annotation_Extension", "Annotation_Properties",
)  # fmt: skip
_OF_CLASSES = (
    "DB_Object_ID", "Negation", "Relation", "Ontology_Class_ID", "Reference", "Evidence",
    "With_or_From", "Interacting_Taxon_ID", "Date", "Assigned_By", "Annotation_Extensions",
    "Annotation_Properties",
)  # fmt: skip
_VERSIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "gaf": {"2.0": _OF_GENES, "2.1": _OF_GENES, "2.2": _OF_GENES},
    "gpa": {"1.0": _OF_PRODUCTS, "1.1": _OF_PRODUCTS, "1.2": _OF_PRODUCTS, "2.0": _OF_CLASSES},
}
"""Columns of files of annotations, which have no header, by the version that they begin with."""
_OPTIONAL = {"gaf": 2, "gpa": 0}
"""Number of the last columns that may be missing."""
_VERSION = re.compile(r"!\s*(gaf|gpa)d?-version:\s*(\S+)", re.IGNORECASE)
_USUAL = {"id", "instance", "label", "labels", "code", "child", "parent"}
"""Names that make a line a header."""


@dataclass(frozen=True)
class Preamble:
    """What is taken off a text before it is read as a table with a header.

    Args:
        lines: Number of the first lines that are notes.
        header: The names of the columns as a line, if the notes say them; None: the next line.
        blanks: Whether blanks stand between separators and quotes.
        titled: Whether what is taken off are titles, so that it is told.
        unquoted: Whether quotes are letters as others, as in annotations of genes and diseases.
    """

    lines: int = 0
    header: str | None = None
    blanks: bool = False
    titled: bool = False
    unquoted: bool = False

    @property
    def before(self) -> int:
        """Number of lines before that of the header."""
        return self.lines - (self.header is not None)

    def of_lines(self, lines: Sequence[str]) -> list[str]:
        """The header and the rows among the first lines of a text."""
        named = [] if self.header is None else [self.header]
        return [*named, *map(self._bare, lines[self.lines :])]

    def of_text(self, text: str) -> str:
        """The header and the rows of a text."""
        rows = self._bare(text.split("\n", self.lines)[-1] if self.lines else text)
        return rows if self.header is None else f"{self.header}\n{rows}"

    def of_stream(self, stream: BinaryIO) -> BinaryIO:
        """As `of_text`, of bytes that are read as they are needed."""
        return io.BufferedReader(_Chunks(stream, self._chunks(stream)), _AT_ONCE)

    def _chunks(self, stream: BinaryIO) -> Iterator[bytes]:
        for _ in range(self.lines):
            stream.readline()
        if self.header is not None:
            yield f"{self.header}\n".encode()
        for lines in iter(partial(stream.readlines, _AT_ONCE), []):
            chunk = b"".join(lines)
            marked = (self.blanks or self.unquoted) and b'"' in chunk
            yield self._bare(chunk.decode("latin1")).encode("latin1") if marked else chunk

    def _bare(self, text: str) -> str:
        if self.unquoted:
            return _QUOTES.sub(lambda cell: '"' + cell[0].replace('"', '""') + '"', text)
        return _BLANKS.sub(r'\1"', text) if self.blanks else text


_AT_ONCE = 2**20


class _Chunks(io.RawIOBase):
    """Bytes that come in pieces of a stream."""

    def __init__(self, stream: BinaryIO, chunks: Iterator[bytes]) -> None:
        self._stream, self._chunks, self._left = stream, chunks, b""

    def close(self) -> None:
        """Close the stream too."""
        self._stream.close()
        super().close()

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        """Fill a buffer; 0 at the end."""
        self._left = self._left or next(self._chunks, b"")
        some, self._left = self._left[: len(into)], self._left[len(into) :]
        into[: len(some)] = some
        return len(some)


def preamble_of(lines: Sequence[str]) -> Preamble:
    """What stands before the rows of a text, from its first lines, blank ones included.

    Notes are the first lines that all begin with the same sign. The last of them is the header if
    it has a name for each field of the next line; where there are several notes, only if this line
    is a row: it holds a number, or something that stands in a later row too. It is asked where
    either of both lines may be the header.
    """
    first = next((line for line in lines if line.strip()), "")
    if first.startswith(("{", "[", "<")):
        return Preamble()
    mark = next((one for one in _MARKS if first.startswith(one)), None)
    notes = list(takewhile(lambda line: not line.strip() or line.startswith(mark or "\n"), lines))
    following = [line for line in lines[len(notes) :] if line.strip()][:_LOOKED_AT]
    if not following and any(map(_VERSION.match, notes)):
        raise SchemaError("annotations below the first lines are required", found="none")
    if not following:
        return Preamble()
    sign = separator_in(following[0]) if mark else _parting(following)
    sign, blanks = sign or "|", _are_apart(following)
    said = [line for line in notes if line.strip()]
    named = [{*line.lstrip("#").lower().split("\t")} for line in (*said[-1:], following[0])]
    bare = any(one >= _OF_PHENOTYPES for one in named)
    if bare and not said:
        return Preamble(unquoted=True)
    if not said:
        several = [row for line in lines[:_LOOKED_AT] for row in _fields([line], sign)]
        above = 0 if any("|" in line for line in following) else titles_above(several)
        return Preamble(above, blanks=blanks, titled=above > 0)
    annotations = next(filter(None, map(_VERSION.match, said)), None)
    bare = bare or annotations is not None
    rows = [line.split("\t") for line in following] if bare else _fields(following, sign)
    names = [name.strip() for name in _fields([said[-1].lstrip(mark)], sign)[0]]
    names = [(names or [""])[0] or str(mark) * (len(said) == 1), *names[1:]]
    if annotations:
        names = [*_columns_of(annotations[1].lower(), annotations[2], len(rows[0]))]
    elif not _may_name(names, rows[0]) or _USUAL & {*map(str.lower, rows[0])}:
        return Preamble(len(notes), blanks=blanks, unquoted=bare)
    elif len(said) > 1 and not _is_row(rows):
        raise _unclear(str(mark), notes.index(said[-1]) + 1, names, rows)
    written = io.StringIO()
    csv.writer(written, delimiter=sign, lineterminator="").writerow(names)
    return Preamble(len(notes), written.getvalue(), blanks and not bare, unquoted=bare)


def _columns_of(kind: str, version: str, width: int) -> Sequence[str]:
    """The columns of a version of a file of annotations; raises SchemaError if none is known."""
    known = _VERSIONS[kind]
    named = (known[one] for one in known if f"{version}.0".startswith(one))
    names: tuple[str, ...] = next(named, ())
    if not len(names) - _OPTIONAL[kind] <= width <= len(names) or not names:
        called = "GAF" if kind == "gaf" else "GPAD"
        wanted = " or ".join(known)
        raise SchemaError(
            f"annotations in {called} of version {wanted} are required, in as many columns",
            found=f"version {version}, in {width} columns",
            hint="releases at geneontology.org are of a version that is read",
        )
    return names[:width]


def titles_above(rows: Sequence[Sequence[str | None]]) -> int:
    """Number of rows above the first full one, if they fill at most half of its cells, as titles
    do, and it names columns; 0 if there are none."""
    filled = [sum(bool((cell or "").strip()) for cell in row) for row in rows]
    width = max(map(len, rows), default=0)
    first = next((place for place, n in enumerate(filled) if n == width > 2), 0)
    names = [(cell or "").strip() for cell in rows[first]] if first else []
    below = [[cell or "" for cell in row] for row in rows[first:] if len(row) == width]
    named = 2 * len(below) > len(rows) - first and _may_name(names, names) and not _is_row(below)
    return first if first and named and 2 * max(filled[:first]) <= width else 0


def told_of_titles(above: int, rows: int) -> tuple[Reading, ...]:
    """What is told of a table whose header stands below so many rows of titles."""
    said = f"row {above + 1} names the columns; what stands above it is left out"
    why = "it is the first one with a text in each column"
    option = "write a name for each column into row 1"
    return (Reading(said, why, rows, option),) if above else ()


def separator_in(line: str) -> str | None:
    """The first of tab, comma and semicolon in a line; None if there is none."""
    return next((sign for sign in "\t,;" if sign in line), None)


def _parting(lines: Sequence[str]) -> str | None:
    """The separator of the first line if it parts all into as many fields, as semicolons do beside
    decimal commas; else that of the last, which titles may stand above."""
    own = separator_in(lines[0])
    as_long = own is not None and len({*map(len, _fields(lines, own))}) == 1
    return own if as_long else separator_in(lines[-1])


def _fields(lines: Sequence[str], sign: str, *, apart: bool = True) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=sign, skipinitialspace=apart))
    except csv.Error:
        return [line.split(sign) for line in lines]


def _are_apart(lines: Sequence[str]) -> bool:
    """Whether blanks stand before quotes around cells, without which all rows are equally long."""
    sign = separator_in(lines[0]) or ","
    if not any(map(_BLANKS.search, lines)):
        return False
    cells = (cell for row in _fields(lines, sign, apart=False) for cell in row)
    widths = {*map(len, _fields(lines, sign))}
    return len(widths) == 1 and any(re.match(' +"', cell) for cell in cells)


def _may_name(names: Sequence[str], row: Sequence[str]) -> bool:
    """Whether a line may be the names of the columns of a row."""
    distinct = all(names) and len({*names}) == len(names) == len(row) > 1
    return distinct and not any(map(_NUMBER.fullmatch, names))


def _is_row(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of some rows is none of names."""
    return not _may_name(rows[0], rows[0]) or any(
        cell == one for row in rows[1:] for cell, one in zip(row, rows[0], strict=False)
    )


def is_header(lines: Iterable[str], sign: str) -> bool:
    """Whether the first of some lines is names of columns: usual ones, or without digits above
    cells that all have some; and each line has as many fields. The last may be blank in all."""
    every = _fields([*lines][:_LOOKED_AT], sign)
    if not any(row[-1].strip() for row in every if row):
        every = [row[:-1] for row in every]
    first, *rows = every
    if {*map(len, rows)} != {len(first)} or not _may_name(first, first) or _is_row([first, *rows]):
        return False
    columns = zip(first, *rows, strict=True)
    return not _USUAL.isdisjoint(map(str.lower, map(str.strip, first))) or any(
        not re.search(r"\d", name) and any(cells) and all(re.search(r"\d|^$", c) for c in cells)
        for name, *cells in columns
    )


def _unclear(
    mark: str, line: int, names: Sequence[str], rows: Sequence[Sequence[str]]
) -> Exception:
    told = Reading(
        f"line {line} names the columns, {', '.join(names)[:60]}", "it has as many fields",
        len(rows), f"take {mark!r} off line {line}",
    )  # fmt: skip
    header = Reading(
        f"the line behind it does, {', '.join(rows[0])[:60]}", "it is not a note", len(rows) - 1,
        f"write a line of {mark!r} alone behind line {line}",
    )  # fmt: skip
    return asked("it must be known which line names the columns", [told, header])


def seems_cut(table: pl.DataFrame, content: bytes, separator: str) -> bool:
    """Whether a row seems to lack its last fields: more of them are null than empty in the text.

    Quotes that hold line ends can hide a cut row, and make a whole one seem cut.
    """
    nulls = table.to_series(table.width - 1).null_count()
    if nulls == 0:
        return False
    ends = (f"{separator}{end}".encode() for end in ("\n", "\r\n"))
    plain = content.count(b"\n") <= table.height  # no line end stands in quotes
    if plain and nulls <= sum(content.count(end, content.find(b"\n") + 1) for end in ends):
        return False
    lines = pl.Series(content.decode().split("\n"))[-table.height :].str.strip_chars_end("\r")
    blank = lines.str.strip_chars() == ""
    empty = lines.str.ends_with(separator) | lines.str.ends_with(f'{separator}""') | blank
    return nulls > int(empty.sum())


def no_table(path: Path) -> SchemaError:
    """What is said of a text that cannot be split into fields."""
    return SchemaError("a table of separated values is required", where=path)


def ragged(path: Path, content: bytes, separator: str, preamble: Preamble) -> SchemaError | None:
    """What is said of the first row of another length than the first one; None: there is none."""
    rows = csv.reader(stream_of(content.decode()), delimiter=separator)
    try:
        width = len(next(rows, []))
        for fields in rows:
            if fields and len(fields) != width:
                return SchemaError(
                    f"every row must have the {width} fields of the first one",
                    found=f"{len(fields)} fields",
                    where=f"{path}:{preamble.before + rows.line_num}",
                    hint="a field that holds the separator must be in double quotes; a row with "
                    "fewer fields was cut",
                )
    except csv.Error:
        return no_table(path)
    return None
