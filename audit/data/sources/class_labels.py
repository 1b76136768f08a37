"""Names of class numbers, as the library ``datasets`` keeps them beside data (``ClassLabel``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import SchemaError

ClassNames = Mapping[str, tuple[str, ...]]
"""The names of classes, in the order of their numbers, by column."""


def class_names_of(features: Any, where: object) -> ClassNames:
    """The names that features of a dataset give to the numbers of its columns.

    Raises:
        SchemaError: If a ``ClassLabel`` has no names.
    """
    inner = {name: _inner(one) for name, one in (features or {}).items()}
    labels = {name: one for name, one in inner.items() if one.get("_type") == "ClassLabel"}
    nameless = [name for name, label in labels.items() if not label.get("names")]
    if nameless:
        raise SchemaError(
            "a ClassLabel with 'names' is required", found=f"none of {nameless[0]!r}", where=where
        )
    return {name: tuple(label["names"]) for name, label in labels.items()}


def _inner(feature: Any) -> Mapping[str, Any]:
    """The feature of plain values, which one of lists holds."""
    while isinstance(feature, list) or (isinstance(feature, Mapping) and "feature" in feature):
        feature = feature[0] if isinstance(feature, list) else feature["feature"]
    return feature if isinstance(feature, Mapping) else {}


def class_names_in(path: Path) -> ClassNames:
    """The names in the metadata of a Parquet file, as it is on the Hub; none of another file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(OSError, ValueError, AttributeError, KeyError, pa.ArrowException):
        metadata = pq.read_schema(path).metadata or {}
        return class_names_of(json.loads(metadata[b"huggingface"])["info"]["features"], path)
    return {}


def with_class_names(frame: pl.DataFrame, names: ClassNames) -> pl.DataFrame:
    """The frame with class numbers replaced by their names; -1, which is no class, by null.

    A number without a name stays what it is, as text.
    """
    return frame.with_columns(
        _named(pl.col(column), frame.schema[column], names[column])
        for column in names
        if column in frame.columns
    )


def _named(values: pl.Expr, dtype: Any, names: tuple[str, ...]) -> pl.Expr:
    if isinstance(dtype, (pl.List, pl.Array)):
        element = _named(pl.element(), dtype.inner, names)
        return values.cast(pl.List(dtype.inner)).list.eval(element)
    if not dtype.is_integer():
        return values
    numbers = {-1: None, **dict(enumerate(names))}
    return values.replace_strict(numbers, default=values.cast(pl.String), return_dtype=pl.String)
