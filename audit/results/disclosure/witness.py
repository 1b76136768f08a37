"""Whether some release has all published counts: a few kinds of instance are enough to show it.

Kinds are taken in as they are needed ("A linear programming approach to the cutting-stock problem",
Gilmore and Gomory 1961): among those taken so far a program comes as near to every range as they
allow, and its dual tells which further kinds would bring it nearer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 20
"""Kinds that are taken in together."""
SLACK = 1e-9
"""Far below what a solver lets pass as within a range."""

Floats = NDArray[np.float64]


def is_possible(rows: Floats, low: Floats, high: Floats) -> bool:
    """Whether numbers of instances of each kind exist whose sums lie in all ranges.

    Args:
        rows: What an instance of each kind adds to each sum, shape (n_sums, n_kinds).
        low: Least of each sum, shape (n_sums,); infinite where there is none.
        high: Most of each sum.

    Returns:
        True only with such numbers at hand, each from 0 on and not always whole; False too where
        the solver gives up.
    """
    taken = np.zeros(0, np.int64)
    while True:
        short, worth = _nearest(rows[:, taken], low, high)
        if short <= SLACK:
            return True
        gain = worth @ rows
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
