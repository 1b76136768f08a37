"""Expected counts of a square table that keep its margins and leave its diagonal empty."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]

TOLERANCE = 1e-9
"""How far from a margin the fit may end, as a share of the table's total."""
MOST_STEPS = 10_000
"""Steps after which the fit ends where it is: only a table nearly all of which lies in one label's
row and column needs more, and its largest row then lacks less than a count in 5,000."""


def fitted(rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The terms of the expected counts: their sum over terms of ``x[i] * y[j]``, for i != j.

    Iterative proportional fitting: each step scales the rows to their margin, then the columns, so
    that only two vectors change.

    Args:
        rows: Margin of each row, shape (n,), not negative.
        columns: Margin of each column, shape (n,), of the same sum; some table with an empty
            diagonal has these margins.

    Returns:
        ``x, y``, each of shape (n_terms, n): one term; two where one label's row and column hold
        the whole table, whose counts are then the margins of the others; none of an empty table.
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
    """The terms of a table that lies in one row and one column; no step would end there."""
    alone = np.zeros(len(rows))
    alone[hub] = 1.0
    return np.stack([alone, rows * (1 - alone)]), np.stack([columns * (1 - alone), alone])
