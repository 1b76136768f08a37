"""Limits that keep unusual input from exhausting memory or the disk; a caller may raise them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from audit.base.errors import InputError, first_cases

_STATED: ContextVar[Mapping[str, int]] = ContextVar("limits", default=MappingProxyType({}))
MANY = 1_000
"""Labels from which an instance counts towards `PAIRS`: few have as many."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on how much of something is read, unless another one is stated.

    Args:
        name: Its name for `limits`.
        most: The limit.
        of: What is limited, as a plural noun for the message.
        why: What would be exhausted beyond it.
    """

    name: str
    most: int
    of: str
    why: str


PAIRS = Limit(
    "pairs",
    2 * 10**7,
    "pairs of nodes",
    "pairs of labels on instances of 1,000 labels or more, each of which takes up to 200 bytes, "
    "and pairs of a node and one above it",
)
UNPACKED = Limit(
    "unpacked",
    2**30,
    "bytes that are packed in a file",
    "a small gzip, .npz, Parquet or Arrow file can unpack to any size; up to a hundred "
    "times the size of the file is read in any case, unless a limit is stated",
)
LIMITS = (PAIRS, UNPACKED)
"""All limits, in the order in which they are listed."""


def refuse_pairs(pairs: int, where: object) -> None:
    """Raise InputError if there are more pairs than `PAIRS` allows."""
    _refuse_beyond(PAIRS, _STATED.get().get(PAIRS.name, PAIRS.most), where, pairs)


def refuse_many_pairs(labels: Iterable[int], nodes: int, where: object, before: int = 0) -> int:
    """Raise InputError if instances of very many labels have more pairs than `PAIRS` allows.

    ``labels`` are the numbers of labels of instances, ``nodes`` that of different nodes. Returns
    the pairs of all these instances and of those ``before`` them, for the next call.
    """
    pairs = before + sum(n * (n - 1) // 2 for n in labels if n >= MANY)
    refuse_pairs(min(pairs, nodes * (nodes - 1) // 2), where)
    return pairs


def unpacking(path: Path) -> Callable[[int], None]:
    """Function that raises InputError if a file unpacks to more bytes than `UNPACKED` allows."""
    usual = max(UNPACKED.most, 100 * path.stat().st_size)
    return partial(_refuse_beyond, UNPACKED, _STATED.get().get(UNPACKED.name, usual), path)


def _refuse_beyond(limit: Limit, most: int, where: object, found: int) -> None:
    if found > most:
        raise InputError(
            f"at most {most:,} {limit.of} are read",
            found=f"{found:,} or more",
            where=where,
            hint=f"in Python, audit.limits({limit.name}={2 * found}) raises the limit, if there "
            "is room for it",
        )


@contextmanager
def limits(**most: int) -> Iterator[None]:
    """Read more, or less, of unusual input within the block.

    Limits hold for the thread that states them, and for the Spark tasks that it starts. What is not
    named stays as it is outside the block.

    Args:
        most: A number by the name of its limit, as ``audit list limits`` lists them.

    Raises:
        InputError: If there is no limit of a name, or a number is below 1.

    >>> import audit
    >>> with audit.limits(pairs=10**8):
    ...     labels = audit.load_labels([["cat"], ["dog"]], {"cat": "pet", "dog": "pet"})
    """
    known = [limit.name for limit in LIMITS]
    if wrong := [f"{name}={n}" for name, n in most.items() if name not in known or n < 1]:
        raise InputError(
            f"a limit is a whole number from 1 of {' or '.join(known)}",
            found=first_cases(wrong),
            hint="`audit list limits` explains them",
        )
    before = _STATED.set({**_STATED.get(), **most})
    try:
        yield
    finally:
        _STATED.reset(before)


def stated_limits() -> dict[str, int]:
    """The limits that are stated where this is called, by name; what starts tasks hands them on."""
    return dict(_STATED.get())
