"""Tables of labels as read: which there are, where their labels stand, what their numbers mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from audit.base.csv_tables import TextShape
from audit.base.databases import is_database
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.readings import Reading
from audit.base.remote import local
from audit.base.table import Table, name_among
from audit.base.tables import open_tables
from audit.data.beside import labelled, with_columns_beside, with_deepest
from audit.data.class_lists import GivenClasses, columns_named
from audit.data.columns import ROW, Columns
from audit.data.layout import as_written
from audit.data.mapped import INSTANCES
from audit.data.published.events import events_of
from audit.data.published.wanted import Wanted
from audit.data.records import tidy
from audit.data.resolving import resolved
from audit.data.rows import ROWS, STRATUM, rows_of, used_classes
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import KEYS_OF_COLUMNS


@dataclass(frozen=True)
class Read:
    """A table with labels, as read.

    Args:
        table: The table.
        columns: Where its ids and labels stand.
        rows: Its rows of labels, as `audit.data.rows.ROWS`.
        named: Whether a class list names its labels.
    """

    table: Table
    columns: Columns
    rows: pl.DataFrame
    named: bool

    @property
    def records(self) -> pl.Series:
        """Numbers of its rows if each is an instance: several labels in one, and most ids once."""
        numbers, columns = self.rows["row"].unique(), self.columns
        several = len(columns.label) > 1 or columns.flags or len(numbers) < len(self.rows)
        several |= bool(columns.sep or columns.take)
        several |= self.table.schema[columns.label[0]].is_nested()
        ids = self.rows.unique("row")["instance"].drop_nulls().value_counts(name="rows")
        once = several and 2 * (ids["rows"] == 1).sum() >= len(ids)
        return numbers if once else numbers.clear()

    @property
    def told(self) -> tuple[Reading, ...]:
        """What was found of the table, its columns, and the order of labels."""
        told, name = (*self.table.readings, *self.columns.readings), self.columns.position
        without = self.rows["position"].null_count()
        if not (name and without):
            return told
        why = f"{name!r} is no whole number"
        unknown = Reading("the order of labels is not known", why, without, f"numbers in {name!r}")
        return (*told, unknown)

    def by_instance(self, names: Sequence[str]) -> pl.DataFrame:
        """``instance`` and columns of the table as tidy text, a row for each of its rows."""
        own = self.rows.select("row", "instance").unique("row").drop_nulls()
        values = tidy(self.table.frame(names), self.table)
        numbered = values.with_row_index("row").cast({"row": pl.Int64})
        return own.join(numbered, on="row").drop("row")


def tables_of(
    data: object, wanted: Wanted, query: str | None, table: str | None, shape: TextShape
) -> tuple[Table, ...]:
    """The tables of data that hold labels, with the columns that stand beside them; InputError
    where a code system or vocabulary is stated that they have not."""
    place = data if is_database(data) or not isinstance(data, (str, Path)) else local(data)
    if isinstance(place, (str, Path)) and not (query or shape.skip_rows) and shape.header:
        event = events_of(place, wanted, shape.encoding)
        if event is not None:
            wanted.refuse_unused(event)
            return (event,)
    tables = labelled(open_tables(data, query=query, table=table, text=shape), data)
    wanted.refuse_unused(tables[0])
    own, levels = wanted.columns, wanted.nodes.hierarchy.levels
    stated = {*own.label, *own.taken}
    return tuple(with_deepest(with_columns_beside(one), levels, stated) for one in tables)


def is_list(data: object, table: Table) -> bool:
    """Whether data are a list or series in memory without ids of its own."""
    if isinstance(data, (str, Path, Mapping)) or hasattr(data, "columns") or table.files:
        return False
    ids = table.frame(["id"])["id"] if [*table.schema][:1] == ["id"] else pl.Series([""])
    return ids.to_list() == [*map(str, range(len(ids)))]


def read_tables(
    tables: Sequence[Table],
    stated: Columns,
    hierarchy: Hierarchy,
    given: GivenClasses,
    names: Sequence[str],
) -> Iterator[Read]:
    """The tables as read, of what is stated of their columns, and of classes ``given``, by name.

    Raises:
        AskedError: If it is not certain what columns hold.
        InputError: If a table has no instance or no label, or ``given`` are not used.
        SchemaError: If no table has the column of a stratum, or two are of one name.
    """
    names_of = [*INSTANCES, *stated.strata]
    if len(names_of) > len({*names_of}):
        raise SchemaError(
            f"strata must have different names, none of them {', '.join(INSTANCES)}",
            found=first_cases(stated.strata),
            hint="the group and the split are named with --group and --split",
        )
    known = [*dict.fromkeys(one for table in tables for one in table.schema)]
    files = first_cases(file.name for table in tables for file in table.files)
    for name in stated.strata:
        hint = f"--strata, and {KEYS_OF_COLUMNS} of the policy, name columns of {files}"
        name_among(known, name, tables[0], hint)
    classes = {str(number): name for number, name in enumerate(names) if name} or None
    for table in tables:
        unnamed = [f"column_{n}" for n in range(1, len(table.schema) + 1)]
        if table.text.header and [*table.schema] == unnamed:
            table, columns = _array(table, stated, names)
        else:
            there = tuple(filter(table.column, stated.strata))
            columns = resolved(table, replace(stated, strata=there), hierarchy, classes)
        used = used_classes(table.head, columns, classes, table, given)
        empty = pl.DataFrame(schema=ROWS)
        rows = pl.concat([empty, *rows_of(table, columns, used)], how="diagonal")
        said = {STRATUM + str(table.column(one)): STRATUM + one for one in stated.strata}
        rows = rows.rename(said, strict=False)
        if rows["instance"].count() == 0:
            raise InputError("a dataset with an instance is required", found="none", where=table)
        if rows["label"].count() == 0:
            what = f"labels are required in {first_cases(columns.label)}"
            raise InputError(what, found="none", where=table)
        yield Read(table, columns, rows, bool(used))


def _array(table: Table, stated: Columns, names: Sequence[str]) -> tuple[Table, Columns]:
    """An array of class numbers or names, or of 0 and 1, with names for its columns."""
    columns = replace(as_written(table, stated), id=(ROW,), label=tuple(table.schema))
    if len(columns.label) == 1:
        return table, columns
    own = columns_named(names, len(columns.label), table)
    renamed = table.renamed(dict(zip(own, columns.label, strict=True)))
    return renamed, replace(columns, label=own, flags=True)
