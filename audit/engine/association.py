"""How surprising an excess of joint instances is: one-sided p values."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, ndtr

from audit.engine.expectation import Expected

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]

LEAST_CELL = 5
"""Expected instances in each cell of a table from which the normal approximation is used."""
CONTINUITY = 0.5


def excess_p_value(observed: FloatArray, expected: Expected) -> FloatArray:
    """Chance of at least as many joint instances, shape (n,).

    The continuity-corrected Cochran-Mantel-Haenszel test where every cell of the table summed over
    strata expects at least `LEAST_CELL`, never below `poisson_tail`; else the upper tail of the
    Poisson distribution. 1 where nothing is observed, or nothing is expected and so no excess can
    be judged.

    Args:
        observed: Joint instances, those that one label explains left out, shape (n,).
        expected: What is expected of them.
    """
    p_value = np.ones(len(observed))
    judged = (observed > 0) & (expected.joint > 0)
    normal = judged & _large_cells(expected)
    poisson = judged & ~normal
    p_value[poisson] = gammainc(observed[poisson], expected.joint[poisson])
    seen, tables = observed[normal], expected[normal]
    z_tail = score_p_value(seen - tables.joint, tables.variance)
    p_value[normal] = np.maximum(z_tail, poisson_tail(seen, tables))
    return p_value


def _large_cells(expected: Expected) -> BoolArray:
    only_first = expected.first - expected.joint
    only_second = expected.second - expected.joint
    neither = expected.n - expected.first - expected.second + expected.joint
    smallest = np.minimum.reduce([expected.joint, only_first, only_second, neither])
    return np.asarray((smallest >= LEAST_CELL) & (expected.variance > 0))


def score_p_value(excess: FloatArray, variance: FloatArray) -> FloatArray:
    """Upper tail of the normal distribution with the continuity correction; shapes as given."""
    tail: FloatArray = ndtr(-(excess - CONTINUITY) / np.sqrt(variance))
    return tail


def poisson_tail(observed: FloatArray, expected: Expected) -> FloatArray:
    """Upper tail of a Poisson number of the expected variance, moved to the expected mean; (n,).

    A hypergeometric count is a sum of independent unequal trials, and so is a sum of such counts.
    Where few joint instances vary, it is skewed and the normal tail far out is too light; it is
    never more skewed than a Poisson number of its variance.
    """
    shape = observed - expected.joint + expected.variance
    above = shape > 0
    tail = np.ones(len(observed))
    tail[above] = gammainc(shape[above], expected.variance[above])
    return tail
