"""How sentences write nodes, counts and shares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

Number: TypeAlias = int | float | str | None
"""A number of a sentence, or a word in its place; None where it is not told."""

_PLURAL = re.compile(r"\b\w+s\b")
_ONE = {"classes": "class", "leaves": "leaf", "branches": "branch"}


def of_one(nouns: str) -> str:
    """Singular of a noun phrase in the plural; the first word that ends in s is its noun.

    >>> of_one("pairs of branches"), of_one("dated rows"), of_one("classes")
    ('pair of branches', 'dated row', 'class')
    """
    return _PLURAL.sub(lambda noun: _ONE.get(noun[0], noun[0][:-1]), nouns, count=1)


def counted(n: int | None, nouns: str) -> str:
    """A count, followed by what it counts; the noun is singular at 1. None is not told.

    >>> counted(1, "instances with labels"), counted(1200, "rows"), counted(None, "rows")
    ('1 instance with labels', '1,200 rows', 'some rows')
    """
    if n is None:
        return f"some {nouns}"
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


def filled(
    statement: str, evidence: Mapping[str, Number], said: Mapping[str, str] | None = None
) -> str:
    """A sentence with its numbers; nothing in it builds on one that is not told.

    ``{name}`` is the number of that name: whole numbers have thousands separators, names that end
    in ``share`` or ``limit`` are percentages. A noun after 1 is in the singular, and
    ``{name|is|are}`` is the first word at 1, else the second. A share in parentheses, and a clause
    in brackets with such a number, are left out where it is null. In ``{k} of {n}`` the total is
    left out where it is null.

    Args:
        said: How numbers are said that are not told as they are, by name; those of ``k of n`` by
            both names with a blank between them, where they are said together.

    >>> filled("{labels} labels {labels|is|are} no code", {"labels": 1})
    '1 label is no code'
    >>> told = "{k} of {n} rows ({share}) {k|lacks|lack} it[: {ratio} times as many]."
    >>> filled(told, {"k": 935, "n": 1345, "share": 0.695, "ratio": None}, {"k": "about 935"})
    'About 935 of 1,345 rows (69.5%) lack it.'
    >>> filled(told, {"k": 5, "n": 5, "share": None, "ratio": None}, {"k n": "fewer than 11"})
    'Fewer than 11 rows lack it.'
    """
    said = said or {}
    told = {name: in_words(name, value) for name, value in evidence.items()} | {**said}

    def replace(match: re.Match[str]) -> str:
        part, whole, share, chosen, name = match.group("part", "whole", "share", "chosen", "name")
        if not all(one in evidence for one in (part, whole, share, chosen, name) if one):
            return match[0]
        if chosen:
            return match["one" if told[chosen] == "1" else "many"]
        if share:
            return "" if evidence[share] is None else f" ({told[share]})"
        before = match.string[: match.start()]
        if name:
            text = _counted(told[name], match["nouns"])
            if name in said and before.lower().endswith("all "):
                every = text.startswith("all")
                text = f"of about {evidence[name]:,}" if every else f"of {text}"
        elif f"{part} {whole}" in said:
            text = said[f"{part} {whole}"] + match["of"]
        elif evidence[whole] is None:
            text = _counted(told[part], match["of"])
        else:
            the = "" if whole in said else match["the"] or ""
            text = f"{told[part]} of {the}{_counted(told[whole], match['of'])}"
        begins = not before or before.endswith(". ")
        return text[:1].upper() + text[1:] if begins else text

    def clause(match: re.Match[str]) -> str:
        known = [evidence.get(name) for name in re.findall(r"\{(\w+)[|}]", match[1])]
        return "" if None in known else match[1]

    return _PLACEHOLDER.sub(replace, _CLAUSE.sub(clause, statement))


def in_words(name: str, value: Number) -> str:
    """One number in a sentence; ``name`` distinguishes shares from plain numbers.

    >>> in_words("rows", 1200), in_words("share", 0.5), in_words("limit", 0.5), in_words("n", None)
    ('1,200', '50.0%', '50%', 'some')
    """
    if value is None:
        return "some"
    if isinstance(value, str):
        return value
    if name.endswith(("share", "limit")):
        return percentage(value).replace(".0%", "%" if name.endswith("limit") else ".0%")
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 10 else f"{round(value, 2) + 0.0:g}"


def _counted(number: str, nouns: str) -> str:
    """A number as text and plural nouns, which are put into the singular where it is ``1``."""
    return number + (of_one(nouns).replace(" different", "") if number == "1" else nouns)
