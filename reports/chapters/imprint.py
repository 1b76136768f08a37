"""What a report says of itself: its name, its day, and who may read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.words.parts import Imprint
from reports.words.words import printable


def named(imprint: Imprint, data: Mapping[str, Any]) -> str:
    """The title that was given, else the policy's, else the name of what was read; or empty.

    >>> named(Imprint(name="release_2"), {"title": ""})
    'release_2'
    """
    return imprint.title or data["title"] or imprint.name


def stated(imprint: Imprint, tool: str, min_cell: int) -> tuple[str, ...]:
    """The day of the run where it is known, the version, and who may read the report.

    >>> stated(Imprint(), "hierarchy-audit 1.0", 1)[-1]
    'Shows every count: for those who may see the data'
    """
    day = imprint.day
    readers = (
        f"May be shared: counts of instances below {min_cell} are withheld"
        if min_cell > 1
        else "Shows every count: for those who may see the data"
    )
    return (*([f"{day.day} {day:%B %Y}"] if day else []), tool, readers)


def printable_imprint(imprint: Imprint) -> Imprint:
    """The same, every text fit to stand on a page."""
    return Imprint(printable(imprint.title), printable(imprint.name), imprint.day)
