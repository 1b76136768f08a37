"""Columns: where ids and labels stand in a table and how they are read: stated or found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from audit.base.readings import Reading
from audit.base.settings import Unlisted
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.titles import nodes_by_title, title_key

ROW = "row"
"""What is named in place of a column of ids where each row is an instance, numbered from 0."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Where ids and labels stand in a table, how labels are read, and which rows count.

    As stated by the user a field is empty where nothing is said; as resolved by
    `audit.data.resolving.resolved` ``id`` and ``label`` name columns of the table as written.

    Args:
        id: Columns that together are the id of an instance; ``("row",)``: rows are numbered from 0.
        label: Columns of labels, or stated patterns of them, in which ``#`` stands for digits.
        sep: What joins labels in a cell.
        take: What finds labels in a cell: ``icd9``, ``icd10`` or a regular expression.
        flags: Whether columns that are named as nodes hold 0 and 1, and a row is an instance.
        group: Column of what instances are repeated in, such as a patient.
        split: Column of the part of the data that an instance is in.
        strata: Further columns of the instances.
        position: Column of the position of a label in its record.
        codes: Code sets of labels, such as ``diagnoses``, or ``as-written``; a pattern that ends in
            ``*`` keeps labels that begin so and takes the beginning off. Empty: found.
        sets: Code set of each of ``label``, None where nothing says it; only as resolved.
        where: Conditions ``COLUMN=VALUE`` or ``COLUMN!=VALUE``, with ``*`` for any text, that rows
            must meet to count.
        version: Column of the version of ICD of a row's code.
        table: Column of the code set of each row, where the layout has one.
        refused: Column of the reason for which a row is refused, where the layout has one.
        both: Whether the layout has codes of both versions of ICD in one column.
        layout: Name of the published layout, if it is one.
        persons: Whether rows are records of persons.
        missing: Words that stand for no code; like the next two, of labels that are no nodes as
            they are written.
        strip: Literal texts that are taken off at either end.
        by_title: Whether titles of nodes are read as these.
        unlisted: ``refuse`` where labels that are no nodes are refused without a question.
        readings: What was found and not stated or published.
    """

    id: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    sep: str = ""
    take: str = ""
    flags: bool = False
    group: str = ""
    split: str = ""
    strata: tuple[str, ...] = ()
    position: str = ""
    codes: tuple[str, ...] = ()
    sets: tuple[str | None, ...] = ()
    where: tuple[str, ...] = ()
    version: str = ""
    table: str = ""
    refused: str = ""
    both: bool = False
    layout: str = ""
    persons: bool = False
    missing: tuple[str, ...] = ()
    strip: tuple[str, ...] = ()
    by_title: bool = False
    unlisted: Unlisted | None = None
    readings: tuple[Reading, ...] = ()

    @property
    def taken(self) -> set[str]:
        """The columns that are said to be no labels."""
        conditions = (re.split("!?=", one)[0].strip() for one in self.where)
        roles = (self.group, self.split, self.position, self.version)
        return {*self.id, *roles, *self.strata, *conditions}

    @property
    def spelling(self) -> Columns:
        """How the texts of labels are read, and nothing else."""
        return Columns(missing=self.missing, strip=self.strip, by_title=self.by_title)


@cache
def family(name: str) -> str:
    """The pattern of columns that differ in their last number alone: ``DX#`` of ``DX1``."""
    return re.sub(r"\d+(?=\D*$)", "#", name)


AS_WRITTEN = Columns()
"""Where nothing is stated."""


def read_as(
    text: str, words: Columns, hierarchy: Hierarchy, is_node: Callable[[str], bool]
) -> str | None:
    """What a text that is no node stands for; None if for no code.

    >>> import audit
    >>> tree = audit.load_hierarchy({"pet": {"cat": {}, "dog": {}}})
    >>> words = Columns(missing=("none",), strip=("my ",))
    >>> [read_as(one, words, tree, tree.__contains__) for one in ("my cat", " NONE", "cow")]
    ['cat', None, 'cow']
    """
    bare = stripped(text, words.strip)
    nothing = {word.strip().casefold() for word in words.missing}
    if not nothing.isdisjoint((text.strip().casefold(), bare.casefold())):
        return None
    titles = nodes_by_title(hierarchy) if words.by_title and not is_node(bare) else {}
    return titles.get(title_key(bare)) or bare


def stripped(label: str, texts: Sequence[str]) -> str:
    """A label without texts at its beginning and its end, none of which parts a word or a number.

    What would leave nothing stays.

    >>> stripped("ICD9CM:401.9 (V)", ["ICD9CM:", "(V)"]), stripped("I10X", ["X"])
    ('401.9', 'I10')
    >>> stripped("401.9 A", ["9 A"]), stripped("401.9", ["401.9"])
    ('401.9 A', '401.9')
    """
    for one in filter(None, texts):
        rest = label.removeprefix(one)
        if rest != label and _may_part(one[-1] + rest[:1]):
            label = rest.strip() or label
        rest = label.removesuffix(one)
        if rest != label and _may_part(rest.rstrip(".")[-1:] + one[0]):
            label = rest.strip() or label
    return label


def _may_part(signs: str) -> bool:
    return not (signs.isalpha() or signs.isdigit())
