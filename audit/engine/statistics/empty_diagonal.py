"""Expected counts of a square table that keep its margins and leave its diagonal empty."""

from __future__ import annotations

import numpy as np

from audit.base.dag import FloatArray

TOLERANCE = 1e-9
"""Largest deviation from a margin at which the fit ends, as a share of the table's total."""
MOST_STEPS = 10_000
"""Number of steps after which the fit stops without having converged. Only a table with nearly all
counts in the row and column of one label needs more; its largest row then lacks less than one
count in 5,000."""


def fitted(rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Expected counts as a sum over terms of ``x[i] * y[j]``, for i != j.

    Iterative proportional fitting: each step scales the rows to their margins, then the columns, so
    that only two vectors change.

    Args:
        rows: Margin of each row, shape (n,), not negative.
        columns: Margin of each column, shape (n,), with the same sum; there must be a table with an
            empty diagonal that has these margins.

    Returns:
        ``x, y``, each of shape (n_terms, n). There is one term; no term for an empty table; and two
        if the row and column of one label hold the whole table, whose counts are then the margins
        of the other labels.
    """
    total = rows.sum()
    if total == 0:
        return np.empty((0, len(rows))), np.empty((0, len(rows)))
    hub = int(np.argmax(rows + columns))
    if rows[hub] + columns[hub] >= total:
        return _around(hub, rows, columns)
    x, y = rows / np.sqrt(total), columns / np.sqrt(total)
    for _ in range(MOST_STEPS):
        x = rows / (y.sum() - y)
        y = columns / (x.sum() - x)
        if np.abs(x * (y.sum() - y) - rows).max() <= TOLERANCE * total:
            break
    return x[None], y[None]


def _around(hub: int, rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The terms of a table that is in one row and one column; no step would end there."""
    alone = np.zeros(len(rows))
    alone[hub] = 1.0
    return np.stack([alone, rows * (1 - alone)]), np.stack([columns * (1 - alone), alone])
