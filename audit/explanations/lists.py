"""Lists of different lengths in one array, and columns of lists laid end to end and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from audit.base.dag import IntArray

Value = TypeVar("Value", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Lists(Generic[Value]):
    """Lists laid end to end: list ``i`` is ``values[starts[i]:starts[i + 1]]``.

    Args:
        values: All values, list after list.
        starts: Where each list starts, and where the last one ends: one more than there are lists.
    """

    values: NDArray[Value]
    starts: IntArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> NDArray[Value]:
        return self.values[self.starts[index] : self.starts[index + 1]]

    @property
    def lengths(self) -> IntArray:
        """The number of values of each list."""
        return np.diff(self.starts)

    @property
    def owner(self) -> IntArray:
        """The list that each value belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, indices: IntArray) -> Lists[Value]:
        """The lists at these places, in this order; a place may recur."""
        lengths = self.lengths[indices]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[indices] - starts[:-1], lengths)
        return Lists(self.values[places], starts)


def lists_of(lists: Iterable[ArrayLike], dtype: type[Value]) -> Lists[Value]:
    """Lay lists end to end."""
    arrays = [np.asarray(one, dtype=dtype) for one in lists]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in arrays], dtype=np.int64)])
    values = np.concatenate(arrays) if arrays else np.empty(0, dtype=dtype)
    return Lists(values, starts.astype(np.int64))


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


AT_ONCE = 1 << 17
"""Largest number of values in a block, unless one list alone holds more."""


def equal_lengths(lengths: IntArray, width: int = 1) -> Iterator[IntArray]:
    """Places of lists of one length, block after block; empty lists are in no block.

    Args:
        lengths: Length of each list, shape (n,).
        width: Number of lists that each place stands for; a block holds about `AT_ONCE` values.

    Yields:
        Ascending places of lists of one length, each place in one block.
    """
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    bounds = [0, *(np.flatnonzero(np.diff(ordered)) + 1).tolist(), len(order)]
    for start, end in pairwise(bounds):
        if start == end or ordered[start] == 0:
            continue
        size = max(AT_ONCE // (int(ordered[start]) * width), 1)
        for first in range(start, end, size):
            yield order[first : min(first + size, end)]


def matrix(lists: Lists[Value], places: IntArray, length: int) -> NDArray[Value]:
    """Lists of one length as an array of shape ``(*places.shape, length)``."""
    taken: NDArray[Value] = lists.values[lists.starts[places][..., None] + np.arange(length)]
    return taken
