"""Text tables: fields parted by tabs, commas, semicolons or bars, read some at a time as text."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import BufferedReader
from itertools import chain, count, islice, takewhile
from pathlib import Path

import polars as pl

from audit.base.errors import InputError, SchemaError
from audit.base.files import AT_ONCE, as_stream, text_blocks, text_stream
from audit.base.table import REPEATED, Table, TextLines, gathered

SEPARATORS = "\t,;|"
"""What may part fields, in the order in which one is chosen among several that fit alike."""
LOOKED_AT = 100
"""Number of first lines by which a separator is found, and layouts without a header."""
_BLOCK = 2**23
"""Bytes that are parsed at a time; no row may be longer."""
_NOTHING = [" " * n for n in range(16)]
"""Cells without a value."""
_NONE = "\x1f"
"""The separator of a text whose lines are cells."""


@dataclass(frozen=True, kw_only=True)
class TextShape:
    """What is stated of a text table.

    Args:
        encoding: Its encoding; empty: UTF-8, or UTF-16 by its byte order mark.
        skip_rows: Number of lines before everything else that are not read.
        header: Whether the first row names the columns.
    """

    encoding: str = ""
    skip_rows: int = 0
    header: bool = True


@dataclass(frozen=True)
class _Form:
    """How a text is written, a publisher's known by how it ``begins``: what ``notes`` begin with,
    its separator (None: it is found), quotes around fields behind blanks, a last line as no row;
    then, as they are found, the number of lines before its rows and the names of its columns."""

    begins: str = ""
    notes: str = "#"
    separator: str | None = "\t"
    header: bool = False
    quotes: bool = False
    last: str = ""
    before: int = 0
    names: tuple[str, ...] = ()


_FORMS = (
    _Form(r"!(gaf|gpad?|gpi)-version:", "!"),
    _Form(r"(#[^\n]*\n)*database_id\tdisease_name\t", header=True),  # HPO
    _Form(r"(?i)\w*(concept|vocabulary|domain|relationship)\w*_id\w*\t", header=True),  # OMOP
    _Form(r"(#[^\n]*\n){2}# YTID, ", separator=",", quotes=True),  # AudioSet
    _Form(r"AUTHOR\s[^\n]*\nMODEL\s", "AUTHOR|MODEL|KEYWORDS|ACCURACY", last="END"),  # CAFA
    _Form(r"[^\t\n]+\t[A-Z][A-Za-z]*:\d{4,}[\t;\n]"),  # ids beside terms
    _Form(r"__label__\S", separator=""),  # fastText
)
_USUAL = _Form(separator=None, header=True, quotes=True)


def text_table(path: Path, name: str, shape: TextShape) -> Table:
    """The table of a text file; InputError if it has no row that names columns or is one."""
    with text_stream(path, shape.encoding) as stream:
        lines = [line.removesuffix("\n") for line in islice(stream, shape.skip_rows + LOOKED_AT)]
    lines = lines[shape.skip_rows :]
    if not any(map(str.strip, lines)):
        raise InputError("a table with rows is required", found="an empty file", where=name)
    if any("\0" in line for line in lines):
        hint = "--encoding utf-16-le or utf-16-be reads such text without a byte order mark"
        found = "null bytes, as UTF-16 has them"
        raise InputError("a table of text is required", found=found, where=name, hint=hint)
    form = _form_of(lines, shape.header)
    form = replace(form, before=form.before + shape.skip_rows)

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        return gathered(_batches(path, shape.encoding, form, columns), at_once)

    return Table(
        name=name,
        schema=dict.fromkeys(form.names, pl.String()),
        scan=scan,
        files=(path,),
        text=TextLines(
            first=tuple(lines),
            header=shape.header and form.header,
            separator=form.separator or "",
        ),
    )


def _widths(lines: Sequence[str], sign: str) -> list[int]:
    """Number of fields of each of the first rows, at most 50, if ``sign`` parts them."""
    form = replace(_USUAL, separator=sign)
    try:
        rows = [len(row) for _, row in _fields((f"{line}\n" for line in lines), form) if row]
    except csv.Error:
        rows = [line.count(sign) + 1 for line in lines]
    return rows[: LOOKED_AT // 2]


def _form_of(lines: Sequence[str], header: bool) -> _Form:
    """Separator, quotes, lines before the rows and column names of a text, by its first lines."""
    text = "\n".join(lines)
    form = next((form for form in _FORMS if re.match(form.begins, text)), _USUAL)
    said = re.match(r"sep=(.)\s*$", lines[0], re.IGNORECASE)
    notes = re.compile(rf"\s*$|{form.notes}")
    above = [*takewhile(notes.match, lines[bool(said) :])]
    before = bool(said) + len(above)
    rows = [line for line in lines[before:] if line.strip()] or above[-1:]
    if form is _USUAL:
        form = replace(form, separator=said[1] if said else _separator(rows, header))
        note = above[-1] if above and header else ""  # may name columns: #tax_id<tab>...
        if re.match(r"#\S", note) and 0 < note.count("\t") == rows[0].count("\t"):
            names = _once(note.removeprefix("#").split("\t"))
            return replace(form, separator="\t", before=before, names=names)
    used, first = next(_fields((f"{line}\n" for line in lines[before:]), form), (0, [""]))
    if header and form.header:
        return replace(form, before=before + used, names=_once(first))
    names = tuple(f"column_{n}" for n in range(1, len(first) + 1))
    return replace(form, before=before, names=names)


def _separator(rows: Sequence[str], header: bool) -> str:
    """The separator that parts all ``rows`` alike, or all but a first line without any; else, if
    that line is a ``header``, the most frequent one in it; empty if there is none."""
    widths = {sign: _widths(rows, sign) for sign in SEPARATORS if sign in "".join(rows[:2])}
    own = [sign for sign in widths if sign in rows[0]]
    alike = [sign for sign in own or widths if len({*widths[sign][not own :]}) == 1]
    if not (alike or (own and header)):
        return ""
    return max(alike or own, key=lambda sign: widths[sign][0])


def _fields(lines: Iterable[str], form: _Form) -> Iterator[tuple[int, list[str]]]:
    """The rows of lines that end in line feeds, each with the number of the line it ends in."""
    reader = csv.reader(
        lines,
        delimiter=form.separator or _NONE,
        quoting=csv.QUOTE_MINIMAL if form.quotes else csv.QUOTE_NONE,
        skipinitialspace=bool(form.begins),
    )
    csv.field_size_limit(2**31 - 1)  # the module's limit, one for the process, is 131,072
    for fields in reader:
        yield reader.line_num, fields


def _once(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, each once: a repeated one ends in `REPEATED` and a number."""
    made = list[str]()
    for bare in names:
        marked = (f"{bare}{REPEATED}{times}" for times in count())
        made.append(next(one for one in chain([bare], marked) if one not in made))
    return tuple(made)


