"""Columns: where ids and labels stand in a table and how they are read, as stated or published."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import zip_longest
from typing import Any

from audit.base.errors import InputError, first_cases
from audit.base.readings import Reading, as_typed
from audit.base.settings import Unlisted
from audit.base.table import Table
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
        called: What an instance is, in the plural.
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
    called: str = "instances"
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
        if rest != label and _may_cut(one[-1] + rest[:1]):
            label = rest.strip() or label
        rest = label.removesuffix(one)
        if rest != label and _may_cut(rest.rstrip(".")[-1:] + one[0]):
            label = rest.strip() or label
    return label


def _may_cut(beside: str) -> bool:
    """Whether a text may be cut between two characters, given joined: not in a word or number."""
    return not (beside.isalpha() or beside.isdigit())


_ROLES = ("group", "split", "position", "version", "table", "refused")


@dataclass(frozen=True, kw_only=True)
class Layout(Columns):
    """A published table: its columns, and by what it is known; names are compared without case.

    Args:
        name: What the record of a run calls it; several rows may be of one name.
        title: What it is, in one line.
        source: Who publishes it, as an address or a paper.
        labels: Columns of labels, or patterns of them in which ``#`` stands for digits, each with
            the code set of its labels; None where nothing says it. A table may lack some.
        needs: Columns by which it is known; of the layouts that fit that with most is meant. Empty
            where its first lines tell it, or who reads it (`Table.layout`).
        begins: What the first lines of a text without a header are, as an expression by which it
            is known too.
        names: What its publisher calls the columns of a text without a header.
        within: Column of the database within which ids differ.
        files: Code set of all labels of a file, by what its name begins with.
        dictionaries: Files of titles beside it, by their names without endings.
        beside: Files of further columns beside it, by their names without endings, each with the
            column by which rows are joined.
    """

    name: str
    title: str
    source: str
    labels: Mapping[str, str | None]
    needs: tuple[str, ...] = ()
    begins: str = ""
    names: tuple[str, ...] = ()
    within: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    dictionaries: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)

    def fits(self, table: Table) -> bool:
        """Whether a table is of the layout."""
        if table.layout:
            return table.layout == self.name and not self.needs
        if self.begins and re.match(self.begins, "\n".join(table.text.first)):
            return True
        named = bool(self.needs) and table.text.header
        return named and all(table.column(name) for name in self.needs)

    def columns(self, table: Table, stated: Columns) -> Columns:
        """Its columns in a table, each replaced by what is stated; conditions on rows add up.

        ``label`` are patterns as in `labels`, those of which the table has columns, with one of
        ``sets`` for each, unless labels are stated.
        """
        labels = {one: of for one, of in self.labels.items() if matching(table, one)}
        named = {one.strip().lower() for one in stated.label}
        own = named <= {one.lower() for one in labels}
        if named:
            labels = {one: of for one, of in labels.items() if one.lower() in named}
        found: dict[str, Any] = {role: table.column(getattr(self, role)) or "" for role in _ROLES}
        found |= {role: name for role in _ROLES if (name := getattr(stated, role))}
        if own and not (stated.sep or stated.take):
            found |= {"sep": self.sep, "take": self.take}
        return replace(
            stated,
            id=stated.id
            or tuple(one if one == ROW else table.column(one) or "" for one in self.id),
            label=tuple(labels) if own else stated.label,
            sets=tuple(labels.values()) if own else (None,) * len(stated.label),
            where=(*self.where, *stated.where),
            both=self.both,
            layout=self.name,
            persons=self.persons,
            called=stated.called if stated.id else self.called,
            **found,
        )


def matching(table: Table, pattern: str) -> list[str]:
    """The columns of a table that a pattern takes, in which ``#`` stands for digits."""
    wanted = re.compile(re.escape(pattern.strip()).replace(r"\#", "[0-9]+"), re.IGNORECASE)
    return [name for name in table.schema if wanted.fullmatch(name.strip())]


def as_written(table: Table, stated: Columns) -> Columns:
    """What is stated, with id, group, split and strata as the table spells them; not ``label``."""
    return replace(
        stated,
        id=tuple(_present(table, name, "--id") for name in stated.id),
        group=stated.group and _present(table, stated.group, "--group"),
        split=stated.split and _present(table, stated.split, "--split"),
        strata=tuple(_present(table, name, "--strata") for name in stated.strata),
    )


def _present(table: Table, name: str, option: str) -> str:
    """The column that a user names; InputError if there is none."""
    if (column := table.column(name)) is not None:
        return column
    if name == ROW and option == "--id":
        return ROW
    hint = f"name another with {option}"
    if "*" in name and option == "--label":
        wanted = re.compile(re.escape(name).replace(r"\*", ".*"), re.IGNORECASE)
        like = [one for one in table.schema if wanted.fullmatch(one.strip())]
        hint = f"# stands for digits, * for nothing: it would take {first_cases(like)}; "
        families = dict.fromkeys(map(family, like))
        hint += "of these " + " or ".join(as_typed({"label": (one,)}) for one in families)
    found = f"the columns {first_cases(table.schema)}"
    raise InputError(f"a column named {name!r} is required", found=found, where=table, hint=hint)


def taking(table: Table, columns: Columns) -> Columns:
    """Columns with those that patterns of labels take, in which ``#`` stands for digits."""
    found = dict[str, str | None]()
    for pattern, of in zip_longest(columns.label, columns.sets):
        some = matching(table, pattern) if "#" in pattern else []
        found |= dict.fromkeys(some or [_present(table, pattern, "--label")], of)
    return replace(columns, label=tuple(found), sets=tuple(found.values()))
