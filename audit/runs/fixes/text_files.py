"""Changes in texts, tables and JSON: only the bytes of changed labels differ, or of whole rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice

from audit.data.json_lines import AS_WRITTEN
from audit.data.label_format import Layout
from audit.runs.fixes.changes import Edit, Ledger, Record, changed_cell, with_added
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
        notes: Number of lines before the header, or before the first row if ``header`` is given.
        header: Names of the columns, where no line of the text is a header; None: the first row.
        plain: Whether its cells are never quoted.
    """

    data: bytes
    separator: str
    notes: int = 0
    header: tuple[str, ...] | None = None
    plain: bool = False

    def edits(self, planner: Planner) -> list[Edit]:
        """What a planner's changes make of it."""
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
        return not self.plain and any(sign in text for sign in signs)

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


_BLANK = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Value:
    """A value, and its text from ``start`` up to ``end``."""

    value: object
    start: int
    end: int


@dataclass(frozen=True)
class JsonText:
    """A text of objects whose labels are to be changed, with a line or an entry for each."""

    data: bytes
    layout: Layout

    def edits(self, ledger: Ledger) -> list[Edit]:
        """What the changes of a ledger make of it; changes that are made are counted there."""
        text = self.data.decode("utf-8")
        return list(in_bytes(text, sorted(self._changed(text, ledger))))

    def _changed(self, text: str, ledger: Ledger) -> Iterator[tuple[int, int, str]]:
        (key,) = self.layout.labels
        for number, start in enumerate(_objects(text)):
            own = dict(members(text, start))
            given = own.get(self.layout.id or "")
            instance = str(number) if self.layout.id is None else given and str(given.value).strip()
            if instance in ledger.of and key in own and self._counts(own):
                yield from self._of_value(text, own[key], Record(ledger, str(instance)))

    def _counts(self, own: Mapping[str, Value]) -> bool:
        """Whether an object counts; its keys are found without their case, as columns are."""
        said = {key.strip().lower(): one.value for key, one in own.items()}
        asked = {name: said.get(name.lower()) for name in self.layout.rules.conditions}
        texts = {name: [None if one is None else str(one)] for name, one in asked.items()}
        return all(self.layout.rules.counts(texts))

    def _of_value(self, text: str, labels: Value, record: Record) -> Iterator[tuple[int, int, str]]:
        if isinstance(labels.value, list):
            yield from _in_list(text, labels, record)
        elif isinstance(labels.value, str):
            before, sign = labels.value, self.layout.sign
            new = changed_cell(before, record, sign)
            if sign is not None or not new.strip():
                new = with_added(new, sign or "", [*islice(record.added(), None if sign else 1)])
            if new != before:
                yield labels.start, labels.end, json.dumps(new, ensure_ascii=False)


def _in_list(text: str, labels: Value, record: Record) -> Iterator[tuple[int, int, str]]:
    """A list anew where it changes; entries that stay are as they were, and what parts them too."""
    entries = list(entries_of(text, labels.start))
    kept, changed = list[str](), False
    for one in entries:
        raw, label = text[one.start : one.end], str(one.value).strip()
        new = record.becomes(label) if isinstance(one.value, str) else label
        changed |= new != label
        if new is not None:
            kept.append(raw if new == label else _like(raw, new))
    added = [*record.added()]
    if changed or added:
        sign = text[entries[0].end : entries[1].start] if len(entries) > 1 else ", "
        like = text[entries[0].start : entries[0].end] if entries else '""'
        inside = sign.join([*kept, *(_like(like, new) for new in added)])
        start = entries[0].start if entries else labels.start + 1
        end = entries[-1].end if entries else labels.end - 1
        yield start, end, inside


def _like(raw: str, label: str) -> str:
    """A label as a text, or as a number where another one is and it can be one."""
    number = raw[:1] != '"' and re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", label)
    return label if number else json.dumps(label, ensure_ascii=False)


def _objects(text: str) -> Iterator[int]:
    """Where each object of lines, or of an array, begins."""
    at = _skip(text, int(text.startswith("\ufeff")))
    while at < len(text):
        if text[at] == "{":
            yield at
            at = AS_WRITTEN.raw_decode(text, at)[1]
        else:
            at += 1


def members(text: str, start: int) -> Iterator[tuple[str, Value]]:
    """The keys and values of the object that begins at a place."""
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, at = AS_WRITTEN.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        value, end = AS_WRITTEN.raw_decode(text, at)
        yield str(key), Value(value, at, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def entries_of(text: str, start: int) -> Iterator[Value]:
    """The entries of the list that begins at a place."""
    at = _skip(text, start + 1)
    while text[at] != "]":
        value, end = AS_WRITTEN.raw_decode(text, at)
        yield Value(value, at, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None, "no blanks are blanks too"
    return found.end()


def in_bytes(text: str, changed: Iterable[tuple[int, int, str]]) -> Iterator[Edit]:
    """Edits of characters as edits of bytes."""
    at = place = 0
    for start, end, new in changed:
        place += len(text[at:start].encode())
        length = len(text[start:end].encode())
        yield Edit(place, place + length, new.encode())
        at, place = end, place + length
