"""Intervals of shares."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, ndtri, stdtr, stdtrit

FloatArray: TypeAlias = NDArray[np.float64]

LEVEL = 0.95
"""Coverage of the intervals in reports."""


def wilson(k: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """Wilson score interval of a share k / n; n may be an effective number.

    Returns:
        Lower and upper bound in [0, 1], the share between them; (0, 1) where n is 0.
    """
    if n <= 0:
        return 0.0, 1.0
    z = float(ndtri((1 + level) / 2))
    share = k / n
    centre = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low, high = (centre - spread) / scale, (centre + spread) / scale
    return max(min(low, share), 0.0), min(max(high, share), 1.0)


def newcombe(
    share: float, n: float, elsewhere: float, n_elsewhere: float, level: float = LEVEL
) -> tuple[float, float]:
    """Newcombe's hybrid score interval of ``share - elsewhere``; n may be effective numbers.

    Returns:
        Lower and upper bound, the difference between them.
    """
    low, high = wilson(share * n, n, level)
    low_there, high_there = wilson(elsewhere * n_elsewhere, n_elsewhere, level)
    difference = share - elsewhere
    return (
        difference - math.hypot(share - low, high_there - elsewhere),
        difference + math.hypot(high - share, elsewhere - low_there),
    )


def effective_n(k: FloatArray, n: FloatArray) -> float:
    """Instances that a grouped share is worth: n over its design effect, never above n.

    The design effect is the larger of two. One is the variance of a ratio estimator over groups,
    over the binomial variance; a few large groups draw the share to their own and hide from it.
    The other is Kish's for the share's intraclass correlation (analysis of variance):
    ``1 + (m - 1) * correlation``, with ``m = sum of n_g^2 / n``.

    Args:
        k: Instances that count, per group, shape (n_groups,).
        n: Instances per group, shape (n_groups,), positive.

    Returns:
        Between 1 and ``n.sum()``; 0 without instances. Where all or none of them count, or with
        one group, nothing varies: what groups constant in themselves are worth, their number
        where they are of one size.
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
    """How alike instances of one group are: the estimator from the analysis of variance.

    Args:
        k: Instances that count, per group, shape (n_groups,); neither none of all nor all.
        n: Instances per group, shape (n_groups,), positive; two groups or more.

    Returns:
        1 where every group is constant in itself, below 0 where groups are more alike than chance;
        0 where every group is one instance, which tells nothing of it.
    """
    total, groups = float(n.sum()), len(n)
    if total == groups:
        return 0.0
    typical = (total - float((n**2).sum()) / total) / (groups - 1)
    between = float(((k - n * k.sum() / total) ** 2 / n).sum()) / (groups - 1)
    within = float((k * (n - k) / n).sum()) / (total - groups)
    return (between - within) / (between + (typical - 1) * within)


def at_freedom(effective: float, n: float, groups: float, level: float = LEVEL) -> float:
    """The effective number of instances at the degrees of freedom that groups leave.

    Korn and Graubard's adjustment: the effective number times the square of Student's quantile at
    n - 1 degrees of freedom over that at groups - 1.

    Args:
        effective: What the instances are worth with many groups.
        n: Instances.
        groups: How many groups they are of; n where each stands alone.
        level: Coverage of the interval that it is for.

    Returns:
        ``effective`` where there are as many groups as instances, less with fewer; 0 for one group.
    """
    if groups >= n:
        return effective
    if groups < 2:
        return 0.0
    tail = (1 + level) / 2
    return effective * float((stdtrit(n - 1, tail) / stdtrit(groups - 1, tail)) ** 2)


def p_above(share: float, effective: float, n: float, groups: float, limit: float) -> float:
    """p value of a share under the hypothesis that the true one is at a limit, or below it.

    The exact upper tail of the binomial distribution at the effective number of instances. Where
    groups repeat themselves that number is uncertain, and p is at least that of the score test with
    the continuity correction, against Student's distribution with groups - 1 degrees of freedom.

    Args:
        share: Instances that count over all.
        effective: What the instances are worth.
        n: Instances.
        groups: How many groups they are of; n where each stands alone.
        limit: Between 0 and 1.

    Returns:
        In [0, 1]; 1 where none counts, where the limit is 1, and with one group of several
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
