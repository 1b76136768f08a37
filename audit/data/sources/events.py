"""Events of persons: folders and files of a published form, which says what each row is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from audit.base.files import called
from audit.base.readings import AskedError, Reading, asked
from audit.data.sources.source import Source
from audit.hierarchies.coding import VERSIONS
from audit.hierarchies.label_words import FOUND, Words

OFFERED = 4
"""Largest number of vocabularies, or families of codes, that a question offers."""


class Named(Protocol):
    """What the user names of columns, and which rows count: `audit.data.label_format.Columns`."""

    @property
    def id(self) -> str | None:
        """Column of the instance's id."""

    @property
    def label(self) -> str | None:
        """Column of the label."""

    @property
    def beside(self) -> Mapping[str, str]:
        """Other columns, by role."""

    @property
    def rules(self) -> Any:
        """Which rows count."""


class Events(Source):
    """Rows that are codes of persons.

    Its frames have the columns ``instance, label, group`` as the form has them, ``split`` where
    there is one, ``table``, the code set of a row or a reason to refuse it, and any others that the
    user names.
    """

    format = ""
    """Name of the format of labels."""
    instance = "instance"
    """What the column of ids is called unless the user names another."""

    together = False
    """Whether the rows of an instance follow each other."""
    whole: Events | None = None
    """What this is a copy of."""

    def __init__(self, name: object, files: Sequence[Path]) -> None:
        super().__init__(str(name))
        self.files = tuple(files)
        self.head = b"PAR1"

    def by_instance(self) -> Events:
        ordered = copy(self)
        ordered.together, ordered.whole = True, self  # which is closed with its last use
        return ordered

    def events(self, columns: Named, at_once: int) -> Iterator[pl.DataFrame]:
        """The rows; where they stand together by instance, about so many at a time."""
        raise self._lacking("rows of events")

    def gathered(
        self, frames: Callable[[], Iterator[pl.DataFrame]], columns: Named, parts: int
    ) -> Iterator[pl.DataFrame]:
        """Frames as they are, or read once for each of some parts, sorted by instance."""
        if not self.together:
            yield from frames()
            return
        for part in range(max(parts, 1)):
            held, name = list[pl.DataFrame](), ""
            for frame in frames():
                name = next(iter(called(frame.columns, [columns.id or ""])), "instance")
                held.append(frame.filter(pl.col(name).hash() % max(parts, 1) == part))
            yield pl.concat(held).sort(name, maintain_order=True)

    def said(self, columns: Named) -> tuple[Reading, ...]:
        """What is told of how they were read."""
        return ()

    def alike(
        self, columns: Named, name: str, counts: Mapping[str, int], unlike: Sequence[str] = ()
    ) -> Iterator[Reading]:
        """What is told of values of a column whose rows count as any other: of some, or of all
        where there are several, unless a condition of the user is on them."""
        counts = Counter({one: counts[one] for one in unlike or counts if counts[one]})
        rules = {one.partition("=")[0].strip(" !") for one in columns.rules.where}
        if name not in rules and (len(counts) > 1 or (unlike and counts)):
            said = f"{' and '.join(sorted(counts))} ({name}) count as any other"
            option = f"--where '{name}!={min(counts)}'"
            yield Reading(said, "nothing says otherwise", counts.total(), option)

    @property
    def words(self) -> Words:
        """Which codes, and of which system, the user chooses."""
        return FOUND if self.nodes is None else self.nodes.words


def code_set(text: str) -> str | None:
    """The table of codes that the name of a vocabulary says; None if it is none of ICD.

    >>> code_set("DIAGNOSIS//ICD//9//"), code_set("ICD10PCS/"), code_set("SNOMED")
    ('diagnoses', 'procedures-10', None)
    >>> code_set("http://hl7.org/fhir/sid/icd-10")
    'icd-10'
    """
    said = re.sub("[^a-z0-9]", "", text.lower())
    version = re.search("icd(?:v|o)?0?(9|10)", said)
    if version is None or "icdo" in said:
        return None
    tenth = "-10" * (version[1] == "10")
    if re.search("proc|pcs|cmsgov", said):
        return f"procedures{tenth}"
    return f"diagnoses{tenth}" if re.search("diag|(9|10)cm", said) else VERSIONS[version[1]]


def which(
    required: str, rows: Mapping[str, int], nodes: Mapping[str, int], option: Callable[[str], str],
    where: object, said: str,
) -> AskedError:  # fmt: skip
    """The question which of some names is meant: those most of whose rows are nodes first.

    ``option`` says what states a name, ``said`` the decision, with the name for ``{}``.
    """
    held = {name: n for name, n in nodes.items() if 2 * n >= rows[name]}
    first = [name for name, _ in Counter(held or rows).most_common(OFFERED)]
    offers = [Reading(said.format(repr(one)), "", rows[one], option(one)) for one in first]
    return asked(required, offers, where)
