"""Shares of many alike, drawn toward what is usual among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, betaln, expit, logit

from audit.engine.intervals import LEVEL

FloatArray: TypeAlias = NDArray[np.float64]

LEAST_SHARES = 10
"""Shares from which a distribution of them is fitted."""


@dataclass(frozen=True, slots=True)
class BetaPrior:
    """How shares are distributed before one is looked at: Beta(a, b), both above 0."""

    a: float
    b: float

    def shrunk(self, k: float, n: float) -> float:
        """Posterior mean of a share of k in n."""
        return (self.a + k) / (self.a + self.b + n)

    def interval(self, k: float, n: float, level: float = LEVEL) -> tuple[float, float]:
        """Equal-tailed posterior interval of a share of k in n; n may be an effective number."""
        a, b, tail = self.a + k, self.b + n - k, (1 - level) / 2
        return float(betaincinv(a, b, tail)), float(betaincinv(a, b, 1 - tail))


def beta_prior(k: FloatArray, n: FloatArray) -> BetaPrior | None:
    """The beta-binomial distribution that the shares k / n fit best, by maximum likelihood.

    Args:
        k: What counts, shape (n_shares,); may be an effective number.
        n: Of how many, shape (n_shares,), positive.

    Returns:
        None where there are fewer than `LEAST_SHARES`, or where they vary no more than one share
        common to all would let them (chi-squared test of homogeneity at 5 %).

    >>> beta_prior(np.array([5.0] * 20), np.array([10.0] * 20)) is None
    True
    """
    from scipy.optimize import minimize

    if len(k) < LEAST_SHARES or not _overdispersed(k, n):
        return None

    def loss(place: FloatArray) -> float:
        mean, size = float(expit(place[0])), float(np.exp(place[1]))
        a, b = mean * size, (1 - mean) * size
        return -float((betaln(a + k, b + n - k) - betaln(a, b)).sum())

    pooled = np.clip(k.sum() / n.sum(), 1e-6, 1 - 1e-6)
    bounds = [(-14.0, 14.0), (np.log(1e-2), np.log(1e6))]
    found = minimize(loss, np.array([logit(pooled), np.log(2.0)]), bounds=bounds)
    mean, size = float(expit(found.x[0])), float(np.exp(found.x[1]))
    return BetaPrior(mean * size, (1 - mean) * size)


def _overdispersed(k: FloatArray, n: FloatArray) -> bool:
    from scipy.stats import chi2

    pooled = float(k.sum() / n.sum())
    if pooled in (0.0, 1.0):
        return False
    spread = float(((k - n * pooled) ** 2 / (n * pooled * (1 - pooled))).sum())
    return spread > float(chi2.ppf(0.95, len(k) - 1))
