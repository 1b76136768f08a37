"""The loss of a mean since an earlier release, of which only the counts of its values are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from audit.base.dag import FloatArray, IntArray
from audit.engine.statistics.intervals import LEVEL

LEAST_UNITS = 10
"""Least number of units in each release for their means to be compared."""


@dataclass(frozen=True, slots=True)
class MeanLoss:
    """A mean, what it was, and the loss with its interval.

    Args:
        mean: Mean of the values of this release.
        before: Mean of those of the earlier release.
        low: Lower end of the 95 % interval of the loss.
        high: Upper end.
        p_value: Two-sided p value of no loss.
    """

    mean: float
    before: float
    low: float
    high: float
    p_value: float

    @property
    def lost(self) -> float:
        """How much lower the mean is than it was; negative where it is higher."""
        return self.before - self.mean


def mean_loss(
    sums: FloatArray, sizes: FloatArray, here: IntArray, there: IntArray, units_there: int
) -> MeanLoss | None:
    """Compare the mean of values that come in units with that of an earlier release.

    The variance of the mean is that of a ratio of sums over units. The earlier release is taken to
    have the same design effect, at least 1, since it says only how often it has each value; where
    all values here are equal, that of units whose values are all equal. The difference is compared
    with Student's distribution, with one degree of freedom less than the fewer units of both.

    Args:
        sums: Sum of the values of each unit, shape (n_units,).
        sizes: Number of the values of each unit, positive, shape (n_units,).
        here: How often each value 0, 1, 2 and so on occurs.
        there: The same of the earlier release; it may have other lengths.
        units_there: Number of units of the earlier release.

    Returns:
        None where either release has fewer than `LEAST_UNITS` units, or no value.
    """
    units = min(len(sizes), units_there)
    if units < LEAST_UNITS or not there.sum():
        return None
    (mean, alone), (before, alone_there) = map(_mean_and_variance, (here, there))
    n, grouped = float(sizes.sum()), len(sizes) / (len(sizes) - 1)
    between = grouped * float(((sums - mean * sizes) ** 2).sum()) / n**2
    effect = max(between / alone, 1.0) if alone else float((sizes**2).sum()) / n
    error = math.sqrt(effect * (alone + alone_there))
    reach = float(stdtrit(units - 1, (1 + LEVEL) / 2)) * error
    lost = before - mean
    t = abs(lost) / error if error else math.copysign(math.inf, abs(lost)) if lost else 0.0
    p_value = 2 * float(stdtr(units - 1, -t))
    return MeanLoss(mean, before, lost - reach, lost + reach, p_value)


def _mean_and_variance(counts: IntArray) -> tuple[float, float]:
    """The mean of values, and its variance if they were drawn one by one."""
    values, n = np.arange(len(counts)), int(counts.sum())
    mean = float(counts @ values) / n
    return mean, float(counts @ (values - mean) ** 2) / n**2
