"""Confidence intervals and p values of shares, also of instances that come in groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, ndtri, stdtr, stdtrit

from audit.base.dag import BoolArray, FloatArray, IntArray

Numbers: TypeAlias = FloatArray | NDArray[np.int64]

LEVEL = 0.95
"""Confidence level of the intervals in reports."""


@overload
def wilson(k: float, n: float, level: float = LEVEL) -> tuple[float, float]: ...
@overload
def wilson(
    k: Numbers, n: float | Numbers, level: float = LEVEL
) -> tuple[FloatArray, FloatArray]: ...
def wilson(k: Any, n: Any, level: float = LEVEL) -> tuple[Any, Any]:
    """Wilson score interval of a share k / n; n may be an effective sample size.

    Args:
        k: Number of instances that count, not necessarily whole; or one for each of several shares,
            shape (n_shares,).

    Returns:
        Lower and upper bound in [0, 1], which include the share; (0, 1) where n is 0. Numbers for
        one share, else arrays of shape (n_shares,).
    """
    z = float(ndtri((1 + level) / 2))
    some = np.asarray(n) > 0
    size = np.where(some, n, 1.0)
    share = np.where(some, k, 0.0) / size
    centre = share + z * z / (2 * size)
    spread = z * np.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    scale = 1 + z * z / size
    low = np.where(some, np.clip((centre - spread) / scale, 0.0, share), 0.0)
    high = np.where(some, np.clip((centre + spread) / scale, share, 1.0), 1.0)
    return (low, high) if low.ndim else (float(low), float(high))


def left_by_bins(q: Any, n: Any, width: int, effective: Any) -> Any:
    """Effective n of a share q whose counts are only known in bins of ``width`` instances.

    For width 0 it is ``effective``, that of exact counts; n is the number of instances.
    """
    within = q * (1 - q)
    return within / (within / effective + width**2 / 12 * (1 + q * q) / n**2)


def wilson_at_limit(k: Any, n: Any, width: int, limit: Any, worth: Any = 1.0) -> tuple[Any, Any]:
    """`wilson` of k / n, with the n of `left_by_bins` at ``limit``; instances count ``worth``."""
    if not width:
        return wilson(k * worth, n * worth)
    left = left_by_bins(limit, n, width, np.maximum(n * worth, 1e-9))
    return wilson(k * (left / n), left)


def newcombe(share: float, n: float, elsewhere: float, n_elsewhere: float) -> tuple[float, float]:
    """Newcombe's 95 % interval of ``share - elsewhere``; n may be effective sample sizes.

    Returns:
        Lower and upper bound, which include the difference.
    """
    there = elsewhere, *wilson(elsewhere * n_elsewhere, n_elsewhere)
    return difference_interval((share, *wilson(share * n, n)), there, math.hypot)


def difference_interval(
    one: tuple[Any, Any, Any],
    other: tuple[Any, Any, Any],
    hypot: Callable[[Any, Any], Any] = np.hypot,
) -> tuple[Any, Any]:
    """Interval of ``one - other``, squared and added from the intervals of two independent values.

    Newcombe's hybrid score interval if these are Wilson's of two shares (method 10 of "Interval
    estimation for the difference between independent proportions"); of other values it is Zou's
    and Donner's (*Construction of confidence intervals about effect measures*).

    Args:
        one: A value with its lower and upper bound; or of several, of shape (n,) each.
        other: The value that is subtracted, with its bounds.
        hypot: How to add; that of Python and that of NumPy differ in the last bit.

    Returns:
        Lower and upper bound, which include the difference.
    """
    (value, low, high), (other_value, other_low, other_high) = one, other
    difference = value - other_value
    below = hypot(value - low, other_high - other_value)
    above = hypot(high - value, other_value - other_low)
    return difference - below, difference + above


def effective_n(k: FloatArray, n: FloatArray) -> float:
    """Effective sample size of a share of grouped instances: n over its design effect, at most n.

    The design effect is the larger of two. One is the variance of a ratio estimator over groups,
    divided by the binomial variance; it misses a few large groups that draw the share to their own.
    The other is Kish's for the share's intraclass correlation (analysis of variance):
    ``1 + (m - 1) * correlation``, with ``m = sum of n_g^2 / n``.

    Args:
        k: Number of instances that count, per group, shape (n_groups,).
        n: Number of instances per group, shape (n_groups,), positive.

    Returns:
        Between 1 and ``n.sum()``; 0 without instances. If all or none of the instances count, or
        there is one group, nothing varies; then the correlation is taken to be 1, which gives the
        number of groups if all are of one size.
    """
    total, groups = float(n.sum()), len(n)
    share = float(k.sum()) / total if total else 0.0
    binomial = share * (1 - share) / total if total else 0.0
    if groups < 2 or binomial == 0:
        return total**2 / float((n**2).sum()) if total else 0.0
    between = groups / (groups - 1) * float(((k - share * n) ** 2).sum()) / total**2
    alike = max(intraclass_correlation(k, n), 0.0)
    effect = max(between / binomial, 1 + (float((n**2).sum()) / total - 1) * alike, 1.0)
    return max(total / effect, 1.0)


def intraclass_correlation(k: FloatArray, n: FloatArray) -> float:
    """Intraclass correlation of grouped instances, by the analysis of variance estimator.

    Args:
        k: Number of instances that count, per group, shape (n_groups,); in total neither none nor
            all.
        n: Number of instances per group, shape (n_groups,), positive; at least two groups.

    Returns:
        1 if every group is constant in itself, below 0 if groups are more alike than by chance; 0
        if every group is a single instance, from which the correlation cannot be estimated.
    """
    total, groups = float(n.sum()), len(n)
    if total == groups:
        return 0.0
    between = float(((k - n * k.sum() / total) ** 2 / n).sum()) / (groups - 1)
    within = float((k * (n - k) / n).sum()) / (total - groups)
    typical = (total - float((n**2).sum()) / total) / (groups - 1)
    return (between - within) / (between + (typical - 1) * within)


def at_freedom(effective: float, n: float, groups: float, level: float = LEVEL) -> float:
    """Effective sample size, adjusted to the degrees of freedom that the number of groups leaves.

    Korn and Graubard's adjustment: the effective sample size times the squared ratio of Student's
    quantile at n - 1 degrees of freedom to that at groups - 1.

    Args:
        groups: Number of groups; n if instances are not grouped.

    Returns:
        ``effective`` if there are as many groups as instances, less with fewer; 0 for one group.
    """
    if groups >= n:
        return effective
    if groups < 2:
        return 0.0
    tail = (1 + level) / 2
    return effective * float((stdtrit(n - 1, tail) / stdtrit(groups - 1, tail)) ** 2)


def p_above(share: float, effective: float, n: float, groups: float, limit: float) -> float:
    """P value of a share under the hypothesis that the true share is at most a limit.

    The exact upper tail of the binomial distribution at the effective sample size. With grouped
    instances that size is uncertain, and p is at least that of the score test with continuity
    correction, against Student's distribution with groups - 1 degrees of freedom.

    Args:
        groups: Number of groups; n if instances are not grouped.
        limit: Largest share under the hypothesis, between 0 and 1.

    Returns:
        In [0, 1]; 1 if no instance counts, if the limit is 1, or if there is one group of several
        instances.
    """
    k = share * effective
    if k <= 0 or limit >= 1 or groups < min(n, 2):
        return 1.0
    exact = float(betainc(k, effective - k + 1, limit))
    if groups >= n or limit <= 0:
        return exact
    distance = share - limit - 1 / (2 * effective)
    return max(
        exact, float(stdtr(groups - 1, -distance / math.sqrt(limit * (1 - limit) / effective)))
    )


def grouped_wilson(k: FloatArray, n: FloatArray, level: float = LEVEL) -> tuple[float, float]:
    """Wilson interval of a share of grouped instances, at their effective sample size.

    Args:
        k: Number of instances that count, per group, shape (n_groups,).
        n: Number of instances per group, shape (n_groups,), positive.

    Returns:
        Lower and upper bound; (0, 1) without instances, or with one group of several.
    """
    total = float(n.sum())
    effective = at_freedom(effective_n(k, n), total, len(n), level)
    return wilson(float(k.sum()) / total * effective if total else 0.0, effective, level)


def wilson_of_marks(mark: BoolArray, group: IntArray) -> tuple[float, float]:
    """`grouped_wilson` of the share of marked instances, at 95 %.

    Args:
        mark: Whether an instance counts, shape (n,).
        group: Any number that tells the groups of instances apart, shape (n,).
    """
    _, place = np.unique(group, return_inverse=True)
    n = np.bincount(place).astype(np.float64)
    return grouped_wilson(np.bincount(place, weights=mark).astype(np.float64), n)
