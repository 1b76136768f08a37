"""Changes of labels, what they make of the cells of a row, edits of bytes, and the log of both."""

from __future__ import annotations

import re
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, ValidationError

from audit.base.errors import InputError, first_cases
from audit.base.files import read_json

Kind: TypeAlias = Literal["replace", "remove", "add"]
CERTAIN = "certain"
"""Who decided what is certain, and was applied without being asked."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one instance's labels.

    Args:
        table: The code set of the label; empty where none is known.
        keep: How many equal labels stay where one is removed.
        by: Who decided, or `CERTAIN`; empty if nobody said so.
    """

    instance: str
    kind: Kind
    label: str = ""
    new: str = ""
    table: str = ""
    keep: int = 0
    finding: str = ""
    by: str = ""


class Ledger:
    """The changes that are to be made, and which of them were.

    Raises:
        InputError: If two of them change one label of an instance.
    """

    def __init__(self, changes: Iterable[Change]) -> None:
        self.of: Mapping[str, list[Change]] = _by_instance(changes)
        self.made: Counter[Change] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self.of.values()))

    @property
    def unmade(self) -> list[Change]:
        """Changes that no cell was found for."""
        return [one for own in self.of.values() for one in own if not self.made[one]]


def _by_instance(changes: Iterable[Change]) -> dict[str, list[Change]]:
    found = defaultdict[str, list[Change]](list)
    for one in changes:
        found[one.instance].append(one)
    twice = [
        f"{label} of {instance}"
        for instance, own in found.items()
        for label, n in Counter(one.label or f"+{one.new}" for one in own).items()
        if n > 1
        for one in own[:1]
    ]
    if twice:
        raise InputError(
            "at most one decision on each label of an instance is required",
            found=f"several on {first_cases(twice)}",
        )
    return dict(found)


@dataclass
class Record:
    """The labels of one instance while its rows are read: what stays, changes and goes."""

    ledger: Ledger
    instance: str
    table: str = ""
    seen: Counter[str] = field(default_factory=Counter)

    def becomes(self, label: str) -> str | None:
        """What a label as written becomes: itself, another, or None where it goes."""
        for one in self._changes:
            if one.kind == "add" or one.label != label:
                continue
            self.seen[label] += 1
            if one.kind == "remove":
                if self.seen[label] <= one.keep:
                    return label
                self.ledger.made[one] += 1
                return None
            self.ledger.made[one] += 1
            return one.new
        return label

    @property
    def _changes(self) -> Iterator[Change]:
        for one in self.ledger.of[self.instance]:
            if not (self.table and one.table) or self.table == one.table:
                yield one

    def added(self) -> Iterator[str]:
        """The labels to add, each given once."""
        for one in self._changes:
            if one.kind == "add" and not self.ledger.made[one]:
                self.ledger.made[one] += 1
                yield one.new


def changed_cell(cell: str, record: Record, sign: str | None) -> str:
    """A cell of labels after the changes of its record; what is between labels stays.

    Args:
        cell: As it stands, with the blanks around it.
        record: Of the instance.
        sign: What joins labels, as a regular expression; None: the cell holds one.

    >>> ledger = Ledger([Change("7", "replace", "b", "x"), Change("7", "remove", "c")])
    >>> changed_cell(" a; b;c ", Record(ledger, "7"), ";")
    ' a; x '
    """
    parts = [cell] if sign is None else re.split(f"({sign})", cell)
    lead, kept = cell[: len(cell) - len(cell.lstrip())], list[str]()
    for place in range(0, len(parts), 2):
        between = parts[place - 1] if place else ""
        part = parts[place]
        label = part.strip()
        new = record.becomes(label) if label else label
        if new is None:
            tail = part[len(part.rstrip()) :] if place == len(parts) - 1 else ""
            kept.append(tail)
            continue
        if label and not any(one.strip() for one in kept):
            between, part = "", lead + part.lstrip()
        kept.append(between + (part if new == label else part.replace(label, new, 1)))
    return "".join(kept)


