"""Possible texts of a label before it was read as a number."""

from __future__ import annotations

import re
from collections.abc import Iterable

FIRST = ("", "0", "00", "000")
"""Prefixes that may have been lost."""
LAST = ("", "0", "00")
"""Suffixes after a dot that may have been lost."""

_NUMBER = re.compile(r"([0-9]+)(?:\.([0-9]+))?")
_HAS_ITS_ZERO = re.compile(r"0[0-9]")
_HAS_DECIMALS = re.compile(r"\.[0-9]*[1-9]")
_WITHOUT_DOT = re.compile(r"[0-9]{4,}(?:\.0)?")
_LONGEST_WHOLE = 3
"""Largest number of digits before the dot of a code."""


def with_dots(labels: Iterable[str]) -> bool:
    """Whether the labels of a table are written with dots; True if there is no evidence.

    >>> with_dots(["401.9", "250.0", "042"]), with_dots(["4019", "250", "42.0"])
    (True, False)
    """
    labels = list(labels)
    dotted = any(_HAS_DECIMALS.search(label) for label in labels)
    return dotted or not any(_WITHOUT_DOT.fullmatch(label) for label in labels)


def as_written(label: str, dotted: bool) -> str:
    """A label without the ``.0`` that a number format added to a whole number.

    >>> as_written("4019.0", False), as_written("401.0", True)
    ('4019', '401.0')
    """
    whole, _, decimals = label.partition(".")
    made = decimals == "0" and whole.isdecimal()
    return whole if made and not _keeps_dot(whole, dotted) else label


def all_with_decimals(labels: Iterable[str]) -> bool:
    """Whether every number among the labels has decimals, as in a column of floating-point numbers.

    >>> all_with_decimals(["401.9", "486.0", "V30"]), all_with_decimals(["401.9", "486"])
    (True, False)
    """
    numbers = [found for label in labels if (found := _NUMBER.fullmatch(label))]
    return bool(numbers) and all(found[2] for found in numbers)


def restored(label: str, dotted: bool, decimals_everywhere: bool = True) -> set[str]:
    """Texts that are the same number, with zeros restored at either end; without the label itself.

    Trailing zeros are lost only after a dot. A label with a leading zero was read as text, and has
    no such texts. A ``.0`` was added to a whole number only if every number of its table has
    decimals.

    >>> sorted(restored("40.0", False)), sorted(restored("0040", False))
    (['00040', '0040', '040', '40'], [])
    >>> "354" in restored("354.0", True), "354" in restored("354.0", True, False)
    (True, False)
    >>> sorted(restored("38", True))
    ['00038.0', '00038.00', '0038.0', '0038.00', '038', '038.0', '038.00', '38.0', '38.00']
    """
    found = _NUMBER.fullmatch(label)
    if found is None or _HAS_ITS_ZERO.match(label):
        return set()
    whole, decimals = found[1], found[2] or ""
    starts = [zeros + whole for zeros in FIRST]
    if not _keeps_dot(whole, dotted):
        return set() if decimals.strip("0") else {*starts} - {label}
    ends = [decimals + zeros for zeros in LAST if decimals + zeros]
    forms = {f"{start}.{end}" for start in starts for end in ends}
    if not decimals or (decimals_everywhere and not decimals.strip("0")):
        forms |= {start for start in starts if len(start) <= _LONGEST_WHOLE}
    return forms - {label}


def _keeps_dot(whole: str, dotted: bool) -> bool:
    return dotted and len(whole) <= _LONGEST_WHOLE
