"""NumPy arrays of labels: for each instance a class number or name, or a row of 0 and 1."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.errors import SchemaError, first_cases
from audit.data.arrays import NPY_MAGIC, ZIP_MAGIC, AnyArray, first_of, read_npy, read_npz, texts_of
from audit.data.class_names import Classes, beyond_names, classes_for, file_of, names_by_number
from audit.data.label_format import (
    Columns,
    LabelFormat,
    RawLabels,
    raw_labels,
    refuse_named,
)
from audit.data.sources import Source


def read(source: Source, columns: Columns) -> RawLabels:
    """Read class numbers or names, shape (n,), or 0 and 1, shape (n, n_classes).

    Ids are row numbers from 0. A blank name is no label.

    An archive must hold such an array alone; 0 and 1 may be of any type. Names come from
    ``columns.classes``, one per line: the first name is that of the number 0, or of the first
    column. A row of zeros is an instance without labels.
    """
    refuse_named(columns, source, "id", "label", "group", "split", "strata", "rules")
    array = _array(source)
    row, number, names = _carried(array, columns.classes, source)
    rows = pl.DataFrame(
        {"instance": row, "label": np.array(names, dtype=object)[number].tolist()},
        schema_overrides={"label": pl.String},
    )
    instances = pl.DataFrame({"instance": np.arange(len(array))})
    files = (*source.files, *file_of(columns.classes))
    text = _as_text(rows), _as_text(instances)
    return raw_labels(*text, source, columns.rules, sources=files, numbered=True)


def matches(source: Source) -> bool:
    """Whether the first bytes are of an ``.npy`` file of whole numbers, texts, or 0.0 and 1.0."""
    header = _HEADER.search(source.head) if source.head.startswith(NPY_MAGIC) else None
    if header is None or header[2] != b"f":
        return header is not None
    dtype = np.dtype(b"".join(header.groups()).decode())
    data = source.head[source.head.find(b"\n") + 1 :]
    first = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)
    return first.size > 0 and bool(np.isin(first, (0.0, 1.0)).all())


_HEADER = re.compile(rb"'descr': '([<>|]?)([biufU])(\d+)'")
HINT = (
    "labels in an array are class numbers or names, or 0 and 1 with a column a class; of an "
    "archive --format npy reads the only array; scores of a model are given with --predictions"
)
"""What is said of an array that holds no labels."""


def _array(source: Source) -> AnyArray:
    if not source.head.startswith(ZIP_MAGIC):
        return read_npy(source)
    arrays = read_npz(source)
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    raise SchemaError(
        "an archive with one array, that of the labels, is required",
        found=first_cases(arrays) if arrays else "none",
        where=source,
        hint=f"save it alone: np.save('labels.npy', np.load({source.name!r})['NAME'])",
    )


Carried = tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]
"""Row and class number of each label, in row order, and the names of all classes."""


def _carried(array: AnyArray, classes: Classes | None, source: Source) -> Carried:
    if array.ndim == 1 and array.dtype.kind in "iu":
        return _numbered(array, classes, source)
    if array.ndim == 1 and array.dtype.kind == "U":
        texts = np.array(texts_of(array, "labels", source), dtype=object)
        rows = np.flatnonzero(texts != "")
        names, numbers = np.unique(texts[rows].astype(str), return_inverse=True)
        return rows, numbers, tuple(names.tolist())
    decimals = array.dtype.kind == "f"
    as_flags = decimals and np.isin(array, (0.0, 1.0)).all()
    if array.ndim == 2 and (array.dtype.kind in "biu" or as_flags):
        return _flagged(array, classes, source)
    first = f", as {array.flat[0]!s}" if decimals and array.size else ""
    whole = "np.save(FILE, array.astype(int)) saves whole numbers as such"
    raise SchemaError(
        "labels must be class numbers or names, shape (n,), or 0 and 1, shape (n, n_classes)",
        found=f"{array.dtype} of shape {array.shape}{first}",
        where=source,
        hint="scores of a model are given with --predictions"
        if array.ndim == 2
        else whole * (decimals and array.ndim == 1),
    )


def _numbered(array: AnyArray, classes: Classes | None, source: Source) -> Carried:
    seen = int(array.max()) + 1 if array.size else 0
    if classes is None:
        classes_for(seen, None, source)
    names = names_by_number(classes or ())
    first = int(next(iter(names), 0))
    outside = np.flatnonzero((array < first) | (array >= first + len(names)))
    if len(outside):
        raise beyond_names(names, first_of(outside, array[outside]), source)
    return np.arange(len(array)), array.astype(np.int64) - first, tuple(names.values())


def _flagged(array: AnyArray, classes: Classes | None, source: Source) -> Carried:
    names = classes_for(array.shape[1], classes, source)
    row, column = np.nonzero((array != 0) & (array != 1))
    if len(row):
        raise SchemaError(
            "a matrix of labels must hold 0 and 1",
            found=first_of(row, array[row, column]),
            where=source,
        )
    row, column = np.nonzero(array)
    return row, column, names


def _as_text(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("instance").cast(pl.String))


FORMAT = LabelFormat(
    name="npy",
    title="a NumPy array of class numbers or names, or of 0 and 1 with a column per class; "
    "--classes names them",
    matches=matches,
    read=read,
)
