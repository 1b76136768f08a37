"""How far observed numbers exceed expected ones: p values, ratios with intervals, and lifts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammainc, gammaincinv

from audit.base.dag import FloatArray, Sparse


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
    """Observed over expected, shrunk toward 1, and its 95 % interval; shapes as given.

    Returns the ratio and the lower and upper bounds:

    ``(O + 1/2) / (E + 1/2)``, and the quantiles of ``Gamma(O + 1/2, rate E + 1/2)`` (Noren,
    Hopstadius and Bate 2013).
    """
    shape, rate = observed + SHRINKAGE, expected + SHRINKAGE
    low, high = (gammaincinv(shape, tail) / rate for tail in (TAIL, 1 - TAIL))
    return shape / rate, low, high


def _surely_above(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """The lower bound of `shrunk_ratio` where it may be above 1, else 1: it is below the ratio.

    It can be above 1 only where less than `TAIL` lies below 1.
    """
    bound, more = np.ones(len(observed)), np.flatnonzero(observed > expected)
    below = gammainc(observed[more] + SHRINKAGE, expected[more] + SHRINKAGE)
    more = more[below < 1.001 * TAIL]
    shape, rate = observed[more] + SHRINKAGE, expected[more] + SHRINKAGE
    bound[more] = np.maximum(gammaincinv(shape, TAIL) / rate, 1.0)
    return bound


_ALONE = 1 << 32
"""What a record counts beside 1 where a single label of it is a code; one product counts both."""


def log_lift(labels: Sparse, code_of: Sparse) -> Sparse:
    """Logarithm of the ratio of observed to chance co-occurrence of each label with each code.

    A label occurs beside a code on a record if another label of the record is that code. By chance,
    the occurrences beside a code are distributed over labels in proportion to the frequencies of
    the labels, so that records with many labels favour no code. The ratio is the lower bound of
    `shrunk_ratio`; where it is below 1, the logarithm is 0, because the co-occurrence may be
    chance.

    Args:
        labels: Labels of records, 0 or 1, int64, shape (n_records, n_labels), canonical CSR.
        code_of: 1 where a label is a code, int64, shape (n_labels, n_codes).

    Returns:
        Shape (n_labels, n_codes), 0 or more, zeros not stored. Time grows with the
        sum over records of labels times codes.
    """
    of_codes = csr_array(labels @ code_of)
    of_codes.data = 1 + _ALONE * (of_codes.data == 1)
    met = csr_array(labels.T @ of_codes)
    alone = csr_array(met.multiply(code_of))
    met.data, alone.data = met.data % _ALONE, alone.data // _ALONE
    joint = csr_array(met - alone)
    joint.eliminate_zeros()
    share = np.asarray(labels.sum(axis=0), np.float64) / max(labels.nnz, 1)
    beside = np.asarray(joint.sum(axis=0), np.float64)
    label, code = joint.tocoo().coords
    found = np.log(_surely_above(joint.data.astype(np.float64), beside[code] * share[label]))
    kept = found > 0
    return csr_array((found[kept], (label[kept], code[kept])), shape=joint.shape)
