"""Parsing of sizes such as ``4GB``."""

from __future__ import annotations

import re

from audit.base.errors import InputError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?i?)B?", re.IGNORECASE)


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
