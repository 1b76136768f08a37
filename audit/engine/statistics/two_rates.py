"""Comparison of two shares: odds ratio and p values of their difference."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from scipy.special import betainc, gammaln

from audit.base.dag import FloatArray, IntArray

Size: TypeAlias = int | IntArray
"""Size of a sample: one for all counts, or one for each, shape (n,)."""

_NEGLIGIBLE = 1e-12
"""Share of a sum below which a further term is left out."""


def odds_ratio(k_old: IntArray, n_old: Size, k_new: IntArray, n_new: Size) -> FloatArray:
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


def share_p_value(k_new: IntArray, k_old: IntArray, share: FloatArray) -> FloatArray:
    """Two-sided p value of the split of ``k_old + k_new`` under a binomial distribution, (n,).

    Args:
        k_new: Number of instances in the new sample, shape (n,).
        k_old: Number of instances in the old sample, shape (n,).
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
        total: Marked ones.
        drawn: How many are drawn.
        n: Of how many.
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
