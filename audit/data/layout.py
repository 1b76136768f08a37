"""A layout: what a publisher says of the columns of a table, and which rows do not count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from audit.base.table import Table
from audit.data.columns import ROW, Columns, Words


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A published table; names of columns and of files are compared without case.

    Args:
        name: What the record of a run calls it; several rows may be of one name.
        title: What it is, in one line.
        source: Who publishes it, as an address or a paper.
        needs: Columns by which it is known; of the layouts that fit that with most is meant. Empty
            where its first lines tell it, or who reads it (`Table.layout`).
        begins: What the first lines of a text without a header are, as an expression by which it
            is known too.
        names: What its publisher calls the columns of a text without a header.
        within: Column of the database within which ids differ.
        id: Columns that together are the id of an instance.
        label: Columns of labels, or patterns of them in which ``#`` stands for digits, each with
            the code set of its labels; None where nothing says it. A table may lack some.
        files: Code set of all labels of a file, by what its name begins with.
        group: Column of the person.
        split: Column of the part of the data.
        position: Column of the position of a label in its record.
        sep: What joins labels in a cell.
        take: What finds labels in a cell, as in `Columns`.
        version: Column of the version of ICD of a row's code, read by `version_of`; rows that do
            not count are not asked for it, and one without it is refused as ``bad_row``.
        table: Column of the code set of each row; null where none is known.
        refused: Column of the reason of the ledger for which a row is refused; null of others.
        where: Conditions that rows must meet to count, as in `Columns`.
        missing: Words that stand for no code.
        strip: What is taken off at either end of labels that are no nodes.
        dictionaries: Files of titles beside it, by their names without endings.
        beside: Files of further columns beside it, by their names without endings, each with the
            column by which rows are joined.
        both: Whether codes of both versions of ICD stand in one column.
        persons: Whether rows are records of persons.
    """

    name: str
    title: str
    source: str
    id: tuple[str, ...]
    label: Mapping[str, str | None]
    needs: tuple[str, ...] = ()
    begins: str = ""
    names: tuple[str, ...] = ()
    within: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    split: str = ""
    position: str = ""
    sep: str = ""
    take: str = ""
    version: str = ""
    table: str = ""
    refused: str = ""
    where: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    strip: tuple[str, ...] = ()
    dictionaries: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    both: bool = False
    persons: bool = False

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

        ``label`` are patterns as in `label`, those of which the table has columns, with one of
        ``sets`` for each, unless labels are stated.
        """

        def there(name: str) -> str:
            return table.column(name) or ""

        def written(condition: str) -> str:
            column, rest = re.split("(?=!?=)", condition, maxsplit=1)
            return f"{there(column)}{rest}"

        labels = {one: of for one, of in self.label.items() if matching(table, one)}
        named = {one.strip().lower() for one in stated.label}
        own = named <= {one.lower() for one in labels}
        labels = {one: of for one, of in labels.items() if not named or one.lower() in named}
        return replace(
            stated,
            id=stated.id or tuple(one if one == ROW else there(one) for one in self.id),
            label=tuple(labels) if own else stated.label,
            sets=tuple(labels.values()) if own else (None,) * len(stated.label),
            sep=stated.sep or (self.sep if own and not stated.take else ""),
            take=stated.take or (self.take if own and not stated.sep else ""),
            group=stated.group or there(self.group),
            split=stated.split or there(self.split),
            position=stated.position or there(self.position),
            version=stated.version or there(self.version),
            table=there(self.table),
            refused=there(self.refused),
            where=(*map(written, self.where), *stated.where),
            both=self.both,
            layout=self.name,
            persons=self.persons,
        )

    def words(self, stated: Words) -> Words:
        """Its words beside those that are stated."""
        missing = (*stated.missing, *self.missing)
        return replace(stated, missing=missing, strip=(*stated.strip, *self.strip))


def matching(table: Table, pattern: str) -> list[str]:
    """The columns of a table that a pattern takes, in which ``#`` stands for digits."""
    wanted = re.compile(re.escape(pattern.strip()).replace(r"\#", "[0-9]+"), re.IGNORECASE)
    return [name for name in table.schema if wanted.fullmatch(name.strip())]
