"""Columns of lists, laid end to end and back."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import polars as pl
import pyarrow as pa

from audit.base.dag import IntArray
from audit.explanations.lists import Lists

Value = TypeVar("Value", bound=np.generic)


def laid_out(column: pl.Series) -> tuple[pl.Series, IntArray]:
    """The values of a column of lists, list after list, and where each list starts.

    Null is an empty list. There is one more start than there are lists, as in `Lists`.
    """
    lengths = column.list.len().fill_null(0).to_numpy().astype(np.int64)
    values = column.explode(empty_as_null=False, keep_nulls=False)
    return values, starts_of(lengths)


def lists_in(column: pl.Series, dtype: type[Value]) -> Lists[Value]:
    """A column of lists of numbers as `Lists`; null is an empty list, a null in a list is NaN."""
    values, starts = laid_out(column)
    return Lists(values.to_numpy().astype(dtype, copy=False), starts)


def list_column(values: pl.Series, starts: IntArray) -> pl.Series:
    """A column of lists: the inverse of `laid_out`, but that no list is null."""
    lists = pa.LargeListArray.from_arrays(pa.array(starts, pa.int64()), values.to_arrow())
    return pl.Series("", pl.from_arrow(lists), pl.List(values.dtype))


def starts_of(lengths: IntArray) -> IntArray:
    """Where lists of these lengths start when they are laid end to end, and where the last ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
