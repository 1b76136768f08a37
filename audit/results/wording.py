"""Wording of statements: fill a template with evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from audit.base.percentages import percentage
from audit.base.plurals import bound, of_one
from audit.disclosure import (
    Shown,
    least,
)


def filled(statement: str, evidence: Mapping[str, Shown]) -> str:
    """Replace each ``{name}`` in a sentence by the formatted evidence of that name.

    Whole numbers get thousands separators, names that end in ``share`` become percentages, and null
    is written as withheld. A noun after 1 is in the singular, and ``{name|is|are}`` is the first
    word if that evidence is 1, else the second. A clause in brackets is left out if one of its
    numbers is withheld.

    >>> filled("{labels} labels {labels|is|are} no code", {"labels": 1})
    '1 label is no code'
    >>> filled("{labels} labels {labels|is|are} no code", {"labels": "<11"})
    '<11 labels are no code'
    >>> filled("{labels} labels[: {ratio} times as many]", {"labels": 2, "ratio": None})
    '2 labels'
    """

    def replace(match: re.Match[str]) -> str:
        name, nouns = match[1], match[2] or ""
        if name not in evidence:
            return match[0]
        value = _share_bound(name, evidence) or in_words(name, evidence[name])
        return value + (of_one(nouns).replace(" different", "") if value == "1" else nouns)

    def choice(match: re.Match[str]) -> str:
        name, one, many = match.groups()
        if name not in evidence:
            return match[0]
        return one if in_words(name, evidence[name]) == "1" else many

    def clause(match: re.Match[str]) -> str:
        names = _PLACEHOLDER.finditer(match[1])
        withheld = any(evidence.get(name[1], "") is None for name in names)
        return "" if withheld else match[1]

    return _PLACEHOLDER.sub(replace, _CHOICE.sub(choice, _CLAUSE.sub(clause, statement)))


def promise(finding: Mapping[str, Any]) -> Iterator[str]:
    """The sentence on who is to fix a finding of ``result.json``; nothing where nobody is."""
    if promised := finding.get("to_fix"):
        yield (
            f"To be fixed by {promised['owner']} until {promised['expires']}: {promised['reason']}"
        )


def _share_bound(name: str, evidence: Mapping[str, Shown]) -> str:
    """A withheld share as far as the bound of its count beside a printed total tells it."""
    count_ = next((evidence[n] for n in ("instances", "rows") if n in evidence), None)
    of = evidence.get("of")
    if name != "share" or evidence[name] is not None or not isinstance(count_, str):
        return ""
    if not isinstance(of, int) or not of:
        return ""
    if count_[0] == "<":
        highest = min(int(count_[1:]) - 1, of) / of
        return "" if highest >= 1 else f"at most {_rounded(highest, up=True)}"
    lowest = _rounded(least(count_) / of, up=False)
    return f"at least {lowest}" if lowest != "0.0%" else "more than none"


def _rounded(share: float, *, up: bool) -> str:
    """A share in percent with one digit, rounded so that the bound stays true."""
    tenths = (math.ceil if up else math.floor)(round(1000 * share, 6))
    return f"{tenths / 10:.1f}%"


_CLAUSE = re.compile(r"\[([^][]*\{[^][]*)\]")
"""A clause in brackets with at least one placeholder; brackets in titles have none."""


_PLACEHOLDER = re.compile(
    r"\{(\w+)\}((?: (?:different|dated|repeated|other|more))?"
    r" (?:labels|codes|pairs|rows|instances|groups|findings|nodes|classes|records)\b)?"
)
"""A placeholder, with the noun that it counts."""


_CHOICE = re.compile(r"\{(\w+)\|([^{}|]*)\|([^{}|]*)\}")
"""A placeholder with the word for one and the word for more."""


def in_words(name: str, value: Shown) -> str:
    """Format one published value; ``name`` distinguishes shares from plain numbers."""
    if value is None:
        return "share withheld" if name.endswith("share") else "withheld"
    if isinstance(value, str):
        return bound(value)
    if name.endswith(("share", "limit")):
        return percentage(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
