"""Shares that are below those of all others, where shares differ from each other anyway."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaln, gammaln, ndtri, stdtr

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import correlation_by_variance

LEAST_OTHERS = 3
"""Least number of others that a share is compared with."""
_SET_ASIDE = 0.001
"""False discovery rate at which shares are set aside before the others are described."""


@dataclass(frozen=True, eq=False)
class LowRates:
    """Shares against the distribution of all others, each array of shape (n,).

    Args:
        others: The common share of the others that were not set aside.
        spread: The correlation of two of their trials within one of them, 0 if they differ no more
            than by chance.
        p_value: Chance of a share as low, or lower; NaN where fewer than `LEAST_OTHERS` are left.
    """

    others: FloatArray
    spread: FloatArray
    p_value: FloatArray


def low_rates(k: IntArray, n: IntArray) -> LowRates:
    """Test each share k / n against a beta-binomial distribution of the others.

    The distribution is fitted without the share itself, by the analysis of variance estimator of
    the correlation of trials within a share. The p value is its exact lower tail, widened because
    few others leave their mean and spread uncertain (`_estimated`). So that several low shares do
    not hide each other, those that are low against the upper half of all, mirrored at the median,
    are set aside first, at a false discovery rate of 0.1 %.

    Args:
        k: Trials that count, shape (n,).
        n: Trials, positive, shape (n,).
    """
    aside = _set_aside(k, n)
    kept = ~aside
    others = np.full(len(k), kept.sum()) - kept
    terms = np.column_stack([k, n, n**2, k**2 / n]).astype(np.float64)
    sums = terms[kept].sum(axis=0) - terms * kept[:, None]
    mean, spread = _mean_and_spread(sums, others)
    p_value = np.full(len(k), np.nan)
    for place in np.flatnonzero(others >= LEAST_OTHERS):
        known = _lower_tail(int(k[place]), int(n[place]), float(mean[place]), float(spread[place]))
        p_value[place] = _estimated(known, int(others[place]))
    return LowRates(mean, spread, p_value)


def _set_aside(k: IntArray, n: IntArray) -> BoolArray:
    """Shares that are too low against the upper half, mirrored at the median."""
    if not len(k):
        return np.zeros(0, np.bool_)
    share = k / n
    middle = float(np.median(share))
    upper = share >= middle
    by_chance = middle * (1 - middle)
    squares = (share[upper] - middle) ** 2 - by_chance / n[upper]
    spread = min(max(float(squares.mean()) / by_chance, 0.0), 0.99) if by_chance > 0 else 0.0
    p_value = np.array(
        [
            _lower_tail(one, of, middle, spread)
            for one, of in zip(k.tolist(), n.tolist(), strict=True)
        ]
    )
    return benjamini_hochberg(p_value, len(p_value)) <= _SET_ASIDE


def _mean_and_spread(sums: FloatArray, groups: IntArray) -> tuple[FloatArray, FloatArray]:
    """Common share, and intraclass correlation within 0 and 0.99, of sums of k, n, n^2, k^2 / n."""
    k, n, squared, scaled = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = k / n
        between = (scaled - k**2 / n) / (groups - 1)
        within = (k - scaled) / (n - groups)
        spread = correlation_by_variance(between, within, n, squared, groups)
    return mean, np.clip(np.nan_to_num(spread), 0.0, 0.99)


def _estimated(p_value: float, groups: int) -> float:
    """A p value of a distribution whose mean and spread were estimated from so many groups.

    The normal quantile of the p value is read as one of Student's distribution, as the prediction
    of one more value from a normal sample is: z / sqrt(1 + 1 / groups) with groups - 1 degrees of
    freedom.
    """
    return float(stdtr(groups - 1, ndtri(p_value) / np.sqrt(1 + 1 / groups)))


def _lower_tail(k: int, n: int, mean: float, spread: float) -> float:
    """Chance of at most k of n, binomial if there is no spread, else beta-binomial."""
    if k >= n or mean <= 0:
        return 1.0
    if mean >= 1:
        return 0.0
    if spread < 1e-9:
        return float(betainc(n - k, k + 1, 1 - mean))
    size = (1 - spread) / spread
    a, b = mean * size, (1 - mean) * size
    at = np.arange(k + 1)
    choices = gammaln(n + 1) - gammaln(at + 1) - gammaln(n - at + 1)
    logs = choices + betaln(at + a, n - at + b) - betaln(a, b)
    return float(min(np.exp(logs).sum(), 1.0))
