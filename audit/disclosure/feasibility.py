"""Feasibility by column generation: whether some release has all published counts.

Kinds of instance are added as needed ("A linear programming approach to the cutting-stock
problem", Gilmore and Gomory 1961): a program over the kinds so far minimises the distance to all
ranges, and its dual variables say which further kinds would reduce it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 20
"""Number of kinds added in one step."""
SLACK = 1e-9
"""Numerical tolerance, far below the feasibility tolerance of the solver."""

Floats = NDArray[np.float64]


def is_possible(rows: Floats, low: Floats, high: Floats) -> bool:
    """Whether numbers of instances per kind exist whose sums lie in all ranges.

    Args:
        rows: Contribution of an instance of each kind to each sum, shape (n_sums, n_kinds).
        low: Lower bound of each sum, shape (n_sums,); infinite if there is none.
        high: Upper bound of each sum, same shape.

    Returns:
        True only if such non-negative numbers, not necessarily whole, were found; False also if
            the solver gives up.
    """
    taken = np.zeros(0, np.int64)
    while True:
        short, worth = _nearest(rows[:, taken], low, high)
        if short <= SLACK:
            return True
        gain = np.einsum("i,ij->j", worth, rows)  # on one core, with the same bytes on any number
        gain[taken] = 0
        further = np.argsort(-gain, kind="stable")[:AT_ONCE]
        further = further[gain[further] > SLACK]
        if not len(further):
            return False
        taken = np.concatenate([taken, further])


def _nearest(rows: Floats, low: Floats, high: Floats) -> tuple[float, Floats]:
    """How far sums of these kinds stay from their ranges at least, and the worth of one in each.

    Not a number where the solver gives up.
    """
    from scipy.optimize import linprog

    n_sums, n_kinds = rows.shape
    one = np.eye(n_sums)
    solved = linprog(
        np.repeat([1.0, 0.0], [2 * n_sums, n_sums + n_kinds]),
        A_eq=np.hstack([one, -one, -one, rows]),
        b_eq=np.zeros(n_sums),
        bounds=[(0, None)] * (2 * n_sums)
        + list(zip(low.tolist(), high.tolist(), strict=True))
        + [(0, None)] * n_kinds,
        method="highs",
    )
    if not solved.success:
        return np.nan, np.zeros(n_sums)
    return float(solved.fun or 0), np.asarray(solved.eqlin.marginals, np.float64)
