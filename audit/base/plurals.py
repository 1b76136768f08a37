"""Nouns beside their counts, in the singular at one."""

from __future__ import annotations

import re

_PLURAL = re.compile(r"\b\w+s\b")
_ONE = {"classes": "class", "leaves": "leaf", "branches": "branch"}


def of_one(nouns: str) -> str:
    """Singular of a noun phrase in the plural; the first word that ends in s is its noun.

    >>> of_one("pairs of branches"), of_one("dated rows"), of_one("classes")
    ('pair of branches', 'dated row', 'class')
    """
    return _PLURAL.sub(lambda noun: _ONE.get(noun[0], noun[0][:-1]), nouns, count=1)


def bound(value: str) -> str:
    """Short, unambiguous form of a bound of a count; other text is returned unchanged.

    >>> bound("<11"), bound(">1140"), bound("first")
    ('<11', '≥1,141', 'first')
    """
    if value[:1] not in ("<", ">") or not value[1:].isdecimal():
        return value
    return f"<{int(value[1:]):,}" if value[0] == "<" else f"≥{int(value[1:]) + 1:,}"


def counted(n: int | str, nouns: str) -> str:
    """A count, or a bound of one, followed by what it counts; the noun is singular at 1.

    >>> counted(1, "instances with labels"), counted(1200, "rows"), counted("<11", "nodes")
    ('1 instance with labels', '1,200 rows', '<11 nodes')
    """
    if isinstance(n, str):
        return f"{bound(n)} {nouns}"
    return f"{n:,} {of_one(nouns) if n == 1 else nouns}"
