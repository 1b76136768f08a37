"""How surprising an excess is: one-sided p values, and intervals of a ratio."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv

FloatArray: TypeAlias = NDArray[np.float64]

SHRINKAGE = 0.5
"""Records added to those observed and to those expected before they are divided."""
TAIL = 0.025
"""Share of the distribution of a ratio beyond each bound of its interval."""


def poisson_p_value(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Chance of at least as many where a Poisson number is expected, shape as given.

    The incomplete gamma function, so that neither need be whole. 1 where nothing is observed or
    nothing is expected, so that no excess can be judged.

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
    """Observed over expected drawn toward 1, and its 95 % interval; shapes as given.

    ``(O + 1/2) / (E + 1/2)``, and the quantiles of ``Gamma(O + 1/2, rate E + 1/2)`` (Noren,
    Hopstadius and Bate 2013).
    """
    shape, rate = observed + SHRINKAGE, expected + SHRINKAGE
    low, high = (gammaincinv(shape, tail) / rate for tail in (TAIL, 1 - TAIL))
    return shape / rate, low, high
