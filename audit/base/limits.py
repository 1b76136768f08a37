"""Limits that keep unusual input from exhausting memory or the disk; a caller may raise them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType

from audit.base.errors import InputError, first_cases

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?i?)B?", re.IGNORECASE)
_STATED: ContextVar[Mapping[str, int]] = ContextVar("limits", default=MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on how much of something is read.

    Args:
        name: Its name for `limits`.
        most: The limit where none is stated.
        of: What is limited, as a plural noun for the message.
        why: What would be exhausted beyond it.
    """

    name: str
    most: int
    of: str
    why: str

    def in_force(self, allowed: int = 0) -> int:
        """The stated limit, else the usual one or a larger number that is ``allowed``."""
        return _STATED.get().get(self.name, max(self.most, allowed))

    def refuse_beyond(
        self, found: int, where: object, *, allowed: int = 0, whole: bool = True
    ) -> None:
        """Raise InputError if the limit is exceeded.

        Args:
            found: The actual number.
            where: The location, for the message.
            allowed: A number that is accepted in any case, unless a limit is stated.
            whole: Whether nothing is left to be counted; else the number may be larger.
        """
        most = self.in_force(allowed)
        if found <= most:
            return
        enough = found if whole else 2 * found
        raise InputError(
            f"at most {most:,} {self.of} are read",
            found=f"{found:,}" if whole else f"{found:,} or more",
            where=where,
            hint=f"in Python, audit.limits({self.name}={enough}) raises the limit, if there is "
            "room for it",
        )


LABELS = Limit(
    "labels",
    10_000,
    "different labels on one instance",
    "each pair of them is counted: memory and time grow with the square of the number",
)
ANCESTORS = Limit(
    "ancestors",
    10**8,
    "pairs of a node and one above it",
    "a chain of n nodes has n (n - 1) / 2 of them, each of which is kept in memory",
)
UNPACKED = Limit(
    "unpacked",
    2**30,
    "bytes that are packed in a file",
    "a small gzip, .npz, Parquet or Arrow file can unpack to any size; up to a hundred "
    "times the size of the file is read in any case, unless a limit is stated",
)
PAIRS = Limit(
    "pairs",
    2 * 10**7,
    "pairs of labels on instances of 1,000 labels or more",
    "each pair that occurs takes up to 200 bytes while the audit is made",
)
LIMITS = (LABELS, PAIRS, ANCESTORS, UNPACKED)
"""All limits, in the order in which they are listed."""
EXPANSION = 100
"""Decompressed bytes that each compressed byte may give before the limit `UNPACKED` applies."""


MANY = 1_000
"""Labels from which an instance counts towards `PAIRS`: few have as many."""


def refuse_many_pairs(labels: Iterable[int], nodes: int, where: object, before: int = 0) -> int:
    """Raise InputError if instances of very many labels have more pairs than `PAIRS` allows.

    Of numbers of labels of instances, and of different nodes; the pairs of all of these instances,
    with those of others of the same source ``before``.
    """
    pairs = before + sum(n * (n - 1) // 2 for n in labels if n >= MANY)
    PAIRS.refuse_beyond(min(pairs, nodes * (nodes - 1) // 2), where)
    return pairs


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
    >>> with audit.limits(labels=20_000):
    ...     labels = audit.load_labels([["cat"], ["dog"]], {"cat": "pet", "dog": "pet"})
    """
    known = [limit.name for limit in LIMITS]
    unknown = [name for name in most if name not in known]
    if unknown:
        raise InputError(
            f"a limit is one of {', '.join(known)}",
            found=first_cases(unknown),
            hint="`audit list limits` explains them",
        )
    least = [f"{name}={number}" for name, number in most.items() if number < 1]
    if least:
        raise InputError("a limit is a whole number from 1", found=first_cases(least))
    before = _STATED.set({**_STATED.get(), **most})
    try:
        yield
    finally:
        _STATED.reset(before)


def stated_limits() -> dict[str, int]:
    """The limits that are stated where this is called, by name; what starts tasks hands them on."""
    return dict(_STATED.get())


def size_of(text: str) -> int:
    """Parse a size such as ``500MB``, ``4GB`` or ``2GiB`` to bytes.

    Raises:
        InputError: If the text is not a size.

    >>> size_of("1.5 GB"), size_of("2GiB")
    (1500000000, 2147483648)
    """
    found = _SIZE.fullmatch(text.strip())
    units = {name.lower(): size for name, size in (_UNITS | _BINARY).items()}
    if not found or found[2].lower() not in units:
        raise InputError("a size is required, such as 500MB, 4GB or 2GiB", found=repr(text))
    return int(float(found[1]) * units[found[2].lower()])
