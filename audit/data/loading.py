"""Tables of labels as read: which there are, what lies beside them, where labels stand, and the
columns that nobody named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from audit.base.csv_tables import TextShape
from audit.base.databases import is_database
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import bare_suffix, files_in
from audit.base.readings import Reading
from audit.base.remote import local
from audit.base.table import Table, name_among
from audit.base.tables import open_table, open_tables
from audit.data.class_lists import GivenClasses, columns_named
from audit.data.columns import ROW, Columns, as_written
from audit.data.layouts import layout_of, named
from audit.data.placing import INSTANCES
from audit.data.published.events import events_of
from audit.data.published.wanted import Wanted
from audit.data.records import tidy
from audit.data.resolving import resolved
from audit.data.rows import ROWS, STRATUM, columns_read, rows_of, used_classes
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
    return tuple(_beginning(table, layout.dictionaries)) if layout else ()


def with_columns_beside(table: Table) -> Table:
    """A table of a published layout with the columns of the files beside it, such as admissions.

    These are read where they are named; a column that the table has itself stays its own. A file
    with several rows of a key gives all their values: ``NEWBORN or URGENT``, or null for numbers.
    """
    layout = layout_of(table)
    for begins, key in (layout.beside if layout else {}).items():
        for path in _beginning(table, [begins]):
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


def _beginning(table: Table, names: Sequence[str]) -> Iterator[Path]:
    for folder in sorted({file.parent for file in table.files}):
        for path in files_in(folder):
            named = path.name.lower().partition(".")[0] in names
            if named and path.is_file() and bare_suffix(path) in _SUFFIXES:
                yield path


def _joined(table: Table, other: Table, by: str) -> Table:
    own, key = table.column(by), other.column(by)
    if own is None or key is None:
        return table
    further = [name for name in other.schema if table.column(name) is None]

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        wanted = [name for name in further if name in columns]
        values = other.frame([key, *wanted]).unique(maintain_order=True)
        every = pl.exclude(key).cast(pl.String).drop_nulls().unique(maintain_order=True)
        if values[key].is_duplicated().any():
            by_key = values.group_by(key, maintain_order=True).agg(every.str.join(" or "))
            values = by_key.cast({name: other.schema[name] for name in wanted}, strict=False)
        values = values.rename({key: own}).cast({own: table.schema[own]})
        here = [*dict.fromkeys([own, *(name for name in columns if name not in wanted)])]
        for frame in table.frames(here, at_once):
            yield frame.join(values, on=own, how="left", maintain_order="left").select(columns)

    schema = {**table.schema, **{name: other.schema[name] for name in further}}
    return replace(table, schema=schema, scan=scan, files=(*table.files, *other.files))


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


MOST_VALUES = 20
"""Largest number of values of a column that is a possible stratum."""
_LEAST_GROUPS, _LEAST_REPEATED, _REPEATING = 30, 20, 0.02
"""Least numbers of values of a column that may be groups, and of those that several instances
share, and least share of the instances that are not the first of their value."""
_LONGEST = 40
"""Mean number of characters from which on values are texts."""
_PART = r"\d{1,2}"
_DAY = rf"^(?:\d{{4}}[-/.]{_PART}[-/.]{_PART}|{_PART}[-/.]{_PART}[-/.]\d{{4}})(?:[ T].*)?$"


def unnamed_columns(every: Sequence[Read], instances: pl.Series) -> pl.DataFrame:
    """Possible strata, and groups where none are named, that nobody named, a row an instance.

    Instances have at most one value of such a column, and two on average have the same.
    """
    found = pl.DataFrame({"instance": instances})
    for one in every:
        taken = {*columns_read(one.columns, one.table.schema), *found.columns, "group", "split"}
        if names := _candidates(one.table, taken, groups=not one.columns.group):
            by_instance = one.by_instance(names).group_by("instance")
            first, last = (
                found.select("instance").join(part, "instance", "left", maintain_order="left")
                for part in (by_instance.min(), by_instance.max())
            )
            alike = (name for name in names if first[name].equals(last[name]))
            found = found.hstack(first.select(one for one in alike if _may_part(first[one])))
    return found.drop("instance")


def _candidates(table: Table, taken: Collection[str], *, groups: bool) -> list[str]:
    others = {name.lower() for name in taken}
    return [
        name
        for name, dtype in table.schema.items()
        if not (name.lower() in others or dtype.is_nested() or dtype.is_temporal())
        and dtype not in (pl.Binary, pl.Object)
        and (table.head[name].drop_nulls().n_unique() <= MOST_VALUES or groups)
        and not _is_text(table.head[name])
    ]


def _is_text(values: pl.Series) -> bool:
    length = values.str.len_chars().mean() if values.dtype == pl.String else None
    return isinstance(length, float) and length > _LONGEST


def _may_part(values: pl.Series) -> bool:
    different, known = values.drop_nulls().unique(), len(values) - values.null_count()
    few = 1 < len(different) <= min(known / 2, MOST_VALUES)
    return (few and not different.str.contains(_DAY).all()) or may_be_groups(values)


def may_be_groups(values: pl.Series) -> bool:
    """Whether instances with these values, one each or null, may come in groups by them."""
    sizes = values.drop_nulls().value_counts(name="size")["size"]
    repeated, further = int((sizes > 1).sum()), int(sizes.sum()) - len(sizes)
    return (
        len(sizes) >= _LEAST_GROUPS
        and repeated >= _LEAST_REPEATED
        and further >= _REPEATING * len(values)
    )
