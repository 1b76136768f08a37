"""How sentences write nodes, counts and shares."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TypeAlias

Shown: TypeAlias = int | float | str | None
"""A value as published: a number, a bound such as ``<11``, or null where it is withheld."""

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


def roughly(n: int | str, nouns: str) -> str:
    """As `counted`, from a million on in millions.

    >>> roughly(1_422_894, "pairs of labels"), roughly(1200, "rows")
    ('1.4 million pairs of labels', '1,200 rows')
    """
    large = isinstance(n, int) and n >= 1_000_000
    return f"{int(n) / 1e6:,.1f} million {nouns}" if large else counted(n, nouns)


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


_TEXT = r"(?:[^][]|\[[^][{}]*\])*"
_CLAUSE = re.compile(rf"\[({_TEXT}\{{{_TEXT})\]")
"""A clause in brackets with at least one placeholder; brackets in titles have none."""
_NOUNS = (
    r"(?:(?: (?:different|dated|repeated|other|more))?"
    r" (?:labels|codes|pairs|rows|instances|groups|findings|nodes|classes|records)\b)?"
)
_PLACEHOLDER = re.compile(
    rf"\{{(?P<part>\w+)\}} of (?P<the>the )?\{{(?P<whole>\w+)\}}(?P<of>{_NOUNS})"
    r"| \(\{(?P<share>\w*share)\}\)"
    r"|\{(?P<chosen>\w+)\|(?P<one>[^{}|]*)\|(?P<many>[^{}|]*)\}"
    rf"|\{{(?P<name>\w+)\}}(?P<nouns>{_NOUNS})"
)
"""A count of a total, a share in parentheses, a choice between two words, or one number."""
MOST = 0.5
"""Least share of a total from which the bound of a count is told; a lower one says too little."""


def filled(statement: str, evidence: Mapping[str, Shown]) -> str:
    """A sentence with its numbers as they may be shown; nothing in it builds on a withheld one.

    ``{name}`` is the number of that name: whole numbers have thousands separators, names that end
    in ``share`` or ``limit`` are percentages, bounds are written out. A noun after 1 is in the
    singular, and ``{name|is|are}`` is the first word at 1, else the second. In ``{k} of {n}`` a
    total that is withheld is left out, and a count of which the bound says little is "some"; a
    share in parentheses behind it says then what the bound tells, or that the number is withheld. A
    clause in brackets is left out where one of its numbers is withheld; of ``[this//that]`` the
    second is said where one of the numbers in the first is not shown exactly.

    >>> filled("{labels} labels {labels|is|are} no code", {"labels": 1})
    '1 label is no code'
    >>> told = "{k} of {n} rows ({share}) {k|lacks|lack} it[: {ratio} times as many]."
    >>> filled(told, {"k": "<11", "n": 840, "share": None, "ratio": None})
    'Fewer than 11 of 840 rows (at most 1.2%) lack it.'
    >>> filled(told, {"k": ">10", "n": 1597, "share": None, "ratio": None})
    'Some of 1,597 rows (number withheld) lack it.'
    >>> filled(told, {"k": "<11", "n": "<11", "share": None, "ratio": None})
    'Fewer than 11 rows lack it.'
    >>> filled("[{k} of {n} do//the number is withheld]", {"k": ">10", "n": 1597})
    'the number is withheld'
    """
    pair: tuple[Shown, Shown] = (None, None)

    def replace(match: re.Match[str]) -> str:
        nonlocal pair
        names = [match[group] for group in ("part", "whole", "share", "chosen", "name")]
        if not all(name in evidence for name in names if name):
            return match[0]
        part, whole, share, chosen, name = names
        if part:
            pair = _exact(evidence[part]), _exact(evidence[whole])
            said = _part_of(*pair, match["the"] or "", match["of"])
        elif share:
            told = share_told(evidence[share], *pair)
            return f" ({told})" if told else ""
        elif chosen:
            return match["one" if _exact(evidence[chosen]) == 1 else "many"]
        else:
            said = _counted(in_words(name, evidence[name]), match["nouns"])
        begins = match.start() == 0 or match.string[: match.start()].endswith(". ")
        return said[:1].upper() + said[1:] if begins else said

    def clause(match: re.Match[str]) -> str:
        first, *other = match[1].split("//")
        known = [evidence.get(name) for name in re.findall(r"\{(\w+)[|}]", first)]
        left_out = None in known or (other and any(isinstance(_exact(n), str) for n in known))
        return "".join(other) if left_out else first

    return _PLACEHOLDER.sub(replace, _CLAUSE.sub(clause, statement))


def in_words(name: str, value: Shown) -> str:
    """One published value in a sentence; ``name`` distinguishes shares from plain numbers.

    >>> in_words("rows", "<11"), in_words("rows", ">32"), in_words("rows", ">0")
    ('fewer than 11', 'at least 33', 'some')
    """
    value = _exact(value)
    if value is None:
        return "some"
    if isinstance(value, str):
        number, low = value[1:], value[:1] == ">"
        if value[:1] not in ("<", ">") or not number.isdecimal():
            return value
        if value == ">0":
            return "some"
        return f"at least {int(number) + 1:,}" if low else f"fewer than {int(number):,}"
    if name.endswith(("share", "limit")):
        return percentage(value).replace(".0%", "%" if name.endswith("limit") else ".0%")
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 10 else f"{round(value, 2) + 0.0:g}"


def _exact(value: Shown) -> Shown:
    """The only count that a bound leaves, if it leaves one."""
    return 1 if value == "<2" else value


def _counted(number: str, nouns: str) -> str:
    return number + (of_one(nouns).replace(" different", "") if number == "1" else nouns)


def _part_of(part: Shown, whole: Shown, the: str, nouns: str) -> str:
    if not isinstance(whole, int):
        return _counted(in_words("", part), nouns)
    number = in_words("", part) if part is not None and _tells(part, whole) else "some"
    return f"{number} of {the}{_counted(f'{whole:,}', nouns)}"


def _tells(part: Shown, whole: int) -> bool:
    """Whether a count, or its bound, says something of how much of a total it is."""
    if not isinstance(part, str):
        return True
    number = int(part[1:])
    return number <= whole if part[0] == "<" else number + 1 >= MOST * whole


def share_told(share: Shown, part: Shown, whole: Shown) -> str:
    """A share, or what the bound of its count beside a printed total tells of it.

    >>> share_told(0.5, 3, 6), share_told(None, "<11", 840), share_told(None, "<11", "<11")
    ('50.0%', 'at most 1.2%', '')
    >>> share_told(None, ">10", 840), share_told(None, 1, 2)
    ('number withheld', '')
    """
    if share is not None:
        return in_words("share", share)
    if not isinstance(whole, int) or not whole or isinstance(part, int):
        return ""
    if not isinstance(part, str) or not _tells(part, whole):
        return "number withheld"
    few, number = part[0] == "<", int(part[1:])
    tenths = (1000 * (number - 1) / whole) if few else (1000 * (number + 1) / whole)
    rounded = (math.ceil if few else math.floor)(round(tenths, 6)) / 10
    return f"{'at most' if few else 'at least'} {rounded:.1f}%"
