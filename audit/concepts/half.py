"""Halves of the instances: linear discriminants that are fitted on one and judge the other."""

from __future__ import annotations

from collections.abc import Sequence
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
            ids: Ids of the instances.
            groups: Their groups, None for an instance without one, which is its own; None where
                no instance has one.
            seeds: Seeds of splits.
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
        fitted: The instances of this half, ascending.
        judged: Those of the other.
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
            fitted: The half, shape (n,).
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


def shrunk(covariance: FloatArray, rows: int, size: float | None = None) -> tuple[float, Any]:
    """How far a covariance is drawn toward a sphere, and the Cholesky factor of what comes of it.

    Args:
        covariance: Shape (features, features).
        rows: The number of instances that it is of.
        size: Mean variance of the sphere; that of the covariance if None.
    """
    features = len(covariance)
    toward = features / (features + rows)
    mean = (float(np.trace(covariance)) / features or 1.0) if size is None else size
    return toward, cho_factor((1 - toward) * covariance + toward * mean * np.eye(features))
