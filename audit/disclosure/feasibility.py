"""Whether numbers of kinds of instance fit what is told, by a linear program over few of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, eye_array, hstack

AT_ONCE = 20
"""Number of kinds added in one step."""
PLACES = 4_096
"""Number of kinds whose contributions are numbers of eight bytes at a time."""
TOLERANCE = 1e-9
"""Numerical tolerance, far below the feasibility tolerance of the solver."""

Floats: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int64]
Table: TypeAlias = NDArray[np.generic]


Program: TypeAlias = tuple[Sequence[Table], Floats, Floats, Places]
"""Contribution of an instance of each kind to each sum, shape (n_sums, n_kinds), as tables that
stand below each other; lower and upper bound of each sum, shape (n_sums,), infinite if there is
none; and kinds to begin with, such as those that it took to find others."""
Found: TypeAlias = tuple[bool, Places, Floats]
"""Whether such numbers of instances were found, the kinds that it took, and how many of each."""


def are_possible(programs: Sequence[Program]) -> list[Found]:
    """Whether numbers of instances per kind exist whose sums lie in all ranges, for each program.

    Kinds of instance are added as needed ("A linear programming approach to the cutting-stock
    problem", Gilmore and Gomory 1961): a program over the kinds so far minimises the violation, and
    its dual variables say which further kinds would reduce it. All programs are solved as parts of
    one that have nothing in common; alone, they take several times as long.

    Returns:
        True only if such non-negative numbers, not necessarily whole, were found; False also if
            the solver gives up.
    """
    found: list[Found] = [(False, first, np.zeros(0)) for *_, first in programs]
    open_ = list(range(len(programs)))
    while open_:
        parts = [(programs[n][:3], found[n][1]) for n in open_]
        solved = least_violations(
            [(_columns(rows, taken), low, high) for (rows, low, high), taken in parts]
        )
        still = []
        for n, ((rows, *_), taken), (short, worth, sizes) in zip(open_, parts, solved, strict=True):
            further = worth_most(rows, worth, taken) if not short <= TOLERANCE else taken[:0]
            found[n] = short <= TOLERANCE, np.concatenate([taken, further]), sizes
            still += [n] * bool(len(further))
        open_ = still
    return found


def _columns(rows: Sequence[Table], places: Places | slice) -> Floats:
    return np.vstack([table[:, places] for table in rows]).astype(np.float64)


def worth_most(rows: Sequence[Table], worth: Floats, taken: Places) -> Places:
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


def least_violations(
    programs: Sequence[tuple[Floats, Floats, Floats]],
) -> list[tuple[float, Floats, Floats]]:
    """Minimum total violation of the ranges of sums, its dual values, and the numbers of each kind.

    The violation is NaN where the solver gives up.
    """
    from scipy.optimize import linprog

    kinds = block_diag([csr_array(rows) for rows, *_ in programs], format="csr")
    n_sums, n_kinds = kinds.shape
    low, high = (np.concatenate(ends) for ends in zip(*(its for _, *its in programs), strict=True))
    bounds: Any = np.zeros((3 * n_sums + n_kinds, 2))
    bounds[:, 1] = np.inf
    bounds[2 * n_sums : 3 * n_sums] = np.column_stack([low, high])
    short = eye_array(n_sums, format="csr")
    sums: Any = hstack([short, -short, -short, kinds], format="csr")
    solved = linprog(
        np.repeat([1.0, 0.0], [2 * n_sums, n_sums + n_kinds]),
        A_eq=sums,
        b_eq=np.zeros(n_sums),
        bounds=bounds,
        method="highs",
    )
    shapes = np.array([rows.shape for rows, *_ in programs])
    ends = [pairwise(np.cumsum([0, *its]).tolist()) for its in shapes.T]
    if solved.x is None:
        return [(np.nan, np.zeros(len(low)), np.zeros(0)) for _, low, _ in programs]
    missed = solved.x[:n_sums] + solved.x[n_sums : 2 * n_sums]
    sizes, worth = solved.x[3 * n_sums :], np.asarray(solved.eqlin.marginals, np.float64)
    return [
        (float(missed[a:b].sum()), worth[a:b], sizes[c:d])
        for (a, b), (c, d) in zip(*ends, strict=True)
    ]
