"""Tables: rows of named columns, wherever they are, read whole or some at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.readings import Reading

HEAD = 1_000
"""Number of rows by which columns are known where a table is large."""
REPEATED = "_duplicated_"
"""What stands, with a number, behind the name of a column that an earlier one has too."""
AT_ONCE = 1_000_000
"""Number of rows that are read at a time unless the caller says otherwise."""


@dataclass(frozen=True, kw_only=True)
class TextLines:
    """The lines of a text file that holds a table; the defaults are those of other tables.

    Args:
        first: The first lines, notes included; layouts without a header are known by them.
        header: Whether the file names its columns; else they are ``column_1``, ``column_2`` ...
        separator: What parts the fields.
    """

    first: tuple[str, ...] = ()
    header: bool = True
    separator: str = ""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of named columns.

    Values of text files and of JSON are text as written, so that no zero is lost; a list of JSON is
    a column of lists of text. Blank cells are null.

    Args:
        name: What messages call it.
        schema: Types of the columns by their names as written.
        scan: Frames of some columns, about so many rows at a time, in order.
        files: The files that hold it, in order; empty if none does.
        text: How a text file holds it.
        class_names: Names of class numbers that the file itself says, by column.
        hashing: Function of the digest of what is in no file.
        queried: Of a query of a database, the address as it may be told, ``driver`` and ``query``.
        readings: What was found of how it is read.
        layout: Name of the published layout that it is of, where its columns do not tell.
        ordered: Function of the same rows in the order of some columns, where a database has it.
        split_files: Whether the column ``split`` was made of the names of its files.
    """

    name: str
    schema: Mapping[str, pl.DataType]
    scan: Callable[[Sequence[str], int], Iterator[pl.DataFrame]]
    files: tuple[Path, ...] = ()
    text: TextLines = TextLines()
    class_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hashing: Callable[[], str] = str
    queried: Mapping[str, str] = field(default_factory=dict)
    readings: tuple[Reading, ...] = ()
    layout: str = ""
    ordered: Callable[[Sequence[str]], Table] | None = None
    split_files: bool = False

    def __str__(self) -> str:
        return self.name

    def frames(
        self, columns: Sequence[str] | None = None, at_once: int = AT_ONCE
    ) -> Iterator[pl.DataFrame]:
        """Some columns, or all, about so many rows at a time."""
        return self.scan([*self.schema] if columns is None else [*columns], at_once)

    def frame(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """All rows of some columns, or of all; a frame without rows where there is none."""
        wanted = [*self.schema] if columns is None else [*columns]
        empty = pl.DataFrame(schema={name: self.schema[name] for name in wanted})
        return pl.concat([empty, *self.frames(wanted)], how="vertical_relaxed")

    def renamed(self, written: Mapping[str, str]) -> Table:
        """Some of its columns under new names: each new one with that as written."""

        def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
            for frame in self.frames([written[one] for one in columns], at_once):
                yield frame.rename(dict(zip(frame.columns, columns, strict=True)))

        schema = {name: self.schema[column] for name, column in written.items()}
        return replace(self, schema=schema, scan=scan)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the values of what is in memory or a database; empty of files."""
        return self.hashing()

    @cached_property
    def head(self) -> pl.DataFrame:
        """The first rows."""
        first = next(self.frames(at_once=HEAD), pl.DataFrame(schema=dict(self.schema)))
        return first.head(HEAD)

    def column(self, wanted: str) -> str | None:
        """The column that `column_among` finds."""
        return column_among(self.schema, wanted)


def column_among(names: Collection[str], wanted: str) -> str | None:
    """The name as written, else the only one that differs in case and blanks around it alone; None
    if there is none, or several are written so."""
    alike = [one for one in names if one.strip().lower() == wanted.strip().lower()]
    alike = [wanted] if wanted in alike else alike
    return alike[0] if len(alike) == 1 and f"{alike[0]}{REPEATED}0" not in names else None


def name_among(names: Sequence[str], wanted: str, where: object, hint: str = "") -> str:
    """The name that `column_among` finds; SchemaError if there is none, or several are."""
    if (name := column_among(names, wanted)) is not None:
        return name
    if any(one.lower().startswith(f"{wanted}{REPEATED}".lower()) for one in names):
        required = f"one column named {wanted!r} is required"
        raise SchemaError(required, found="several of that name", where=where)
    found = f"the columns {first_cases(names)}" if names else "no columns"
    raise SchemaError(f"a column named {wanted!r} is required", found=found, where=where, hint=hint)


def gathered(frames: Iterator[pl.DataFrame], at_once: int) -> Iterator[pl.DataFrame]:
    """Frames of about so many rows, made of smaller or larger ones."""
    held, rows = list[pl.DataFrame](), 0
    for frame in frames:
        for part in frame.iter_slices(at_once):
            held.append(part)
            rows += part.height
            if rows >= at_once:
                yield pl.concat(held)
                held, rows = [], 0
    if rows:
        yield pl.concat(held)