def with_added(cell: str, sign: str, added: Sequence[str], usual: str = "") -> str:
    """A cell with further labels behind its own, parted as these are, else as is usual elsewhere.

    >>> with_added("a; b", ";\\\\s*", ["c"]), with_added(" ", ";", ["c", "d"])
    ('a; b; c', 'c;d')
    """
    parted = between(cell, sign) or usual or re.sub(r"\\s\*|\\(?=.)", "", sign)
    own = [cell.rstrip()] if cell.strip() else []
    return parted.join([*own, *added]) if added else cell


def between(cell: str, sign: str) -> str:
    """What stands between two labels of a cell, with blanks behind it; empty if nothing does."""
    found = re.search(f"(?:{sign})[ ]*", cell.strip())
    return found[0] if found else ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes from ``start`` up to ``end`` become others; an insertion has an empty range."""

    start: int
    end: int
    new: bytes


def edited(data: bytes, edits: Sequence[Edit]) -> bytes:
    """The bytes after the edits.

    >>> edited(b"a;b;c", [Edit(2, 3, b"xy"), Edit(5, 5, b";d")])
    b'a;xy;c;d'
    """
    return b"".join(_pieces(data, edits))


def _pieces(data: bytes, edits: Sequence[Edit]) -> Iterator[bytes]:
    at = 0
    for one in _in_order(edits):
        if one.start < at:
            raise ValueError(f"two edits change the byte {one.start}")
        yield data[at : one.start]
        yield one.new
        at = one.end
    yield data[at:]


def taken_back(data: bytes, edits: Iterable[Edit]) -> list[Edit]:
    """The edits that turn the edited bytes into ``data`` again."""
    back, shift = list[Edit](), 0
    for one in _in_order(edits):
        start = one.start + shift
        back.append(Edit(start, start + len(one.new), data[one.start : one.end]))
        shift += len(one.new) - (one.end - one.start)
    return back


def encoded(text: bytes, edits: Iterable[Edit], encoding: str) -> Iterator[Edit]:
    """Edits of a text in UTF-8 as those of the same text in another encoding."""
    at = place = 0
    for one in _in_order(edits):
        place += len(text[at : one.start].decode().encode(encoding))
        length = len(text[one.start : one.end].decode().encode(encoding))
        try:
            new = one.new.decode().encode(encoding)
        except UnicodeEncodeError:
            raise InputError(
                f"labels that can be written in the encoding of the text, {encoding}, are required",
                found=repr(one.new.decode()),
                hint="write the text in UTF-8, and audit that",
            ) from None
        yield Edit(place, place + length, new)
        at, place = one.end, place + length


def _in_order(edits: Iterable[Edit]) -> list[Edit]:
    """Edits by their place; those of one place stay as they are."""
    return sorted(edits, key=lambda one: (one.start, one.end))


class LoggedFile(BaseModel):
    """How a changed file is made as it was: by the whole of it, or by edits of the copy."""

    before: str
    after: str
    whole: str | None = None
    edits: tuple[tuple[int, int, str], ...] = ()

    def content(self, copy: bytes) -> bytes:
        """The bytes before, of the bytes of the copy."""
        if self.whole is not None:
            return b64decode(self.whole)
        return edited(copy, [Edit(start, end, b64decode(new)) for start, end, new in self.edits])


class Log(BaseModel):
    """The log beside a copy: of which run it is, which files became which, by which changes."""

    schema_version: Literal["1.0"]
    run: str
    folder: bool = False
    changes: tuple[Change, ...]
    files: dict[str, LoggedFile]


def read_log(log: Path) -> Log:
    """A log as it was written."""
    try:
        return Log.model_validate(read_json(log))
    except ValidationError:
        raise other_log(log) from None


def other_log(log: Path) -> InputError:
    """What is said of a file that is no log, or not as it was written."""
    required = "a log as `audit apply` wrote it is required"
    return InputError(required, found="another file, or a changed one", where=log)
