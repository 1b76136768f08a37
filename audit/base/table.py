"""Tables: rows of named columns, wherever they are, read whole or some at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.readings import Reading

HEAD = 1_000
"""Number of rows by which columns are known where a table is large."""
REPEATED = "_duplicated_"
"""What stands, with a number, behind the name of a column that an earlier one has too."""
AT_ONCE = 1_000_000
"""Number of rows that are read at a time unless the caller says otherwise, or hashed."""


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
        """A table of just some columns, renamed: ``written`` has present names by new ones."""

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
        """Its column of that name, but for case and blanks around it; None unless just one fits."""
        return column_among(self.schema, wanted)


def column_among(names: Collection[str], wanted: str) -> str | None:
    """The name as written, else the only one that differs in case and blanks around it alone; None
    if there is none, or several are written so."""
    alike = [one for one in names if one.strip().lower() == wanted.strip().lower()]
    alike = [wanted] if wanted in alike else alike
    return alike[0] if len(alike) == 1 and f"{alike[0]}{REPEATED}0" not in names else None


def name_among(names: Sequence[str], wanted: str, where: object, hint: str = "") -> str:
    """The one name that is wanted, but for case and blanks around it; SchemaError otherwise."""
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


def table_of(frame: pl.DataFrame, name: str, files: tuple[Path, ...] = ()) -> Table:
    """A frame as a table, whole in memory."""

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        return frame.select(columns).iter_slices(at_once)

    hashing = str if files else lambda: digest_of([frame])
    return Table(name=name, schema=dict(frame.schema), scan=scan, files=files, hashing=hashing)


def frame_of(data: Any) -> pl.DataFrame:
    """Data in memory as a frame of Polars.

    Args:
        data: Anything that narwhals takes, a dictionary of lists, a list of labels or of lists of
            labels of each instance, a series of these (its index is the id), or an array.

    Raises:
        InputError: If it is none of these, or its columns are not of one type each.
    """
    try:
        frame = _converted(data)
        if objects := [name for name, kind in frame.schema.items() if kind == pl.Object]:
            raise TypeError(f"objects of Python in {first_cases(objects)}")
        return frame
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise SchemaError(
            "a frame of named columns with values of one type each is required",
            found=str(error).split("\n")[0],
            where=type(data).__name__,
        ) from None


def _converted(data: Any) -> pl.DataFrame:
    """Data as a frame; a list holds the labels of instances, an index of pandas is a column."""
    if isinstance(data, np.ndarray):
        return array_frame(data)
    if isinstance(data, Mapping):
        return pl.DataFrame(data)
    if isinstance(data, (list, tuple)) or (
        hasattr(data, "to_list") and not hasattr(data, "columns")
    ):
        return _of_labels(data)
    import narwhals.stable.v2 as nw

    known = nw.from_native(data, pass_through=True)
    if isinstance(known, nw.LazyFrame):
        known = known.collect("polars")
    if not isinstance(known, nw.DataFrame):
        raise InputError(
            "a path, a frame of Polars, pandas or Arrow, a dictionary of lists, an array, or a "
            "list of labels is required",
            found=f"{type(data).__module__}.{type(data).__name__}",
        )
    if _index_of(data) is not None and (any(data.index.names) or "index" not in data.columns):
        known = nw.from_native(data.reset_index(), eager_only=True)
    frame: pl.DataFrame = known.to_polars()
    return frame


def _of_labels(data: Any) -> pl.DataFrame:
    """A row an instance, its label or list of labels; None is one without labels."""
    index = _index_of(data)
    if index is not None and len({*index}) < len(index):
        raise InputError(
            "an index with an id for each entry of a series is required",
            found="one that repeats",
            hint="series.reset_index(drop=True) numbers the entries; series.rename('label')"
            ".rename_axis('instance').reset_index() gives each instance the labels of its entries",
        )
    entries = data.to_list() if hasattr(data, "to_list") else [*data]
    ids = [*map(str, range(len(entries)) if index is None else index)]
    if any(isinstance(one, (list, tuple, np.ndarray)) for one in entries):
        lists = [[one] if isinstance(one, (str, Integral)) else one for one in entries]
        return pl.DataFrame(
            {"id": ids, "labels": [one if one is None else [*one] for one in lists]}
        )
    return pl.DataFrame({"id": ids, "label": entries})


def list_column(values: pl.Series, starts: NDArray[np.integer[Any]]) -> pl.Series:
    """Lists of values that lie end to end, by where each starts and the last ends, shape (n + 1,).

    Made of buffers: of an array of NumPy or a list Arrow would import pandas, for a third of a
    second.
    """
    import pyarrow as pa

    inner, ends = values.to_arrow(), pa.py_buffer(np.ascontiguousarray(starts, np.int64))
    kind, n = pa.large_list(inner.type), len(starts) - 1
    return pl.Series(pa.LargeListArray.from_buffers(kind, n, [None, ends], children=[inner]))


def array_frame(array: np.ndarray[Any, Any]) -> pl.DataFrame:
    """A column of an array of one dimension, ``column_1`` ... of one of two."""
    if array.dtype.hasobject and array.ndim == 1:
        return _of_labels(array.tolist())
    if array.ndim not in (1, 2) or array.dtype.kind not in "biufUS":
        raise SchemaError(
            "an array of one or two dimensions of numbers or text is required",
            found=f"{array.dtype} of shape {array.shape}",
        )
    array = array.astype(np.str_) if array.dtype.kind == "S" else array
    columns = [array] if array.ndim == 1 else [*array.T]
    return pl.DataFrame({f"column_{n}": values for n, values in enumerate(columns, start=1)})


def _index_of(data: Any) -> list[Any] | None:
    """The index of a series or frame of pandas where it has a name, or is not 0 to n - 1."""
    index = getattr(data, "index", None)
    if index is None or callable(index):
        return None
    named = any(name is not None for name in getattr(index, "names", ()))
    values = [*index]
    return values if named or values != [*range(len(values))] else None


def digest_of(frames: Iterable[pl.DataFrame]) -> str:
    """SHA-256 of rows as lines of JSON; it depends neither on chunks nor on a library.

    Columns of bytes, such as images, are left out.
    """
    digest = hashlib.sha256()
    for frame in frames:
        told = [name for name, kind in frame.schema.items() if "Binary" not in str(kind)]
        for part in frame.select(told).iter_slices(AT_ONCE):
            digest.update(part.write_ndjson().encode())
    return digest.hexdigest()
