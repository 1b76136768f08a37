"""What lies in a folder: which of its tables hold labels, their titles, and further columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.base.files import files_in
from audit.base.streams import bare_suffix
from audit.base.table import Table
from audit.base.tables import open_table
from audit.data.layouts import layout_of, named
from audit.data.records import tidy
from audit.hierarchies.formats.paths import SIGN

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
