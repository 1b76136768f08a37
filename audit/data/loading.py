"""Tables of labels as read: which there are, what lies beside them, and where labels stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from audit.base.arrays import at_once
from audit.base.csv_tables import TextShape
from audit.base.databases import is_database
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import bare_suffix, files_in
from audit.base.progress import Progress
from audit.base.readings import Reading
from audit.base.remote import local
from audit.base.table import Table, name_among
from audit.base.tables import open_table, open_tables
from audit.data.class_lists import GivenClasses, columns_named
from audit.data.columns import ROW, Columns, as_written
from audit.data.layouts import layout_of, named
from audit.data.mapping import INSTANCES
from audit.data.numbered import NOBODY, NumberedRows
from audit.data.published.events import events_of
from audit.data.published.wanted import Wanted
from audit.data.records import tidy
from audit.data.resolving import resolved
from audit.data.rows import STRATUM, ClassNames, columns_read, rows_of, used_classes
from audit.data.unnamed import Extremes, candidates
from audit.hierarchies.formats.paths import SIGN
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import KEYS_OF_COLUMNS

_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")


def labelled(tables: Sequence[Table], where: object) -> tuple[Table, ...]:
    """Those of some tables that hold labels: the only one, or the only one of a published layout,
    or several of one that names their files; with names of columns where they have no header.

    Raises:
        InputError: If none or several may be meant, or one is there twice.
    """
    layouts = [(one, layout_of(one)) for one in map(named, tables)]
    known = [(table, layout) for table, layout in layouts if layout is not None]
    found = tuple(table for table, _ in (layouts if len(layouts) == 1 else known))
    several = len(found) > 1 and not all(layout.files for _, layout in known)
    if not found or several or len({layout.name for _, layout in known}) > 1:
        raise InputError(
            "one table of labels is required, or a folder in which only one is published as such",
            found=first_cases(Path(one.name).name for one in found or tables),
            where=where,
            hint="--table NAME reads one" if tables[0].queried else "name the file that is meant",
        )
    files = [file for table, layout in known if layout.files for file in table.files]
    names = Counter(file.name.lower().rpartition(bare_suffix(file))[0] for file in files)
    if twice := [name for name, n in names.items() if n > 1]:
        raise InputError(
            "each table of a folder is required once",
            found=f"{first_cases(twice)} in several files",
            where=where,
            hint="keep one of them",
        )
    return found


def titles_beside(table: Table) -> tuple[Path, ...]:
    """The dictionaries of titles that lie beside a table of a published layout."""
    layout = layout_of(table)
    return tuple(_files_beside(table, layout.dictionaries)) if layout else ()


def with_columns_beside(table: Table) -> Table:
    """A table of a published layout with the columns of the files beside it, such as admissions.

    These are read where they are named; a column that the table has itself stays its own. A file
    with several rows of a key gives all their values: ``NEWBORN or URGENT``, or null for numbers.
    """
    layout = layout_of(table)
    for begins, key in (layout.beside if layout else {}).items():
        for path in _files_beside(table, [begins]):
            table = _joined(table, open_table(path), key)
    return table


def with_deepest(table: Table, levels: Sequence[str], stated: Collection[str]) -> Table:
    """A table with one column, of the ways to the deepest of the levels that its rows fill, in the
    place of these levels; as it is where it lacks one, or one is stated to be something else."""
    own = [name for one in levels if (name := table.column(one))]
    if len(own) < max(2, len(levels)) or not {*own}.isdisjoint(stated):
        return table
    way = SIGN.join(levels)

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        joined = pl.concat_str(pl.all(), separator=SIGN, ignore_nulls=True).replace("", None)
        for frame in table.frames([*(one for one in columns if one != way), *own], at_once):
            ways = tidy(frame.select(own), table).select(joined.alias(way))
            yield frame.hstack(ways).select(columns)

    schema = {name: kind for name, kind in table.schema.items() if name not in own}
    return replace(table, schema={**schema, way: pl.String()}, scan=scan)


def _files_beside(table: Table, names: Sequence[str]) -> Iterator[Path]:
    for folder in sorted({file.parent for file in table.files}):
        for path in files_in(folder):
            named = path.name.lower().partition(".")[0] in names
            if named and path.is_file() and bare_suffix(path) in _SUFFIXES:
                yield path


def _joined(table: Table, other: Table, by: str) -> Table:
    own, key = table.column(by), other.column(by)
    if own is None or key is None:
        return table
    others = [name for name in other.schema if table.column(name) is None]

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        wanted = [name for name in others if name in columns]
        values = other.frame([key, *wanted]).unique(maintain_order=True)
        every = pl.exclude(key).cast(pl.String).drop_nulls().unique(maintain_order=True)
        if values[key].is_duplicated().any():
            by_key = values.group_by(key, maintain_order=True).agg(every.str.join(" or "))
            values = by_key.cast({name: other.schema[name] for name in wanted}, strict=False)
        values = values.rename({key: own}).cast({own: table.schema[own]})
        here = [*dict.fromkeys([own, *(name for name in columns if name not in wanted)])]
        for frame in table.frames(here, at_once):
            yield frame.join(values, on=own, how="left", maintain_order="left").select(columns)

    schema = {**table.schema, **{name: other.schema[name] for name in others}}
    return replace(table, schema=schema, scan=scan, files=(*table.files, *other.files))


@dataclass(frozen=True)
class Read:
    """A table with labels, as read.

    Args:
        table: The table.
        columns: Where its ids and labels stand.
        rows: Rows of labels, those of other tables too.
        own: Which of them are its own.
        several: Whether one of its rows has several labels.
        without_position: Number of its rows of labels without one.
        named: Whether a class list names its labels.
        unnamed: ``instance``, its number, with the least and the greatest value of each column that
            nobody named and may be a stratum, a group or nothing.
    """

    table: Table
    columns: Columns
    rows: NumberedRows
    own: slice
    several: bool
    without_position: int
    named: bool
    unnamed: pl.DataFrame

    @property
    def of_records(self) -> bool:
        """Whether each of its rows is an instance: several labels in one, and most ids once."""
        columns = self.columns
        several = self.several or len(columns.label) > 1 or columns.flags
        several |= bool(columns.sep or columns.take)
        if not (several or self.table.schema[columns.label[0]].is_nested()):
            return False
        row, instance = self.rows.column("row")[self.own], self.rows.column("instance")[self.own]
        firsts = instance[np.flatnonzero(np.diff(row, prepend=-1))]
        _, rows = np.unique(firsts[firsts != NOBODY], return_counts=True)
        return bool(2 * (rows == 1).sum() >= len(rows))

    @property
    def told(self) -> tuple[Reading, ...]:
        """Readings of the table and its columns, and one where the order of labels is not known."""
        told, name = (*self.table.readings, *self.columns.readings), self.columns.position
        if not (name and self.without_position):
            return told
        why, rows = f"{name!r} is no whole number", self.without_position
        return (
            *told,
            Reading("the order of labels is not known", why, rows, f"numbers in {name!r}"),
        )


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
    progress: Progress,
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
    rows = NumberedRows()
    for table in tables:
        unnamed = [f"column_{n}" for n in range(1, len(table.schema) + 1)]
        if table.text.header and [*table.schema] == unnamed:
            table, columns = _array(table, stated, names)
        else:
            there = tuple(filter(table.column, stated.strata))
            columns = resolved(table, replace(stated, strata=there), hierarchy, classes)
        used = used_classes(table.head, columns, classes, table, given)
        yield _read(table, columns, stated, used, rows, progress)


def _read(
    table: Table,
    columns: Columns,
    stated: Columns,
    classes: ClassNames | None,
    rows: NumberedRows,
    progress: Progress,
) -> Read:
    layout = layout_of(table)
    taken = {*columns_read(columns, table.schema), "instance", "group", "split"}
    taken.add(layout.within if layout else "")
    unnamed = Extremes(candidates(table, taken, groups=not columns.group))
    strata = {STRATUM + str(table.column(one)): STRATUM + one for one in stated.strata}
    begins, first = len(rows), 0
    instances = labels = without_position = 0
    for made, frame in rows_of(table, columns, classes, at_once(), unnamed.names):
        found = made.rename(strata, strict=False)
        unnamed.add(rows.add(found), found["row"] - first, tidy(frame.select(unnamed.names), table))
        instances, labels = instances + found["instance"].count(), labels + found["label"].count()
        without_position += found["position"].null_count()
        first += len(frame)
        progress("reading labels", len(rows), None, "rows")
    if not instances:
        raise InputError("a dataset with an instance is required", found="none", where=table)
    if not labels:
        what = f"labels are required in {first_cases(columns.label)}"
        raise InputError(what, found="none", where=table)
    own = slice(begins, len(rows))
    several = first < own.stop - own.start
    return Read(table, columns, rows, own, several, without_position, bool(classes), unnamed.found)


def _array(table: Table, stated: Columns, names: Sequence[str]) -> tuple[Table, Columns]:
    """An array of class numbers or names, or of 0 and 1, with names for its columns."""
    columns = replace(as_written(table, stated), id=(ROW,), label=tuple(table.schema))
    if len(columns.label) == 1:
        return table, columns
    own = columns_named(names, len(columns.label), table)
    renamed = table.renamed(dict(zip(own, columns.label, strict=True)))
    return renamed, replace(columns, label=own, flags=True)
