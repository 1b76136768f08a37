"""Many shares at once, drawn toward each other."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from scipy.special import betainc, betaincinv, betaln, expit, gammaincinv

from audit.base.dag import BoolArray, FloatArray
from audit.engine.statistics.intervals import LEVEL

LEAST_SHARES = 10
"""Least number of shares to which a distribution is fitted."""

_WEIGHTS, _MEANS = 31, 9
"""Points of the grid: logits of the weight, and for each of them logits of the mean."""
_FAR = 14.0
"""Logit beyond which neither is looked for."""
_LIKELY = 10.0
"""How far below the greatest log density a point still counts."""
_PASSES = (6, 3, 3)
"""How often the means are drawn closer each time that the weights are."""
_NORMAL = ((-np.sqrt(3), 1 / 6), (0.0, 2 / 3), (np.sqrt(3), 1 / 6))
"""Points and shares that stand for a normal distribution (Gauss and Hermite's)."""
_AT_ONCE = 64
"""Number of shares whose densities are computed together."""
_STEPS, _CLOSE, _TINY = 60, 1e-10, 1e-15


@dataclass(frozen=True)
class SharePrior:
    """Prior distribution of shares: a mixture of Beta(a, b) distributions.

    Each component is a beta distribution that the shares may come from, and its weight is the
    probability that they do. All tuples have the same length; the weights sum to one.
    """

    a: tuple[float, ...]
    b: tuple[float, ...]
    weight: tuple[float, ...]

    def shrunk(self, k: float, n: float) -> float:
        """Posterior mean of a share, given that k of n count."""
        a, b, weight = self._arrays
        return float(weight @ ((a + k) / (a + b + n)))

    def interval(self, k: float, n: float) -> tuple[float, float]:
        """Equal-tailed 95 % posterior interval of a share k of n; n may be an effective size."""
        low, high = self.intervals(np.array([k]), np.array([n]))[0].tolist()
        return low, high

    def intervals(self, k: FloatArray, n: FloatArray) -> FloatArray:
        """The same of many shares at once, shape (n_shares, 2)."""
        a, b, weight = self._arrays
        k, n, tail = k[:, None], n[:, None], (1 - LEVEL) / 2
        return _quantiles(a + k, b + n - k, weight, np.array([tail, 1 - tail]))

    @cached_property
    def _arrays(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return np.array(self.a), np.array(self.b), np.array(self.weight)


def _quantiles(a: FloatArray, b: FloatArray, weight: FloatArray, wanted: FloatArray) -> FloatArray:
    """Quantiles of mixtures of Beta(a, b), one a row; shape (n_mixtures, n_wanted).

    Newton's steps from the quantiles of the beta distribution of the same mean and variance; a step
    that leaves what is known to hold the quantile is a halving instead.
    """
    mean = a / (a + b)
    middle = mean[:, None] @ weight
    square = (mean * (a + 1) / (a + b + 1))[:, None] @ weight
    size = middle * (1 - middle) / (square - middle**2) - 1
    places = betaincinv(middle * size, (1 - middle) * size, wanted)
    lows, highs, scales = np.zeros_like(places), np.ones_like(places), betaln(a, b)
    moving = np.arange(len(places))
    for _ in range(_STEPS):
        first, second, scale = (each[moving, None] for each in (a, b, scales))
        place = np.clip(places[moving], _TINY, 1 - _TINY)
        below = betainc(first, second, place[..., None]) @ weight - wanted
        low = np.where(below < 0, place, lows[moving])
        high = np.where(below < 0, highs[moving], place)
        logs = (first - 1) * np.log(place)[..., None] + (second - 1) * np.log1p(-place)[..., None]
        step = place - below / np.maximum(np.exp(logs - scale) @ weight, _TINY)
        after = np.where((step > low) & (step < high), step, (low + high) / 2)
        places[moving], lows[moving], highs[moving] = after, low, high
        moving = moving[np.abs(after - place).max(axis=1) >= _CLOSE]
        if not len(moving):
            break
    return np.asarray(places, np.float64)


def share_prior(k: FloatArray, n: FloatArray) -> SharePrior | None:
    """Fit a prior distribution of shares to observed counts, with the uncertainty of the fit.

    The shares are assumed to come from one Beta(m s, (1 - m) s) with unknown mean m and size s.
    Their hyperprior: m is uniform on (0, 1), and so is the weight ``s / (s + n0)`` of the prior
    against a share with the median n0 (the uniform shrinkage prior of Christiansen and Morris,
    *Hierarchical Poisson Regression Modeling*, 1997). The posterior of both is summed over a grid.

    Args:
        k: Number that counts of each share, shape (n_shares,); may be effective numbers.
        n: Total of each share, shape (n_shares,), positive.

    Returns:
        The prior; None if there are fewer than `LEAST_SHARES` shares, or if they vary no more than
        one common share would explain (chi-squared test of homogeneity at 5 %).

    >>> share_prior(np.array([5.0] * 20), np.array([10.0] * 20)) is None
    True
    """
    if len(k) < LEAST_SHARES or not _overdispersed(k, n):
        return None
    return _posterior(k, n)


def _posterior(k: FloatArray, n: FloatArray) -> SharePrior:
    """Sum over a grid of the logits of weight and mean, drawn closer around where they are likely.

    Time grows with the number of shares.
    """
    counts = _Counts(k, n, float(np.median(n)))
    weight, ends = np.linspace(-_FAR, _FAR, _WEIGHTS), (-_FAR, _FAR)
    for passes in _PASSES:
        means = _means(weight, ends, counts, passes)
        likely = means.density > means.density.max() - _LIKELY
        found, step = means.only(likely), (weight[-1] - weight[0]) / (_WEIGHTS - 1)
        of = found.weight
        near = max(of.min() - step, -_FAR), min(of.max() + step, _FAR)
        weight, ends = np.linspace(*near, _WEIGHTS), (found.low.min(), found.high.max())
    worth = np.exp(found.density - found.density.max())
    a, b, parts = list[float](), list[float](), list[float]()
    for place, part in _NORMAL:
        components = counts.parameters(found.centre + place * found.spread, of)
        a, b = a + components[0].tolist(), b + components[1].tolist()
        parts += (part * worth / worth.sum()).tolist()
    return SharePrior(tuple(a), tuple(b), tuple(parts))


@dataclass(frozen=True, eq=False)
class _Counts:
    """The shares that a distribution is fitted to: k of n each, and n of a typical one."""

    k: FloatArray
    n: FloatArray
    typical: float

    def parameters(self, mean: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """a and b of the beta distribution of a mean and a weight, both as logits."""
        size = self.typical * np.exp(weight)
        return expit(mean) * size, expit(-mean) * size

    def log_density(self, mean: FloatArray, weight: FloatArray) -> FloatArray:
        """Log posterior density of the two logits, but for a constant; shapes broadcast."""
        a, b = self.parameters(mean, weight)
        density = -len(self.k) * betaln(a, b)
        for start in range(0, len(self.k), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            counted, of = (each[some].reshape(-1, *[1] * a.ndim) for each in (self.k, self.n))
            added = betaln(a + counted, b + of - counted)
            added[0] += density
            density = added.sum(axis=0)
        uniform = np.log(expit(mean) * expit(-mean)) + np.log(expit(weight) * expit(-weight))
        return np.asarray(density + uniform, np.float64)


@dataclass(frozen=True, eq=False)
class _Means:
    """The logit of the mean given each weight: all of shape (n_weights,).

    Args:
        weight: The weights.
        centre: Its mean.
        spread: Its standard deviation.
        density: Log density of the weight itself.
        low: Where it begins to be likely.
        high: Where it ends.
    """

    weight: FloatArray
    centre: FloatArray
    spread: FloatArray
    density: FloatArray
    low: FloatArray
    high: FloatArray

    def only(self, chosen: BoolArray) -> _Means:
        """Those of some weights."""
        return _Means(*(getattr(self, field.name)[chosen] for field in fields(self)))


def _means(weight: FloatArray, ends: tuple[float, float], counts: _Counts, passes: int) -> _Means:
    """The means given weights, looked for between two ends and then ever closer.

    Weights that would not become likely if their density rose, between two means, by as much as it
    changes from any mean to the next, are left out on the way.
    """
    low, high = (np.full(len(weight), end) for end in ends)
    for _ in range(passes):
        at = np.linspace(low, high, _MEANS, axis=1)
        density = counts.log_density(at, weight[:, None])
        likely = density > density.max(axis=1, keepdims=True) - _LIKELY
        step = (high - low) / (_MEANS - 1)
        low = np.maximum(np.where(likely, at, np.inf).min(axis=1) - step, -_FAR)
        high = np.minimum(np.where(likely, at, -np.inf).max(axis=1) + step, _FAR)
        top, rise = density.max(axis=1), np.abs(np.diff(density, axis=1)).max(axis=1)
        near = top + rise > top.max() - 3 * _LIKELY
        weight, low, high = weight[near], low[near], high[near]
    at = np.linspace(low, high, _MEANS, axis=1)
    density = counts.log_density(at, weight[:, None])
    top = density.max(axis=1)
    worth = np.exp(density - top[:, None])
    mass = worth.sum(axis=1)
    centre = (worth * at).sum(axis=1) / mass
    spread = np.sqrt((worth * (at - centre[:, None]) ** 2).sum(axis=1) / mass)
    return _Means(weight, centre, spread, top + np.log(mass * (high - low)), low, high)


def _overdispersed(k: FloatArray, n: FloatArray) -> bool:
    pooled = float(k.sum() / n.sum())
    if pooled in (0.0, 1.0):
        return False
    spread = float(((k - n * pooled) ** 2 / (n * pooled * (1 - pooled))).sum())
    return spread > 2 * float(gammaincinv((len(k) - 1) / 2, 0.95))
