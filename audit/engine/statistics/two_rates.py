"""Comparison of two shares, or of two means: odds ratio, loss, p values of their difference."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betainc, gammaln, stdtr, stdtrit

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.engine.pairs.rows import counts_at, row_numbers
from audit.engine.statistics.intervals import LEVEL, difference_interval, wilson

Size: TypeAlias = int | IntArray
"""Size of a sample: one for all counts, or one for each, shape (n,)."""
Number: TypeAlias = IntArray | FloatArray
"""Numbers that count, shape (n,); effective ones need not be whole."""
LEAST_UNITS = 11
"""Least number of units in each release for their means to be compared."""
_NEGLIGIBLE = 1e-12
"""Share of a sum, or variance, below which a further term, or the variance, counts as nothing."""


@dataclass(frozen=True, eq=False)
class GroupSums:
    """How much of each group of a sample counts, summed over its groups.

    Args:
        sums: Sum of the shares of a group's instances that count, shape (n,).
        squares: Sum of the squares of these shares, shape (n,), or the sums as their upper bounds.
        groups: Number of groups, one for all or shape (n,).
        instances: Number of instances, likewise.
    """

    sums: FloatArray
    squares: FloatArray
    groups: Size
    instances: Size

    def __getitem__(self, places: IntArray) -> GroupSums:
        return replace(self, sums=self.sums[places], squares=self.squares[places])


def effective_counts(
    old: GroupSums, new: GroupSums
) -> tuple[tuple[FloatArray, IntArray], tuple[FloatArray, IntArray]]:
    """Counts of independent instances whose shares vary as the mean shares of groups do.

    With q the mean of a group's share in both samples and s its variance over all groups, a sample
    of G groups counts as ``G q (1 - q) / s`` instances, at least one and at most those it has; as
    its groups where all of them are equal. Of each sample: how many count, not necessarily whole,
    and of how many, shape (n,) each.
    """
    groups = np.maximum(old.groups + new.groups, 1)
    sums, squares = old.sums + new.sums, old.squares + new.squares
    q = sums / groups
    variance = np.maximum((squares - 2 * q * sums) / groups + q**2, 0.0)
    differ = variance > _NEGLIGIBLE
    worth = q * (1 - q) / np.where(differ, variance, np.inf)

    def counted(one: GroupSums) -> tuple[FloatArray, IntArray]:
        size = np.minimum(np.rint(one.groups * worth), one.instances)
        n = np.maximum(np.where(differ, size, one.groups), 1).astype(np.int64)
        return one.sums / np.maximum(one.groups, 1) * n, n

    return counted(old), counted(new)


@dataclass(frozen=True, eq=False)
class TwoSides:
    """Shares of instances on two sides, compared.

    Args:
        k: Instances that count, here and elsewhere, shape (2, n).
        n: Instances that they are counted among, same shape.
        effective: Independent instances that these are worth, same shape.
        groups: Groups of the instances, same shape.
        expected: Least effective number that the common share lets expect of a side, counted or
            not, shape (n,).
        p_value: Of equal mean shares of the groups, two-sided; 1 where these differ in the other
            direction than the shares of instances; shape (n,).
    """

    k: IntArray
    n: IntArray
    effective: IntArray
    groups: IntArray
    expected: FloatArray
    p_value: FloatArray

    def __getitem__(self, places: IntArray | BoolArray) -> TwoSides:
        return TwoSides(*(getattr(self, one.name)[..., places] for one in fields(self)))

    @property
    def shares(self) -> FloatArray:
        """Shares here and elsewhere, shape (2, n); 0 of no instances."""
        return np.asarray(self.k / np.maximum(self.n, 1))

    @property
    def difference(self) -> FloatArray:
        """Share here less that elsewhere, shape (n,)."""
        here, there = self.shares
        return np.asarray(here - there)

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Newcombe's 95 % interval of the difference, at the effective numbers, shape (n,) each."""
        sides = zip(self.shares, self.effective, strict=True)
        here, there = ((share, *wilson(share * size, size)) for share, size in sides)
        return difference_interval(here, there)


def two_sides(
    counted: Sparse, among: Sparse, of: IntArray, group: IntArray | None, here: BoolArray
) -> TwoSides:
    """Shares of the instances on one side and of all others, with p values of their difference.

    A group on both sides counts on both.

    Args:
        counted: Whether each instance counts, shape (n_instances, n).
        among: Whether it is counted among the others, 1 where it counts, shape (n_instances, m).
        of: Column of ``among`` for each column of ``counted``, shape (n,).
        group: Group of each instance, shape (n_instances,); None where each is its own.
        here: Whether each instance is on the first side, shape (n_instances,).
    """
    of_each = np.arange(len(here)) if group is None else group
    sides = [_side(counted[side], among[side], of, of_each[side]) for side in (here, ~here)]
    times, instances, groups = (
        np.stack(one)
        for one in zip(*((k, one.instances, one.groups) for k, one in sides), strict=True)
    )
    (k, n), (k_there, n_there) = effective_counts(*(one for _, one in sides))
    own, other = (np.rint(one).astype(np.int64) for one in (k, k_there))
    freedom = None if group is None else groups.min(axis=0) - 1
    p_value = difference_p_value(other, n_there, own, n, freedom)
    found = TwoSides(
        k=times,
        n=instances,
        effective=np.stack([n, n_there]),
        groups=groups,
        expected=np.minimum(
            least_expected(own, n, other, n_there),
            least_expected(n - own, n, n_there - other, n_there),
        ),
        p_value=p_value,
    )
    alike = (k / np.maximum(n, 1) - k_there / np.maximum(n_there, 1)) * found.difference >= 0
    return replace(found, p_value=np.where(alike, p_value, 1.0))


