"""Edits of bytes: what stands between them stays, and each can be taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


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


def _in_order(edits: Iterable[Edit]) -> list[Edit]:
    """Edits by their place; those of one place stay as they are."""
    return sorted(edits, key=lambda one: (one.start, one.end))
