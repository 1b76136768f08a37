"""Numbers of instances of cells whose sums are bounded, by linear programs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from audit.base.dag import BoolArray, FloatArray

NEAR = 1e-6
"""How far an end of a range may be off."""
_IMPOSSIBLE = 2
"""Status of a linear program that nothing fulfils."""


class Least(NamedTuple):
    """The least that a sum can be, numbers for which it is, and how much each bound makes it so.

    The sum is None where nothing bounds it, or the solver gives up; there are no numbers then.
    """

    possible: bool
    sum: float | None
    point: FloatArray | None
    weights: FloatArray


@dataclass(eq=False)
class Bounded:
    """Bounds on sums of numbers that are not negative.

    Args:
        rows: What each sum counts of each number, shape (n_sums, n_numbers).
        low: The least of each, shape (n_sums,).
        high: The most, perhaps infinite.
    """

    rows: FloatArray
    low: FloatArray
    high: FloatArray

    def __post_init__(self) -> None:
        self.equal: BoolArray = self.low == self.high
        self.above: BoolArray = np.isfinite(self.high) & ~self.equal

    def fulfilled(self, points: FloatArray) -> BoolArray:
        """Which of some numbers have such sums, shape (n_points,)."""
        sums = points @ self.rows.T
        near = (sums > self.low - NEAR) & (sums < self.high + NEAR)
        return np.asarray(near.all(axis=1))

    def least(self, goal: FloatArray) -> Least:
        """The least of a sum, shape (n_numbers,). Takes one program."""
        from scipy.optimize import linprog

        found: Any = linprog(goal, *self._ends)
        weights = np.zeros(len(self.rows))
        if found.x is not None:
            of_bounds = found.ineqlin.marginals
            weights[~self.equal] = of_bounds[self.above.sum() :]
            weights[self.above] += of_bounds[: self.above.sum()]
            weights[self.equal] = found.eqlin.marginals
        solved = found.fun if found.status == 0 else None
        return Least(found.status != _IMPOSSIBLE, solved, found.x, weights)

    def together(self, goals: FloatArray, most: FloatArray) -> FloatArray | None:
        """Numbers that let sums be as little above their ends as may be, all of them together.

        Args:
            goals: What the sums count, shape (n_goals, n_numbers).
            most: Their ends, shape (n_goals,).
        """
        from scipy.optimize import linprog
        from scipy.sparse import block_array, csc_array, eye_array

        bounds, ends, equal, n = self._ends
        short, none = -eye_array(len(goals)), csc_array((equal.shape[0], len(goals)))
        both: Any = block_array([[bounds, None], [csc_array(goals), short]], format="csc")
        equations: Any = block_array([[equal, none]], format="csc")
        weight = np.repeat([0.0, 1.0], [goals.shape[1], len(goals)])
        found = linprog(weight, both, np.concatenate([ends, most]), equations, n)
        return None if found.x is None else np.asarray(found.x[: goals.shape[1]])

    @cached_property
    def _ends(self) -> tuple[Any, FloatArray, Any, FloatArray]:
        """Bounds and equations as `scipy.optimize.linprog` takes them."""
        from scipy.sparse import csc_array

        bounds = np.vstack([self.rows[self.above], -self.rows[~self.equal]])
        ends = np.concatenate([self.high[self.above], -self.low[~self.equal]])
        return csc_array(bounds), ends, csc_array(self.rows[self.equal]), self.low[self.equal]
