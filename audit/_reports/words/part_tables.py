"""Wording of the tables behind explanations, concepts and tuples: what a row is, and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from audit._reports.words.words import capitalised, records, stated_tables

_STATED = stated_tables("part_tables")


class Described(NamedTuple):
    """A table in words, and what a row of it is."""

    title: str
    row: str


Groups = Mapping[str, Mapping[str, Described]]
"""Tables by name, by what they are about, in the order in which they are shown."""


def _groups(of: str) -> Groups:
    groups: Mapping[str, Mapping[str, Sequence[str]]] = _STATED[of]
    return {name: records(group, Described) for name, group in groups.items()}


EXPLANATIONS: Groups = _groups("explanations")
CONCEPTS: Groups = _groups("concepts")
ENTAILMENT: Groups = _groups("entailment")
PREFERENCE: Groups = _groups("preference")

HEADINGS: Mapping[str, str] = _STATED["headings"]
"""Headings of columns; those of others are their names."""
ENDINGS: Mapping[str, str] = _STATED["endings"]
"""The last word of the name of a column, as headings have it."""


def heading(column: str) -> str:
    """Heading of a column.

    >>> heading("absent_q"), heading("instances")
    ('Absent, q-value', 'Instances')
    """
    if column in HEADINGS:
        return HEADINGS[column]
    first, _, last = column.rpartition("_")
    text = f"{first}, {ENDINGS[last]}" if first and last in ENDINGS else column
    return capitalised(text.replace("_", " "))