def _batches(
    path: Path, encoding: str, form: _Form, columns: Sequence[str]
) -> Iterator[pl.DataFrame]:
    """Batches of rows, cells as text; raises SchemaError at a row of another length."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    quotes = 0

    def blocks() -> Iterator[bytes]:
        nonlocal quotes
        for text in text_blocks(path, encoding):
            quotes += text.count('"')
            yield text.encode()

    stream = as_stream(blocks())
    for _ in range(form.before):
        stream.readline()
    if form.begins:
        stream = as_stream(_plain(stream, form))
    read = arrow.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=form.names)
    parse = arrow.ParseOptions(
        delimiter=form.separator or _NONE,
        quote_char='"' if form.quotes else False,
        newlines_in_values=form.quotes,
        ignore_empty_lines=len(form.names) > 1,
    )
    convert = arrow.ConvertOptions(
        check_utf8=False,
        include_columns=columns,
        column_types=dict.fromkeys(columns, pa.string()),
        strings_can_be_null=True,
        null_values=_NOTHING,
    )
    if not stream.peek(1):
        return
    try:
        with arrow.open_csv(stream, read, parse, convert) as reader:
            for batch in reader:
                frame = pl.DataFrame(pl.from_arrow(batch))
                frame.columns = [*columns]  # Polars gives a column without a name one
                yield frame
    except pa.ArrowInvalid as error:
        _refuse_fault(path, encoding, form)
        required = "a table of separated values is required"
        raise SchemaError(required, found=str(error), where=path) from None
    if quotes % 2 and form.quotes:
        _refuse_fault(path, encoding, form)


def _plain(stream: BufferedReader, form: _Form) -> Iterator[bytes]:
    """A publisher's lines, joined in blocks, without blanks before quotes or a last line as END."""
    while lines := stream.readlines(AT_ONCE):
        if form.quotes:
            lines = [re.sub(rb', +"', b',"', line) for line in lines]
        yield b"".join(line for line in lines if line.decode().strip() != form.last)


def _refuse_fault(path: Path, encoding: str, form: _Form) -> None:
    """Refuse the first row of another length than the first, or a quote that is not closed."""
    width, begins, ends = len(form.names), 0, 0
    with text_stream(path, encoding) as stream:
        for _ in range(form.before):
            stream.readline()
        for line, fields in _fields(stream, form):
            begins, ends = ends + 1, line
            if len(fields) not in (0, width) and fields != [form.last]:
                raise SchemaError(
                    f"every row must have the {width} fields of the first one",
                    found=f"{len(fields)} fields",
                    where=f"{path}:{form.before + line}",
                    hint="a field that holds the separator must be in double quotes; a row with "
                    "fewer fields was cut; --skip-rows N passes over lines above a table",
                )
    if begins < ends:
        required, where = "a closing quote is required", f"{path}:{form.before + begins}"
        raise SchemaError(required, found="none up to the end of the file", where=where)
