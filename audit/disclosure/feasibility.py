"""Whether numbers of kinds of instance fit what is told, by a linear program over few of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 20
"""Number of kinds added in one step."""
PLACES = 4_096
"""Number of kinds whose contributions are numbers of eight bytes at a time."""
TOLERANCE = 1e-9
"""Numerical tolerance, far below the feasibility tolerance of the solver."""

Floats: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int64]
Table: TypeAlias = NDArray[np.generic]


def is_possible(
    rows: Sequence[Table], low: Floats, high: Floats, first: Places
) -> tuple[bool, Places]:
    """Whether numbers of instances per kind exist whose sums lie in all ranges.

    Args:
        rows: Contribution of an instance of each kind to each sum, shape (n_sums, n_kinds), as
            tables that stand below each other.
        low: Lower bound of each sum, shape (n_sums,); infinite if there is none.
        high: Upper bound of each sum, same shape.
        first: Kinds to begin with, such as those that it took to find others.

    Kinds of instance are added as needed ("A linear programming approach to the cutting-stock
    problem", Gilmore and Gomory 1961): a program over the kinds so far minimises the violation, and
    its dual variables say which further kinds would reduce it.

    Returns:
        True only if such non-negative numbers, not necessarily whole, were found; False also if
            the solver gives up. And the kinds that it took.
    """
    taken = first
    while True:
        short, worth = least_violation(_columns(rows, taken), low, high)
        if short <= TOLERANCE:
            return True, taken
        further = _worth_most(rows, worth, taken)
        if not len(further):
            return False, taken
        taken = np.concatenate([taken, further])


def _columns(rows: Sequence[Table], places: Places | slice) -> Floats:
    return np.vstack([table[:, places] for table in rows]).astype(np.float64)


def _worth_most(rows: Sequence[Table], worth: Floats, taken: Places) -> Places:
    """Up to `AT_ONCE` further kinds whose sums are worth most, a few rows of memory at a time."""
    best, gains = np.zeros(0, np.int64), np.zeros(0)
    for start in range(0, rows[0].shape[1], PLACES):
        columns = _columns(rows, slice(start, start + PLACES))
        gain = np.einsum("i,ij->j", worth, columns)  # on one core, the same bytes on any number
        gain[taken[(taken >= start) & (taken < start + PLACES)] - start] = 0
        found = np.flatnonzero(gain > (gains[-1] if len(gains) == AT_ONCE else TOLERANCE))
        best, gains = np.concatenate([best, found + start]), np.concatenate([gains, gain[found]])
        first = np.argsort(-gains, kind="stable")[:AT_ONCE]
        best, gains = best[first], gains[first]
    return best


def least_violation(rows: Floats, low: Floats, high: Floats) -> tuple[float, Floats]:
    """Minimum total violation of the ranges, and its dual values; NaN where the solver gives up."""
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
