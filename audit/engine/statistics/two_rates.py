"""Comparison of two shares, or of two means: odds ratio, loss, p values of their difference."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.special import betainc, gammaln, stdtr, stdtrit

from audit.base.dag import FloatArray, IntArray
from audit.engine.statistics.intervals import LEVEL

Size: TypeAlias = int | IntArray
"""Size of a sample: one for all counts, or one for each, shape (n,)."""

Number: TypeAlias = IntArray | FloatArray
"""Numbers that count, shape (n,); effective ones need not be whole."""

_NEGLIGIBLE = 1e-12
"""Share of a sum below which a further term is left out."""


@dataclass(frozen=True, eq=False)
class GroupSums:
    """How much of each group of a sample counts, summed over its groups.

    Args:
        sums: Sum of the shares of a group's instances that count, shape (n,).
        squares: Sum of the squares of these shares, shape (n,), or the sums as their upper bounds.
        groups: Number of groups.
        instances: Number of instances.
    """

    sums: FloatArray
    squares: FloatArray
    groups: int
    instances: int

    def __getitem__(self, places: IntArray) -> GroupSums:
        return replace(self, sums=self.sums[places], squares=self.squares[places])


_ALL_EQUAL = 1e-12
"""Variance over groups below which all of them are taken as equal."""


def effective_counts(
    old: GroupSums, new: GroupSums
) -> tuple[tuple[FloatArray, IntArray], tuple[FloatArray, IntArray]]:
    """Counts of independent instances whose shares vary as the mean shares of groups do.

    With q the mean of a group's share in both samples and s its variance over all groups, a sample
    of G groups counts as ``G q (1 - q) / s`` instances, at least one and at most those it has; as
    its groups where all of them are equal.

    Returns:
        How many count in each sample, not necessarily whole, and of how many, shape (n,) each.
    """
    groups = old.groups + new.groups
    sums, squares = old.sums + new.sums, old.squares + new.squares
    q = sums / groups
    variance = np.maximum((squares - 2 * q * sums) / groups + q**2, 0.0)
    differ = variance > _ALL_EQUAL
    worth = q * (1 - q) / np.where(differ, variance, np.inf)

    def counted(one: GroupSums) -> tuple[FloatArray, IntArray]:
        size = np.clip(np.rint(one.groups * worth), 1, one.instances)
        n = np.where(differ, size, one.groups).astype(np.int64)
        return one.sums / one.groups * n, n

    return counted(old), counted(new)


def odds_ratio(k_old: Number, n_old: Size, k_new: Number, n_new: Size) -> FloatArray:
    """Odds ratio of the new share to the old one, shape (n,).

    Infinite if only the old share is 0 or only the new one is 1; 1 if both are equal.
    """
    gained = (k_new * (n_old - k_old)).astype(np.float64)
    lost = (k_old * (n_new - k_new)).astype(np.float64)
    ratio = np.divide(gained, lost, out=np.full(len(gained), np.inf), where=lost > 0)
    return np.where(gained == lost, 1.0, ratio)


def least_expected(k_old: IntArray, n_old: Size, k_new: IntArray, n_new: Size) -> FloatArray:
    """Expected instances in the smaller sample if the pooled share held in both, shape (n,).

    It depends only on the margins, so that a family chosen by it is fixed before testing.
    """
    expected = (k_old + k_new) * (np.minimum(n_old, n_new) / (n_old + n_new))
    return np.asarray(expected, np.float64)


def difference_p_value(k_old: IntArray, n_old: Size, k_new: IntArray, n_new: Size) -> FloatArray:
    """Two-sided p value of Fisher's exact test for equal shares, shape (n,).

    Given the total, the count of one sample is hypergeometric; its tail on the side of the excess
    is doubled. Time grows with the standard deviations of these counts.
    """
    more_in_new = k_new * n_old >= k_old * n_new
    tail = _hypergeometric_tail(
        np.where(more_in_new, k_new, k_old),
        k_old + k_new,
        np.where(more_in_new, n_new, n_old),
        n_old + n_new,
    )
    p_value: FloatArray = np.minimum(2 * tail, 1.0)
    return p_value


def share_p_value(k_new: Number, k_old: Number, share: FloatArray) -> FloatArray:
    """Two-sided p value of the split of ``k_old + k_new`` under a binomial distribution, (n,).

    Args:
        k_new: Number of instances in the new sample, not necessarily whole, shape (n,).
        k_old: Number of instances in the old sample, likewise.
        share: Probability that an instance falls to the new sample, in (0, 1), shape (n,).
    """
    total = (k_old + k_new).astype(np.float64)
    excess = k_new >= total * share
    observed = np.where(excess, k_new, k_old).astype(np.float64)
    chance = np.where(excess, share, 1 - share)
    p_value = np.ones(len(total))
    some = observed > 0
    tail = betainc(observed[some], total[some] - observed[some] + 1, chance[some])
    p_value[some] = np.minimum(2 * tail, 1.0)
    return p_value


def _hypergeometric_tail(
    observed: IntArray, total: IntArray, drawn: IntArray, n: Size
) -> FloatArray:
    """Chance of at least as many marked ones among those drawn, shape (n,).

    The first term, times the sum of the ratios of those that follow, until they no longer count.

    Args:
        observed: Marked ones among those drawn, at least their expected number.
    """
    first = _log_choose(total, observed) + _log_choose(n - total, drawn - observed)
    first -= _log_choose(np.full_like(drawn, n), drawn)
    sums = np.ones(len(observed))
    term, active, x = np.ones(len(observed)), np.arange(len(observed)), observed.astype(np.float64)
    marked, taken = total.astype(np.float64), drawn.astype(np.float64)
    size = np.broadcast_to(np.asarray(n, np.float64), observed.shape)
    while len(active):
        term = term * (marked - x) * (taken - x) / ((x + 1) * (size - marked - taken + x + 1))
        sums[active] += term
        on = term > _NEGLIGIBLE * sums[active]
        active, term, x = active[on], term[on], x[on] + 1
        marked, taken, size = marked[on], taken[on], size[on]
    tail: FloatArray = np.exp(first) * sums
    return tail


def _log_choose(n: IntArray, k: IntArray) -> FloatArray:
    logarithm: FloatArray = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return logarithm


LEAST_UNITS = 11
"""Least number of units in each release for their means to be compared."""


@dataclass(frozen=True, slots=True)
class MeanLoss:
    """A mean, what it was, and the loss with its interval.

    Args:
        mean: Mean of the values of this release.
        before: Mean of those of the earlier release.
        low: Lower end of the 95 % interval of the loss.
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
