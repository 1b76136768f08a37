"""Representations from Parquet: a row an instance, and a column of lists a layer."""

from __future__ import annotations

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.concepts.reading.arrays import representations_of
from audit.concepts.reading.names import COLUMNS, layer_names
from audit.concepts.representations import Representations
from audit.data.label_formats.arrays import AnyArray
from audit.data.records import pick
from audit.data.sources import Source


def read_parquet(source: Source) -> Representations:
    """Read the columns ``id, labels, prediction, pair`` and a column ``layer:NAME`` per layer.

    ``labels`` holds a label or a list of them. There is no place for a linear head.

    Raises:
        InputError: If it is not a Parquet file.
        SchemaError: As `audit.concepts.reading.arrays.representations_of`, or if a column has
            another name or type, or the lists of a layer have not one length.
    """
    table = source.table()
    layers = layer_names(table.columns, COLUMNS, "columns", source)
    if "labels" not in table.columns:
        raise SchemaError(
            "a column labels is required",
            found=f"the columns {first_cases(table.columns)}",
            where=source,
        )
    own = [name for name in COLUMNS if name in table.columns]
    texts = pick(table, source, **{name: name for name in own})
    return representations_of(
        {name: _matrix(table[column], source) for name, column in layers.items()},
        _labels(texts["labels"]),
        ids=texts["id"].to_list() if "id" in own else None,
        predictions=texts["prediction"].to_list() if "prediction" in own else None,
        pairs=texts["pair"].to_list() if "pair" in own else None,
        where=source,
    )


def _labels(column: pl.Series) -> list[str | list[str] | None]:
    if isinstance(column.dtype, pl.List):
        return column.list.drop_nulls().to_list()
    return column.to_list()


def _matrix(column: pl.Series, source: Source) -> AnyArray:
    """A column of lists of numbers as a matrix; a null in a list is NaN."""
    dtype = column.dtype
    inner = dtype.inner if isinstance(dtype, (pl.List, pl.Array)) else None
    if inner is None or not inner.is_numeric():
        raise SchemaError(
            f"the column {column.name!r} must hold lists of numbers", found=str(dtype), where=source
        )
    wanted = pl.Float32 if inner == pl.Float32 else pl.Float64
    lists = column.cast(pl.List(wanted), strict=False)
    lengths = lists.list.len().fill_null(0).to_numpy()
    if len(set(lengths.tolist())) > 1:
        raise SchemaError(
            f"every row must have as many numbers in the column {column.name!r}",
            found=f"lists of {lengths.min():,} to {lengths.max():,} numbers",
            where=source,
        )
    values = lists.explode(empty_as_null=False, keep_nulls=False)
    return values.to_numpy().reshape(len(column), -1 if len(values) else 0)