def _side(
    counted: Sparse, among: Sparse, column_of: IntArray, group: IntArray
) -> tuple[IntArray, GroupSums]:
    """Number of instances that count, by column, and sums over groups of each group's share."""
    _, number = np.unique(group, return_inverse=True)
    each = np.ones(len(group), np.int64), (number, np.arange(len(group)))
    by_group = csr_array(each, shape=(number.max(initial=-1) + 1, len(group)))
    k, n = csr_array(by_group @ counted), csr_array(by_group @ among)
    shares = k.data / counts_at(n, row_numbers(k), column_of[k.indices])
    sums, squares, times = (
        np.bincount(k.indices, one, len(column_of)).astype(np.float64)
        for one in (shares, shares**2, k.data)
    )
    groups = np.bincount(n.indices, minlength=n.shape[1]).astype(np.int64)
    instances = np.asarray(n.sum(axis=0), np.int64)
    return times.astype(np.int64), GroupSums(sums, squares, groups[column_of], instances[column_of])


def means_apart(
    number: FloatArray, group: IntArray, here: BoolArray
) -> tuple[float, float, float, int]:
    """Compare means of numbers that come in groups between two sides, each group counting once.

    Args:
        number: Shape (n,).
        group: Group of each number, shape (n,).
        here: Whether it is on the first side, shape (n,); both sides have some.

    Returns:
        How much larger the mean here is, its standard error if the sides were alike, the two-sided
        p value by Student's distribution, and its degrees of freedom: the fewer groups less one.
    """
    sides = list[FloatArray]()
    for side in (here, ~here):
        _, place, size = np.unique(group[side], return_inverse=True, return_counts=True)
        sides.append(np.bincount(place, number[side]) / size)
    apart, freedom = float(sides[0].mean() - sides[1].mean()), min(map(len, sides)) - 1
    spread = float(np.concatenate(sides).var())
    error = math.sqrt(spread * sum(1 / len(one) for one in sides))
    return apart, error, _p_of_distance(apart, error, freedom), freedom


def _p_of_distance(distance: float, error: float, freedom: int) -> float:
    """Two-sided p value by Student's distribution; without an error 1 at distance 0, else 0."""
    if not error:
        return float(not distance)
    return 2 * float(stdtr(freedom, -abs(distance) / error))


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


def difference_p_value(
    k_old: IntArray, n_old: Size, k_new: IntArray, n_new: Size, freedom: Size | None = None
) -> FloatArray:
    """Two-sided p value of equal shares, shape (n,).

    That of Fisher's exact test: given the total, the count of one sample is hypergeometric; its
    tail on the side of the excess is doubled. At effective numbers, which are estimated from
    groups, p is at least that of the score test with a continuity correction of half a case,
    against Student's distribution.

    Args:
        freedom: The smaller number of groups, less one; None without groups.
    """
    more_in_new = k_new * n_old >= k_old * n_new
    tail = _hypergeometric_tail(
        np.where(more_in_new, k_new, k_old),
        k_old + k_new,
        np.where(more_in_new, n_new, n_old),
        n_old + n_new,
    )
    exact: FloatArray = np.minimum(2 * tail, 1.0)
    if freedom is None:
        return exact
    pooled, scale = (k_old + k_new) / (n_old + n_new), 1 / n_old + 1 / n_new
    distance = np.maximum(np.abs(k_new / n_new - k_old / n_old) - scale / 2, 0.0)
    error = np.sqrt(np.maximum(pooled * (1 - pooled) * scale, np.finfo(float).tiny))
    return np.asarray(np.maximum(exact, 2 * stdtr(freedom, -distance / error)))


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
    tail = betainc(observed, total - observed + 1, np.where(excess, share, 1 - share))
    return np.where(observed > 0, np.minimum(2 * tail, 1.0), 1.0)


def _hypergeometric_tail(
    observed: IntArray, total: IntArray, drawn: IntArray, n: Size
) -> FloatArray:
    """Chance of at least as many marked ones, at least those expected, among those drawn, (n,).

    The first term, times the sum of the ratios of those that follow, until they no longer count;
    scipy's takes two hundred times as long.
    """
    first = _log_choose(total, observed) + _log_choose(n - total, drawn - observed)
    first -= _log_choose(np.full_like(drawn, n), drawn)
    sums, active = np.ones(len(observed)), np.arange(len(observed))
    term, x = np.ones(len(observed)), observed.astype(np.float64)
    marked, taken = total.astype(np.float64), drawn.astype(np.float64)
    size = np.broadcast_to(np.asarray(n, np.float64), observed.shape)
    while len(active):
        term = term * (marked - x) * (taken - x) / ((x + 1) * (size - marked - taken + x + 1))
        sums[active] += term
        on = term > _NEGLIGIBLE * sums[active]
        active, term, x = active[on], term[on], x[on] + 1
        marked, taken, size = marked[on], taken[on], size[on]
    return np.asarray(np.exp(first) * sums)


def _log_choose(n: IntArray, k: IntArray) -> FloatArray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


@dataclass(frozen=True, slots=True)
class MeanLoss:
    """A mean, the one ``before`` it, the 95 % interval of the loss, and the p value of none."""

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
    p_value = _p_of_distance(lost, error, units - 1)
    return MeanLoss(mean, before, lost - reach, lost + reach, p_value)


def _mean_and_variance(counts: IntArray) -> tuple[float, float]:
    """The mean of values 0, 1 and so on that occur so often, and the variance of that mean."""
    values, n = np.arange(len(counts)), int(counts.sum())
    mean = float(counts @ values) / n
    return mean, float(counts @ (values - mean) ** 2) / n**2
