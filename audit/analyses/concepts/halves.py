"""Discriminants that are fitted on half of the instances and order the other, and how well they do.

The placement of an instance is the share of the other side that lies on its right side; the mean
over a side is the area under the curve, the variance over instances tells how sure it is (DeLong,
DeLong and Clarke-Pearson 1988). No score is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.resampling import unit_keys


@dataclass(frozen=True, eq=False)
class Units:
    """What instances belong to: whole units are in one half.

    Args:
        of_row: The number of each instance's group, or its own, shape (n,).
        order: All units in an order that their names and a seed alone decide, shape (units,).
        rows: All instances in such an order, shape (n,).
        fitted: For each split and each of its halves, the instances of it, shape (n,).
    """

    of_row: IntArray
    order: IntArray
    rows: IntArray
    fitted: Sequence[BoolArray]

    @classmethod
    def of(cls, ids: Sequence[str], groups: Sequence[str | None] | None, seeds: range) -> Units:
        """Deal units to halves.

        Args:
            groups: Their groups, None for an instance without one, which is its own; None where
                no instance has one.
        """
        given = groups or [None] * len(ids)
        named = [
            one if group is None else f"\0{group}" for one, group in zip(ids, given, strict=True)
        ]
        number = {name: place for place, name in enumerate(dict.fromkeys(named))}
        of_row = np.array([number[name] for name in named], np.int64)
        names = list(number)
        fitted = []
        for seed in seeds:
            half = np.argsort(np.argsort(unit_keys(names, seed))) % 2 == 0
            fitted += [half[of_row], ~half[of_row]]
        order = np.argsort(unit_keys(names, seeds[0]), kind="stable")
        return cls(of_row, order, np.argsort(unit_keys(ids, seeds[0]), kind="stable"), fitted)

    def __len__(self) -> int:
        return len(self.order)

    def count(self, rows: BoolArray) -> int:
        """Different units among some instances."""
        return len(np.unique(self.of_row[rows]))

    def drawn(self, size: int, among: BoolArray, rng: np.random.Generator) -> BoolArray:
        """The instances, among some, of so many random units that have one there."""
        there = np.zeros(len(self), np.bool_)
        there[self.of_row[among]] = True
        chosen = np.zeros(len(self), np.bool_)
        chosen[rng.choice(self.order[there[self.order]], size, replace=False)] = True
        return np.asarray(chosen[self.of_row] & among)


@dataclass(frozen=True, eq=False)
class Half:
    """A half of the instances with the shrunk covariance of their features.

    Args:
        covariance: As it is, shape (features, features).
        mean: Mean features, shape (features,).
        toward: How far it is drawn toward a sphere: features / (features + rows).
        factor: Of what comes of it, for `scipy.linalg.cho_solve`.
    """

    fitted: IntArray
    judged: IntArray
    covariance: FloatArray
    mean: FloatArray
    toward: float
    factor: Any

    @classmethod
    def of(cls, z: FloatArray, fitted: BoolArray, left: FloatArray | None = None) -> Half:
        """Fit the covariance of a half.

        Args:
            z: Representations, shape (n, features).
            left: In place of z where the covariance is of something else, shape (n, features).
        """
        rows = np.flatnonzero(fitted)
        of_half = (z if left is None else left)[rows]
        mean = of_half.mean(axis=0)
        centred = of_half - mean
        covariance = centred.T @ centred / max(len(rows), 1)
        return cls(rows, np.flatnonzero(~fitted), covariance, mean, *shrunk(covariance, len(rows)))

    def solve(self, directions: FloatArray) -> FloatArray:
        """Apply the inverse of the covariance, shape (directions, features)."""
        return np.asarray(cho_solve(self.factor, directions.T).T)

    def apart(self, z: FloatArray, inside: IntArray | BoolArray) -> FloatArray:
        """Mean of inside ones less mean of all others on the half, shape (columns, features).

        Args:
            z: Representations, shape (n, features).
            inside: 1 or 0, shape (n, columns).

        Returns:
            NaN for a column without instances on both sides.
        """
        rows, own = z[self.fitted], inside[self.fitted].astype(np.float64)
        sums, count = own.T @ rows, own.sum(axis=0)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(sums / count - (rows.sum(axis=0) - sums) / (len(rows) - count))


def shrunk(covariance: FloatArray, rows: int) -> tuple[float, Any]:
    """How far a covariance is drawn toward a sphere, and the Cholesky factor of what comes of it.

    Args:
        covariance: Shape (features, features); its mean variance is that of the sphere.
    """
    features = len(covariance)
    toward = features / (features + rows)
    mean = float(np.trace(covariance)) / features or 1.0
    return toward, cho_factor((1 - toward) * covariance + toward * mean * np.eye(features))


REACH = 1.96
"""Half of a 95 % interval in standard errors."""
OUT = -1
"""In place of 0 and 1 where an instance is of neither side."""


def placements(score: FloatArray, inside: BoolArray) -> FloatArray:
    """Of inside ones the share of others with a lower score, of others that of inside ones above.

    Args:
        score: Shape (n,); equal scores count as half.
        inside: Shape (n,), at least one true and one false.
    """
    order = np.argsort(score)
    ordered, own = score[order], inside[order]
    below = np.cumsum(own)
    n = int(below[-1])
    lower = (np.arange(1, len(score) + 1) - below).astype(np.float64)
    above = (n - below).astype(np.float64)
    if (ordered[1:] == ordered[:-1]).any():
        first = np.searchsorted(ordered, ordered, "left")
        last = np.searchsorted(ordered, ordered, "right") - 1
        lower = (np.where(first > 0, lower[first - 1], 0) + lower[last]) / 2
        above = n - (np.where(first > 0, below[first - 1], 0) + below[last]) / 2
    placed = np.empty(len(score))
    placed[order] = np.where(own, lower / (len(score) - n), above / n)
    return placed


def place(
    judged: Sequence[IntArray], scores: Callable[[int], FloatArray], side: IntArray
) -> FloatArray:
    """Mean placements over halves, shape (n, columns); NaN where no half judged an instance.

    Args:
        judged: The instances that each half judges.
        scores: Their scores by a half, given by its place, shape (judged, columns); NaN in a
            column that could not be fitted.
        side: 1 inside, 0 elsewhere, `OUT` for neither, shape (n, columns).
    """
    sums, times = np.zeros(side.shape, order="F"), np.zeros(side.shape, order="F")
    side = np.asfortranarray(side)
    for half, rows in enumerate(judged):
        of_half = np.asfortranarray(scores(half))
        for column in range(side.shape[1]):
            own = side[rows, column]
            there = own != OUT
            inside = own[there] == 1
            if inside.all() or not inside.any() or np.isnan(of_half[0, column]):
                continue  # nothing is judged, or nothing was fitted: this half does not count
            sums[rows[there], column] += placements(of_half[there, column], inside)
            times[rows[there], column] += 1
    return np.asarray(np.divide(sums, times, out=np.full(side.shape, np.nan), where=times > 0))


@dataclass(frozen=True)
class Area:
    """An area under the curve: the share of pairs of an inside and another instance in order."""

    value: float
    low: float
    high: float


def area(placed: FloatArray, side: IntArray, unit: IntArray) -> Area | None:
    """The area that placements make; None without two units on each side.

    Residuals are summed in a unit before they are squared. The variance of a side is at least that
    of one misplaced instance among its own, and of the inside ones at least the binomial's over
    their number.

    Args:
        placed: Shape (n,), NaN where an instance was not judged.
        side: 1 inside, 0 elsewhere, `OUT` for neither, shape (n,).
        unit: The number of each instance's group, or its own.
    """
    sides = [np.flatnonzero((side == one) & ~np.isnan(placed)) for one in (1, 0)]
    units = [np.count_nonzero(np.bincount(unit[rows])) for rows in sides]
    if min(units) < 2:
        return None
    value = float(placed[sides[0]].mean())
    pulls = np.zeros((2, int(unit.max()) + 1))
    for pull, rows, n in zip(pulls, sides, units, strict=True):
        left = (placed[rows] - placed[rows].mean()) / len(rows)
        pull[:] = np.bincount(unit[rows], left, len(pull)) * np.sqrt(n / (n - 1))
    least = [(n + 2.0) ** -2 for n in units]
    least[0] = max(least[0], value * (1 - value) / (units[0] + 2))
    floors = [one / n for one, n in zip(least, units, strict=True)]
    own = [max(float(pull @ pull), floor) for pull, floor in zip(pulls, floors, strict=True)]
    error = float(np.sqrt(max(sum(own) + 2 * float(pulls[0] @ pulls[1]), sum(floors))))
    low, high = max(value - REACH * error, 0.0), min(value + REACH * error, 1.0)
    return Area(value, low, high)
