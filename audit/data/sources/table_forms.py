"""Forms of files that hold tables: databases and their dumps, JSON, lines of programs."""

from __future__ import annotations

import csv
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import AuditError, InputError
from audit.base.files import first_bytes, read_text
from audit.base.limits import EXPANSION, UNPACKED
from audit.base.other_files import SHEETS
from audit.base.readings import Reading
from audit.base.spreadsheets import stream_of
from audit.data.sources.documents import (
    coco,
    datumaro,
    document,
    label_studio,
    series,
    table_of_rows,
)
from audit.data.sources.sheets import workbook
from audit.data.sources.tables import EITHER, TableFile


def table_file(path: Path) -> TableFile | None:
    """The file as one of tables; None if it is of no such form."""
    if path.suffix.lower() in SHEETS:
        return workbook(path)
    if (first := first_bytes(path)).startswith(b"SQLite format 3"):
        return _database(path)
    head = first.decode("utf-8-sig", errors="replace").lstrip()
    for begins, read in _FORMS:
        if re.match(begins, head, re.DOTALL | re.IGNORECASE):
            with suppress(ValueError, RecursionError, KeyError, TypeError, AttributeError):
                try:
                    made = read(path, read_text(path))
                except AuditError as error:
                    error.where = error.where or str(path)
                    raise
                if made is not None:
                    return made
    return None


_MILLIONS = 10_000
"""Millions of steps that a view of a database may take: some minutes."""


def _database(path: Path) -> TableFile:
    """The tables of a database of SQLite, whose numbers are written as it shows them."""
    tables = {}
    size, steps, allowed = 0, count(), EXPANSION * path.stat().st_size
    try:
        with sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True) as base:
            base.set_progress_handler(lambda: next(steps) > _MILLIONS, 10**6)
            base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, UNPACKED.in_force(allowed) // 4)
            names = base.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
            for (name,) in names.fetchall():
                held = list[tuple[Any, ...]]()
                rows = base.execute(f'SELECT * FROM "{name.replace(chr(34), chr(34) * 2)}"')
                for row in rows:  # a view can give any number of rows
                    held.append(row)
                    cells = [len(one) if isinstance(one, (str, bytes)) else 8 for one in row]
                    size += 64 + sum(cells)
                    UNPACKED.refuse_beyond(size, path, allowed=allowed, whole=False)
                tables[name] = table_of_rows([one[0] for one in rows.description], held)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        required = "a database of SQLite that can be read is required"
        raise InputError(required, found=str(error).split("\n")[0], where=path) from None
    return TableFile(path, tables, kind="a database")


_INSERT = re.compile(
    r"INSERT INTO\s+([\w.`\"\[\]]+)\s*(?:\(([^)]*)\))?\s*VALUES|COPY\s+(\S+)\s*\(([^)]*)\) FROM",
    re.IGNORECASE,
)
_CREATE = re.compile(
    r"CREATE TABLE\s+(?:IF NOT EXISTS\s+)?(\S+)\s*\((.*?)\n\)", re.IGNORECASE | re.DOTALL
)
_VALUE = re.compile(r"[\s(]*(?:'((?:[^'\\]|\\.|'')*)'|([^,()']+))\s*([,)])\s*", re.DOTALL)
_CONSTRAINTS = {"PRIMARY", "KEY", "UNIQUE", "CONSTRAINT", "FOREIGN", "INDEX", "CHECK", "FULLTEXT"}


def _dump(path: Path, text: str) -> TableFile | None:
    """The tables whose rows a dump of a database inserts."""
    created = {_bare(one[1]): _columns(one[2]) for one in _CREATE.finditer(text)}
    rows, names = defaultdict[str, list[Any]](list), dict[str, list[str]]()
    for found in _INSERT.finditer(text):
        table, listed = _bare(found[1] or found[3]), found[2] or found[4]
        copied = found[1] is None
        own = [*(_copied(text, found.end()) if copied else _inserted(text, found.end()))]
        listed = [_bare(one) for one in listed.split(",")] if listed else created.get(table)
        names[table] = listed or [f"column {n + 1}" for n in range(len(own[0]))]
        rows[table] += own
    if not rows:
        return None
    tables = {name: table_of_rows(names[name], own) for name, own in rows.items()}
    return TableFile(path, tables, kind="a dump of a database")


def _bare(name: str) -> str:
    return name.strip().split(".")[-1].strip('`"[]')


def _columns(created: str) -> list[str]:
    """Names of columns from what stands between the brackets of their table."""
    first = [line.split()[0] for line in created.split("\n") if line.strip()]
    return [_bare(word) for word in first if word.upper() not in _CONSTRAINTS]


def _inserted(text: str, start: int) -> Iterator[list[str | None]]:
    row: list[str | None] = []
    while found := _VALUE.match(text, start):
        quoted, plain, end = found.groups()
        start = found.end()
        value = None if plain is None or plain.strip().upper() == "NULL" else plain.strip()
        row.append(value if quoted is None else re.sub(r"\\(.)|'(?=')", r"\1", quoted))
        if end == ")":
            yield row
            row = []
            if text[start : start + 1] != ",":
                return
            start += 1


def _copied(text: str, start: int) -> Iterator[list[str | None]]:
    first = text.index("\n", start) + 1
    for line in text[first : text.index("\n\\.", first - 1)].split("\n"):
        yield [None if cell == "\\N" else cell for cell in line.split("\t")] if line else []


def _object(path: Path, text: str) -> TableFile | None:
    """What an object is; on one line of a file of JSON lines it is a record."""
    lines = path.name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson"))
    if lines and "\n" not in text.strip():
        return None
    found = ('"images"' in text and coco(text)) or datumaro(text) or document(text)
    return found and TableFile(path, {path.name: found[0]}, found[1], kind="an object of JSON")


