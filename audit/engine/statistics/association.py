"""How far observed numbers exceed expected ones: p values, ratios with intervals, and lifts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv

from audit.base.dag import FloatArray


def ratio(part: NDArray[Any], whole: NDArray[Any]) -> FloatArray:
    """Each part over its whole, NaN where the whole is not above 0; shape as given.

    >>> ratio(np.array([1, 0, 3]), np.array([4, 0, 2])).tolist()
    [0.25, nan, 1.5]
    """
    return np.asarray(np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole > 0))


SHRINKAGE = 0.5
"""Number added to observed and to expected records before they are divided."""
TAIL = 0.025
"""Probability beyond each bound of the interval of a ratio."""


def poisson_p_value(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Probability of at least the observed number under a Poisson distribution, shape as given.

    Uses the incomplete gamma function, so that neither number need be whole. 1 where nothing is
    observed or nothing is expected, as no excess can be judged there.

    >>> poisson_p_value(np.array([2.0, 0.0]), np.array([1.0, 1.0])).round(4).tolist()
    [0.2642, 1.0]
    """
    p_value = np.ones(len(observed))
    judged = (observed > 0) & (expected > 0)
    p_value[judged] = gammainc(observed[judged], expected[judged])
    return p_value


def shrunk_ratio(
    observed: FloatArray, expected: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Observed over expected, shrunk toward 1, and its 95 % bounds, the lower first.

    Shapes as given: ``(O + 1/2) / (E + 1/2)``, and quantiles of ``Gamma(O + 1/2, rate E + 1/2)``
    (Noren, Hopstadius and Bate 2013).
    """
    shape, rate = observed + SHRINKAGE, expected + SHRINKAGE
    low, high = (gammaincinv(shape, tail) / rate for tail in (TAIL, 1 - TAIL))
    return shape / rate, low, high
