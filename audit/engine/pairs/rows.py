"""Rows of a sparse matrix: added, in stretches, their numbers, sums, and the highest value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, get_index_dtype

from audit.base.arrays import Growing, at_once, give_back_pages
from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse


def row_numbers(matrix: Sparse) -> IntArray:
    """Row index of each stored value, shape (nnz,)."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def row_sums(matrix: Sparse) -> FloatArray:
    """Sum of each row, shape (n_rows,), added in stored order, so that batching changes no bit."""
    sums = np.bincount(row_numbers(matrix), matrix.data, minlength=matrix.shape[0])
    return sums.astype(np.float64, copy=False)


def chosen(matrix: Sparse, kept: BoolArray) -> Sparse:
    """1 where a stored value is one of those kept, int64; in the order of the matrix.

    Args:
        kept: Whether to keep each stored value, shape (nnz,).
    """
    places = np.flatnonzero(kept)
    indptr = np.searchsorted(places, matrix.indptr).astype(matrix.indptr.dtype)
    stored = (np.ones(len(places), np.int64), matrix.indices[places], indptr)
    return csr_array(stored, shape=matrix.shape)


class GrowingRows:
    """A CSR matrix to whose end rows are added; it stands in files where it is large.

    Args:
        width: Number of columns.
        kind: Type of the values.
    """

    def __init__(self, width: int, kind: DTypeLike) -> None:
        self._width = width
        self._data, self._indices, self._ends = Growing(kind), Growing(np.int32), Growing(np.int64)

    def add(self, rows: Sparse) -> None:
        """Add rows, shape (n, width)."""
        self._ends.add(rows.indptr[1:].astype(np.int64) + len(self._data))
        self._data.add(rows.data)
        self._indices.add(rows.indices)

    def whole(self) -> Sparse:
        """All rows, to which none is added from now on."""
        ends = np.concatenate([[0], self._ends.whole()])
        kind = get_index_dtype(maxval=max(int(ends[-1]), self._width))
        indices = self._indices.whole().astype(kind, copy=False)
        stored = self._data.whole(), indices, ends.astype(kind)
        return csr_array(stored, shape=(len(ends) - 1, self._width))


def row_slices(indptr: NDArray[Any]) -> Iterator[slice]:
    """Stretches of rows with some `at_once` stored values each; memory is given back after each."""
    block = np.maximum(indptr[1:].astype(np.int64) - 1, 0) // at_once()
    starts = np.flatnonzero(np.diff(block, prepend=-1)).tolist()
    for start, stop in pairwise([*starts, len(block)]):
        yield slice(start, stop)
        give_back_pages()


@dataclass(frozen=True, eq=False)
class Answers:
    """The highest value of each instance."""

    column: IntArray
    """Column of the highest value, the first of ties, (n_instances,); -1 if none is above zero."""
    tied: BoolArray
    """Whether another column has the same highest value, shape (n_instances,)."""


def highest(values: Sparse) -> Answers:
    """The column with the highest value of each row; ties go to the first column.

    Args:
        values: Not negative, shape (n_instances, n_columns).

    >>> found = highest(csr_array([[0.2, 0.4, 0.4], [0.0, 0.0, 0.0]]))
    >>> found.column.tolist(), found.tied.tolist()
    ([1, -1], [True, False])
    """
    n, n_columns = values.shape
    rows = row_numbers(values)
    top = np.zeros(n)
    np.maximum.at(top, rows, values.data)
    at_top = (values.data > 0) & (values.data == top[rows])
    column = np.full(n, n_columns, np.int64)
    np.minimum.at(column, rows[at_top], values.indices[at_top].astype(np.int64))
    column[column == n_columns] = -1
    return Answers(column, np.bincount(rows[at_top], minlength=n) > 1)


def counts_at(matrix: Sparse, row: IntArray, column: IntArray) -> IntArray:
    """The stored count at each position, 0 where there is none, shape as ``row``."""
    return np.asarray(matrix[row, column] if len(row) else [], np.int64)


def stored(matrix: Sparse, row: IntArray, column: IntArray) -> BoolArray:
    """Whether a canonical matrix stores a value at each position, shape as ``row``.

    Bisects within rows, all positions at once; time grows with the logarithm of the longest row.
    """
    if not matrix.nnz:
        return np.zeros(len(row), np.bool_)
    low, end = matrix.indptr[row].astype(np.int64), matrix.indptr[row + 1].astype(np.int64)
    high = end
    for _ in range(int(np.diff(matrix.indptr).max()).bit_length()):
        middle = (low + high) // 2
        less = matrix.indices.take(middle, mode="clip") < column
        searching = low < high
        high = np.where(searching & ~less, middle, high)
        low = np.where(searching & less, middle + 1, low)
    return np.asarray((low < end) & (matrix.indices.take(low, mode="clip") == column))
