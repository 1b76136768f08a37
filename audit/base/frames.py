"""Tables in memory: frames, dictionaries of lists, lists of labels, series and arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.table import Table

_HASHED = 1_000_000
"""Number of rows that are hashed at a time."""


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
        for part in frame.select(told).iter_slices(_HASHED):
            digest.update(part.write_ndjson().encode())
    return digest.hexdigest()
