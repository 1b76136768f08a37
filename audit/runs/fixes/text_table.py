"""Changes in tables of text: only the cells of changed labels differ, or whole rows of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from audit.data.label_format import Layout
from audit.runs.fixes.changes import Ledger, Record, between, changed_cell, with_added
from audit.runs.fixes.edits import Edit

_BOM = b"\xef\xbb\xbf"
_AS_FLOAT = re.compile(r"([0-9]+)\.0")


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
        found = defaultdict[str, list[_Row]](list)
        for instance, row in self._rows():
            if instance in ledger.of:
                found[instance].append(row)
        change = self._cells if self.layout.of_instances else self._assertions
        return [
            edit
            for instance, rows in found.items()
            for edit in change(Record(ledger, instance, self.table), rows)
        ]

    def _rows(self) -> Iterator[tuple[str, _Row]]:
        place = None if self.layout.id is None else self._place(self.layout.id)
        for number, row in enumerate(self._body):
            if place is None:
                yield str(number), row
            elif place < len(row.fields):
                text = self.text(*row.fields[place]).strip()
                yield (whole[1] if (whole := _AS_FLOAT.fullmatch(text)) else text), row

    @cached_property
    def _lines(self) -> list[_Row]:
        most = None if self.header is None else len(self.header)
        return list(_records(self.data, self.separator.encode(), self.notes, most))

    @property
    def _body(self) -> Sequence[_Row]:
        return self._lines if self.header is not None else self._lines[1:]

    @cached_property
    def _names(self) -> list[str]:
        if self.header is not None:
            return [*self.header]
        return [self.text(*one) for one in self._lines[0].fields]

    def _place(self, name: str) -> int:
        return [one.strip().lower() for one in self._names].index(name.strip().lower())

    @cached_property
    def _label_places(self) -> list[int]:
        return [self._place(name) for name in self.layout.labels]

    def text(self, start: int, end: int) -> str:
        """A field without its quotes."""
        raw = self.data[start:end].decode("utf-8")
        quoted = len(raw) > 1 and raw[0] == raw[-1] == '"'
        return raw[1:-1].replace('""', '"') if quoted else raw

    def _written(self, start: int, end: int, text: str) -> Edit:
        before = self.data[start : start + 1] == b'"'
        always = before and not self._needs_quotes(self.text(start, end))
        quoted = always or self._needs_quotes(text)
        raw = '"' + text.replace('"', '""') + '"' if quoted else text
        return Edit(start, end, raw.encode())

    def _needs_quotes(self, text: str) -> bool:
        signs = (self.separator, '"', "\n", "\r")
        return self.layout.header is None and any(sign in text for sign in signs)

    def _cells(self, record: Record, rows: Sequence[_Row]) -> Iterator[Edit]:
        """Changes where a row is an instance; labels are added to its last row."""
        sign = self.layout.sign
        for row in rows:
            places = [n for n in self._label_places if n < len(row.fields)]
            texts = {n: self.text(*row.fields[n]) for n in places}
            became = {n: changed_cell(text, record, sign) for n, text in texts.items()}
            if row is rows[-1]:
                self._add(record, became)
            for n, text in texts.items():
                if became[n] != text:
                    yield self._written(*row.fields[n], became[n])

    def _add(self, record: Record, cells: dict[int, str]) -> None:
        """Put added labels into the first blank cells, or behind those that a sign joins."""
        if self.layout.sign is not None:
            last = max(cells)
            cells[last] = with_added(
                cells[last], self.layout.sign, [*record.added()], self._between
            )
            return
        for n in cells:
            if not cells[n].strip() and (label := next(record.added(), None)) is not None:
                cells[n] = label

    @cached_property
    def _between(self) -> str:
        """What stands between the labels of the first cell that holds several."""
        cells = (
            self.text(*row.fields[n])
            for row in self._body
            for n in self._label_places
            if n < len(row.fields)
        )
        return next((sign for cell in cells if (sign := between(cell, self.layout.sign or ""))), "")

    def _assertions(self, record: Record, rows: Sequence[_Row]) -> Iterator[Edit]:
        """Changes where a row is an instance and a label; an instance keeps its last row."""
        (place,), left = self._label_places, len(rows)
        for row in rows:
            if place >= len(row.fields):
                continue
            text = self.text(*row.fields[place])
            label = text.strip()
            new = record.becomes(label) if label else label
            if new is None:
                left -= 1
                yield (
                    Edit(row.start, row.end, b"") if left else self._written(*row.fields[place], "")
                )
            elif new != label:
                yield self._written(*row.fields[place], text.replace(label, new, 1))
        for label in record.added():
            yield self._further(rows[-1], label)

    def _further(self, row: _Row, label: str) -> Edit:
        """A further row of an instance: what all its rows have alike, and the label."""
        (place,) = self._label_places
        alike = [
            "" if n in self._varying else self.data[slice(*one)].decode()
            for n, one in enumerate(row.fields)
        ]
        quoted = self._needs_quotes(label)
        alike[place] = '"' + label.replace('"', '""') + '"' if quoted else label
        text, end = self.separator.join(alike).encode(), self.data[row.stop : row.end]
        return Edit(row.end, row.end, text + end if end else b"\n" + text)

    @cached_property
    def _varying(self) -> set[int]:
        """Columns whose values differ between rows of one instance that follow each other."""
        found, before = set[int](), ("", list[bytes]())
        for instance, row in self._rows():
            fields = [self.data[slice(*one)] for one in row.fields]
            if before[0] == instance:
                found |= {
                    n for n, (a, b) in enumerate(zip(fields, before[1], strict=False)) if a != b
                }
            before = instance, fields
        return found


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
