"""Changes in tables of text: only the cells of changed labels differ, or whole rows of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from audit.data.label_format import Layout
from audit.runs.fixes.changes import Ledger
from audit.runs.fixes.edits import Edit
from audit.runs.fixes.plan import Planner

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class _Row:
    """A row: where it begins, where it ends without and with its line end, and its fields."""

    start: int
    stop: int
    end: int
    fields: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class TextTable:
    """A table of text whose labels are to be changed.

    Args:
        data: Its bytes, unpacked.
        layout: Where ids and labels stand.
        separator: Between fields.
        notes: Number of lines before the header, or before the first row if ``header`` is given.
        header: Names of the columns, where no line of the text is a header; None: the first row.
        table: The code set of all its labels; empty where that is not known.
    """

    data: bytes
    layout: Layout
    separator: str
    notes: int = 0
    header: tuple[str, ...] | None = None
    table: str = ""

    def edits(self, ledger: Ledger) -> list[Edit]:
        """What the changes of a ledger make of it; changes that are made are counted there."""
        planner = Planner(self, self.layout, ledger, self.table)
        plan = planner.plan()
        cells = [
            self._written(*self._body[row].fields[place], str(text))
            for (row, place), text in plan.cells.items()
        ]
        rows = [self._body[row] for row in plan.gone]
        further = [self._further(planner, row, label) for row, label in plan.further]
        return [*cells, *(Edit(row.start, row.end, b"") for row in rows), *further]

    @property
    def height(self) -> int:
        """Number of rows below the header."""
        return len(self._body)

    def cell(self, row: int, place: int) -> str | None:
        """A field without its quotes; None where the row is shorter."""
        fields = self._body[row].fields
        return self._text(*fields[place]) if place < len(fields) else None

    @cached_property
    def _lines(self) -> list[_Row]:
        most = None if self.header is None else len(self.header)
        return list(_records(self.data, self.separator.encode(), self.notes, most))

    @cached_property
    def _body(self) -> Sequence[_Row]:
        return self._lines if self.header is not None else self._lines[1:]

    @cached_property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        if self.header is not None:
            return self.header
        return [self._text(*one) for one in self._lines[0].fields]

    def _text(self, start: int, end: int) -> str:
        raw = self.data[start:end].decode("utf-8")
        quoted = len(raw) > 1 and raw[0] == raw[-1] == '"'
        return raw[1:-1].replace('""', '"') if quoted else raw

    def _written(self, start: int, end: int, text: str) -> Edit:
        before = self.data[start : start + 1] == b'"'
        always = before and not self._needs_quotes(self._text(start, end))
        quoted = always or self._needs_quotes(text)
        raw = '"' + text.replace('"', '""') + '"' if quoted else text
        return Edit(start, end, raw.encode())

    def _needs_quotes(self, text: str) -> bool:
        signs = (self.separator, '"', "\n", "\r")
        return self.layout.header is None and any(sign in text for sign in signs)

    def _further(self, planner: Planner, number: int, label: str) -> Edit:
        """A further row of an instance: what all its rows have alike, and the label."""
        (place,), row = planner.places, self._body[number]
        alike = [
            "" if n in planner.varying else self.data[slice(*one)].decode()
            for n, one in enumerate(row.fields)
        ]
        quoted = self._needs_quotes(label)
        alike[place] = '"' + label.replace('"', '""') + '"' if quoted else label
        text, end = self.separator.join(alike).encode(), self.data[row.stop : row.end]
        return Edit(row.end, row.end, text + end if end else b"\n" + text)


def _records(data: bytes, separator: bytes, notes: int, most: int | None) -> Iterator[_Row]:
    """The rows of a table, with the places of their fields, ``most`` at most; blank lines are none.

    The last field of ``most`` takes what is left of the row.
    """
    start = len(_BOM) if data.startswith(_BOM) else 0
    for _ in range(notes):
        start = _after_line(data, start)
    while start < len(data):
        end = _after_line(data, start)
        while data.count(b'"', start, end) % 2 and end < len(data):
            end = _after_line(data, end)
        stop = end
        while stop > start and data[stop - 1] in b"\r\n":
            stop -= 1
        if data[start:stop].strip():
            yield _Row(start, stop, end, tuple(_fields(data, start, stop, separator, most)))
        start = end


def _after_line(data: bytes, start: int) -> int:
    found = data.find(b"\n", start)
    return len(data) if found < 0 else found + 1


def _fields(
    data: bytes, start: int, stop: int, separator: bytes, most: int | None
) -> Iterator[tuple[int, int]]:
    at, quoted = start, data.find(b'"', start, stop) >= 0
    for number in count(1):
        end = _field_end(data, at, stop, separator) if quoted else data.find(separator, at, stop)
        if end < 0 or number == most:
            yield at, stop
            return
        yield at, end
        at = end + len(separator)


def _field_end(data: bytes, at: int, stop: int, separator: bytes) -> int:
    """Where a field ends; -1 if it is the last one. Separators between quotes are part of it."""
    end = data.find(separator, at, stop)
    while end >= 0 and data.count(b'"', at, end) % 2:
        end = data.find(separator, end + len(separator), stop)
    return end