def _label_studio(path: Path, text: str) -> TableFile | None:
    found = label_studio(text)
    return found and TableFile(path, {path.name: found[0]}, found[1], kind="a Label Studio export")


def _qrels(path: Path, text: str) -> TableFile | None:
    """An id and a label on each line, in either order, and perhaps 1."""
    rows = [line.split() for line in text.split("\n") if line.strip()]
    rows = rows[any(map(_USUAL.__contains__, rows[0])) :]
    if {*map(len, rows)} not in ({2}, {3}) or any(row[2:] not in ([], ["1"]) for row in rows):
        return None
    decision = "each line is an id and a label"
    told = Reading(decision, "all lines have as many words", len(rows), "write a header")
    table = table_of_rows(EITHER, [[id, label] for label, id, *_ in rows])
    return TableFile(path, {path.name: table}, [told], kind="lines of qrels")


def _judged(path: Path, text: str) -> TableFile | None:
    """TREC's topic, iteration, document and relevance on each line; 0 or less is none."""
    rows = [line.split() for line in text.split("\n") if line.strip()]
    if {*map(len, rows)} != {4} or {row[1] for row in rows} - {"0", "Q0"}:
        return None
    kept = [(document, topic) for topic, _, document, grade in rows if int(grade) > 0]
    decision, off = "documents without relevance are not of a topic", len(rows) - len(kept)
    told = Reading(decision, "the fourth word is 0 or less", off, "write another number", "lines")
    table = table_of_rows(EITHER, kept)
    return TableFile(path, {path.name: table}, [told] if off else [], kind="lines of qrels")


_USUAL = {"id", "label", "labels", "topic", "class"}
_PREFIX = "__label__"


def _fast_text(path: Path, text: str) -> TableFile | None:
    """Labels before a text, or each before its probability, as fastText has them."""
    lines = [line.split() for line in text.strip().split("\n")]
    numbers = [[str(n), *line] for n, line in enumerate(lines)]
    if all(len(line) % 2 == 0 and all(w.startswith(_PREFIX) for w in line[::2]) for line in lines):
        rows = [
            (n, node.removeprefix(_PREFIX), score)
            for n, *line in numbers
            for node, score in zip(line[::2], line[1::2], strict=True)
        ]
        with suppress(ValueError):
            _ = [float(score) for *_, score in rows]
            table = table_of_rows(["id", "node", "score"], rows)
            return TableFile(path, {path.name: table}, kind="lines of fastText", numbered=True)
    lists = [[w.removeprefix(_PREFIX) for w in line if w.startswith(_PREFIX)] for line in lines]
    table = pl.DataFrame({"id": series(n for n, *_ in numbers), "labels": series(lists)})
    return TableFile(path, {path.name: table}, kind="lines of fastText", numbered=True)


_FEATURE = re.compile(r"\d+:\S+")


def _svm(path: Path, text: str) -> TableFile | None:
    """Labels joined by commas before numbered features, as libsvm has them, perhaps below sizes."""
    lines = [re.split(r",\s*|\s+", line.strip()) for line in text.strip().split("\n")]
    sized = len(lines[0]) == 3 and all(map(str.isdecimal, lines[0]))
    labels = [[word for word in line if ":" not in word] for line in lines[sized:]]
    features = [word for line in lines[sized:] for word in line if ":" in word]
    if not all(map(_FEATURE.fullmatch, features)):
        return None
    own = series([word for word in row if word] for row in labels)
    table = pl.DataFrame({"id": series(str(n) for n in range(len(labels))), "labels": own})
    return TableFile(path, {path.name: table}, kind="lines of libsvm", numbered=True)


def _arff(path: Path, text: str) -> TableFile | None:
    """A table of Weka, whose cells may be listed by the numbers of their columns."""
    head, data = re.split(r"(?im)^@data\s*\n", text, maxsplit=1)
    named = re.findall(r"(?im)^@attribute\s+('[^']*'|\"[^\"]*\"|\S+)", head)
    names, rows = [name.strip("'\"") for name in named], list[list[str]]()
    for row in csv.reader(stream_of(data), quotechar="'", skipinitialspace=True):
        if row and row[0].startswith("{"):
            cells = [cell.strip("{} ").split(None, 1) for cell in row]
            own = {int(pair[0]): pair[1] for pair in cells if pair}
            row = [own.get(n, "0") for n in range(len(names))]
        if row and not row[0].startswith("%"):
            rows.append(["" if cell == "?" else cell for cell in row])
    return TableFile(path, {path.name: table_of_rows(names, rows)}, kind="a table of Weka")


_FORMS: tuple[tuple[str, Callable[[Path, str], TableFile | None]], ...] = (
    (r"(--|/\*|(SET|CREATE|INSERT|DROP|BEGIN)\b).*(INSERT INTO|COPY \S)", _dump),
    (r"(?!\{[^\n]*\}\s*\n\s*\{)\{", _object),
    (r"([^\s,;|{\[]+ [^\s,;|]+( 1)?\r?\n){2}", _qrels),
    (r"(\S+[ \t]+(Q?0)[ \t]+\S+[ \t]+-?\d+\r?\n){2}", _judged),
    (r"\[\s*\{.*\"annotations\"\s*:\s*\[.*\"result\"", _label_studio),
    (rf"{_PREFIX}\S", _fast_text),
    (r"(\d+ \d+ \d+\r?\n)?\d+(,\s*\d+)* \d+:\S", _svm),
    (r"(%[^\n]*\n|\s)*@relation\b", _arff),
)
"""How files of tables begin, and what reads them."""
