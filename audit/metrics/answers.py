"""The one answer that scores give, and whether it is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audit.dag import BoolArray, IntArray, Sparse
from audit.engine.cuts import row_numbers


@dataclass(frozen=True, eq=False)
class Answers:
    """The highest value of each instance."""

    column: IntArray
    """Its column, the first of equals, shape (n_instances,); -1 where no value is above zero."""
    tied: BoolArray
    """Whether another column has the same value, shape (n_instances,)."""


def highest(values: Sparse) -> Answers:
    """The column with the highest value of each row; ties go to the first column.

    Args:
        values: Not negative, shape (n_instances, n_columns).

    >>> from scipy.sparse import csr_array
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


def stored(matrix: Sparse, row: IntArray, column: IntArray) -> BoolArray:
    """Whether a canonical matrix stores a value at each place, shape as ``row``."""
    width = np.int64(matrix.shape[1])
    keys = row_numbers(matrix) * width + matrix.indices
    wanted = row * width + column
    if not len(keys):
        return np.zeros(len(wanted), np.bool_)
    return np.asarray(keys[np.searchsorted(keys, wanted).clip(max=len(keys) - 1)] == wanted)
