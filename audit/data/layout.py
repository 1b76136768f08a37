"""A layout: what a publisher says of the columns of a table, and which rows do not count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from audit.base.errors import InputError, first_cases
from audit.base.readings import as_typed
from audit.base.table import Table
from audit.data.columns import ROW, Columns, family

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
        """Whether a table is of it."""
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
            **found,
        )


def matching(table: Table, pattern: str) -> list[str]:
    """The columns of a table that a pattern takes, in which ``#`` stands for digits."""
    wanted = re.compile(re.escape(pattern.strip()).replace(r"\#", "[0-9]+"), re.IGNORECASE)
    return [name for name in table.schema if wanted.fullmatch(name.strip())]


def as_written(table: Table, stated: Columns) -> Columns:
    """What is stated, with columns as the table writes them; patterns of labels stay."""
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
        hint += as_typed({"label": tuple(dict.fromkeys(map(family, like)))})
    found = f"the columns {first_cases(table.schema)}"
    raise InputError(f"a column named {name!r} is required", found=found, where=table, hint=hint)


def taking(table: Table, columns: Columns) -> Columns:
    """Columns with those that patterns of labels take, in which ``#`` stands for digits."""
    found = dict[str, str | None]()
    for pattern, of in zip_longest(columns.label, columns.sets):
        some = matching(table, pattern) if "#" in pattern else []
        found |= dict.fromkeys(some or [_present(table, pattern, "--label")], of)
    return replace(columns, label=tuple(found), sets=tuple(found.values()))
