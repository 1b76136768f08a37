"""Changes in JSON lines and arrays of objects: only the labels themselves differ."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from audit.data.json_lines import AS_WRITTEN
from audit.data.label_format import Layout
from audit.runs.fixes.changes import Ledger, Record, changed_cell, with_added
from audit.runs.fixes.edits import Edit

_BLANK = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class _Value:
    """A value, and its text from ``start`` up to ``end``."""

    value: object
    start: int
    end: int


@dataclass(frozen=True)
class JsonText:
    """A text of objects whose labels are to be changed, with a line or an entry for each.

    Args:
        data: Its bytes, unpacked.
        layout: Where ids and labels stand.
    """

    data: bytes
    layout: Layout

    def edits(self, ledger: Ledger) -> list[Edit]:
        """What the changes of a ledger make of it; changes that are made are counted there."""
        text = self.data.decode("utf-8")
        return list(_in_bytes(text, sorted(self._changed(text, ledger))))

    def _changed(self, text: str, ledger: Ledger) -> Iterator[tuple[int, int, str]]:
        (key,) = self.layout.labels
        for number, start in enumerate(_objects(text)):
            own = dict(_members(text, start))
            given = own.get(self.layout.id or "")
            instance = str(number) if self.layout.id is None else given and str(given.value).strip()
            if instance in ledger.of and key in own:
                yield from self._of_value(text, own[key], Record(ledger, str(instance)))

    def _of_value(
        self, text: str, labels: _Value, record: Record
    ) -> Iterator[tuple[int, int, str]]:
        if isinstance(labels.value, list):
            yield from _in_list(text, labels, record)
        elif isinstance(labels.value, str):
            before, sign = labels.value, self.layout.sign
            new = changed_cell(before, record, sign)
            if sign is not None or not new.strip():
                new = with_added(new, sign or "", [*islice(record.added(), None if sign else 1)])
            if new != before:
                yield labels.start, labels.end, json.dumps(new, ensure_ascii=False)


def _in_list(text: str, labels: _Value, record: Record) -> Iterator[tuple[int, int, str]]:
    """A list anew where it changes; entries that stay are as they were, and what parts them too."""
    entries = list(_entries(text, labels.start))
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
        inside = sign.join([*kept, *(_like(like, label) for label in added)])
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


def _members(text: str, start: int) -> Iterator[tuple[str, _Value]]:
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, at = AS_WRITTEN.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        value, end = AS_WRITTEN.raw_decode(text, at)
        yield str(key), _Value(value, at, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _entries(text: str, start: int) -> Iterator[_Value]:
    at = _skip(text, start + 1)
    while text[at] != "]":
        value, end = AS_WRITTEN.raw_decode(text, at)
        yield _Value(value, at, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None, "no blanks are blanks too"
    return found.end()


def _in_bytes(text: str, changed: Iterable[tuple[int, int, str]]) -> Iterator[Edit]:
    """Edits of characters as edits of bytes."""
    at = place = 0
    for start, end, new in changed:
        place += len(text[at:start].encode())
        length = len(text[start:end].encode())
        yield Edit(place, place + length, new.encode())
        at, place = end, place + length
