"""How sentences write nodes, counts and shares."""

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


_ERROR = 1e-12
"""How far from 1 the mean of many ones may be."""


def percentage(share: float) -> str:
    """A share with one digit after the point; one that is not none or all is not written as such.

    >>> percentage(0.1234), percentage(0.0), percentage(1.0)
    ('12.3%', '0.0%', '100.0%')
    >>> percentage(0.0001), percentage(1e-15), percentage(0.9999)
    ('<0.1%', '<0.1%', '>99.9%')
    """
    text = f"{share:.1%}"
    if text == "0.0%" and share > 0:
        return "<0.1%"
    return ">99.9%" if text == "100.0%" and share < 1 - _ERROR else text


def title_and_code(node: str, title: str | None) -> str:
    """The title of a node and its code; the code alone if no title says more.

    >>> title_and_code("401.9", "Unspecified essential hypertension")
    'Unspecified essential hypertension (401.9)'
    >>> title_and_code("401.9", ""), title_and_code("horse", "horse")
    ('401.9', 'horse')
    """
    return f"{title} ({node})" if title and title != node else node
