"""Lists of different lengths in one array: from and to columns of lists, and their correlations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from audit.base.dag import BoolArray, FloatArray, IntArray

Value = TypeVar("Value", bound=np.generic)
AT_ONCE = 1 << 17
"""Largest number of values in a block of lists of one length, unless one list alone holds more."""
LEAST_TOKENS = 4
"""Fewest tokens that are correlated: of two tokens, the correlation is always 1 or -1."""
TOKENS_AT_ONCE = 500_000
"""Tokens that are held in memory at once beside the lists themselves."""


@dataclass(frozen=True, eq=False)
class Lists(Generic[Value]):
    """Lists laid end to end: list ``i`` is ``values[starts[i]:starts[i + 1]]``."""

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

    def take(self, indices: IntArray, cut_to: IntArray | None = None) -> Lists[Value]:
        """The lists at these places, in this order; a place may recur.

        Each may be cut to a length that it has at least.
        """
        starts = starts_of(self.lengths[indices] if cut_to is None else cut_to)
        shift = np.repeat(self.starts[indices] - starts[:-1], np.diff(starts))
        return Lists(self.values[np.arange(starts[-1]) + shift], starts)


def laid_out(column: pl.Series) -> tuple[pl.Series, IntArray]:
    """The values of a column of lists, list after list, and where each list starts; null is empty.

    There is one more start than there are lists, as in `Lists`.
    """
    lengths = column.list.len().fill_null(0).to_numpy().astype(np.int64)
    return column.explode(empty_as_null=False, keep_nulls=False), starts_of(lengths)


def lists_in(column: pl.Series) -> Lists[np.float64]:
    """A column of lists of numbers as `Lists`; a null in a list is NaN."""
    values, starts = laid_out(column)
    return Lists(values.to_numpy().astype(np.float64, copy=False), starts)


def list_column(values: pl.Series, starts: IntArray) -> pl.Series:
    """A column of lists: the inverse of `laid_out`, but that no list is null."""
    lists = pa.LargeListArray.from_arrays(pa.array(starts, pa.int64()), values.to_arrow())
    return pl.Series("", pl.from_arrow(lists), pl.List(values.dtype))


def starts_of(lengths: IntArray) -> IntArray:
    """Where lists of these lengths start when they are laid end to end, and where the last ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def codes(frame: pl.DataFrame) -> IntArray:
    """Number rows from 0 by their values, in the order of these; null is a value of its own."""
    keys = frame.unique().sort(frame.columns).with_row_index("code")
    joined = frame.join(keys, on=frame.columns, how="left", nulls_equal=True, maintain_order="left")
    return joined["code"].to_numpy().astype(np.int64)


def equal_lengths(lengths: IntArray, width: int = 1) -> Iterator[IntArray]:
    """Places of lists of one length, block after block; empty lists are in no block.

    Args:
        lengths: Length of each list, shape (n,).
        width: Number of lists that each place stands for; a block holds about `AT_ONCE` values.
    """
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    bounds = np.concatenate([[0], np.flatnonzero(np.diff(ordered)) + 1, [len(order)]])
    for start, end in pairwise(bounds.tolist()):
        if start < end and ordered[start]:
            size = max(AT_ONCE // (int(ordered[start]) * width), 1)
            yield from np.split(order[start:end], range(size, end - start, size))


def matrix(lists: Lists[Value], places: IntArray, length: int) -> NDArray[Value]:
    """Lists of one length as an array of shape ``(*places.shape, length)``."""
    taken: NDArray[Value] = lists.values[lists.starts[places][..., None] + np.arange(length)]
    return taken


def batches(lengths: IntArray, at_once: int = TOKENS_AT_ONCE) -> Iterator[slice]:
    """Consecutive slices of lists with about so many values together; one list at least."""
    ends = np.cumsum(lengths)
    start, before = 0, 0
    while start < len(lengths):
        end = max(int(np.searchsorted(ends, before + at_once, "right")), start + 1)
        yield slice(start, end)
        start, before = end, int(ends[end - 1])


def sums(lists: Lists[Any]) -> FloatArray:
    """The sum of each list, shape (n_lists,); 0 for an empty one."""
    return np.bincount(lists.owner, lists.values, len(lists)).astype(np.float64)


def varies(lists: Lists[Any]) -> BoolArray:
    """Whether a list has two different values, shape (n_lists,)."""
    other = np.diff(lists.values) != 0
    owner = lists.owner
    within = owner[1:][other & (owner[1:] == owner[:-1])]
    return np.bincount(within, minlength=len(lists)) > 0


def standardised(lists: Lists[np.float64]) -> Lists[np.float64]:
    """Each list less its mean, over its Euclidean length; all 0 where it does not vary."""
    owner = lists.owner
    centred = lists.values - (sums(lists) / np.maximum(lists.lengths, 1))[owner]
    norm = np.sqrt(np.bincount(owner, centred**2, len(lists)))
    scale = np.divide(1.0, norm, out=np.zeros(len(norm)), where=varies(lists) & (norm > 0))
    return Lists(centred * scale[owner], lists.starts)


def pearson(left: Lists[np.float64], right: Lists[np.float64]) -> FloatArray:
    """Pearson's correlation of each pair of lists of equal length, shape (n_pairs,).

    NaN where a list of the pair does not vary, as an empty one does not.
    """
    products = standardised(left).values * standardised(right).values
    r = sums(Lists(products, left.starts)).clip(-1, 1)
    return np.where(varies(left) & varies(right), r, np.nan)


def ranks(lists: Lists[np.float64]) -> Lists[np.float64]:
    """The rank of each value within its list, from 1; equal values share their mean rank."""
    frame = pl.DataFrame({"owner": lists.owner, "value": lists.values})
    ranked = frame.select(pl.col("value").rank("average").over("owner")).to_series()
    return Lists(ranked.to_numpy().astype(np.float64), lists.starts)


def fisher(r: FloatArray) -> FloatArray:
    """Inverse hyperbolic tangent of correlations: NaN, not infinite, where they are 1 or -1."""
    return np.arctanh(np.where(np.abs(r) < 1 - 1e-12, r, np.nan))


def held(words: Lists[np.int64], sets: Lists[np.int64]) -> Lists[np.bool_]:
    """Whether each word of a list is in the set of the same place."""
    number = int(max(words.values.max(initial=0), sets.values.max(initial=0))) + 1
    known = sets.owner * number + sets.values
    return Lists(np.isin(words.owner * number + words.values, known), words.starts)
