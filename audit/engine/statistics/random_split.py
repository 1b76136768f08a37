"""Number of labels that the training part of a random split of the same size would lack."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammainc, gammaln

from audit.base.dag import FloatArray, IntArray, Sparse
from audit.engine.pairs.pair_counts import support

NEVER = 1e-9
"""Probability of being unseen below which a label is ignored, as too many units carry it."""


def unseen_by_chance(carried: Sparse, outside: int) -> tuple[float, float]:
    """Mean and variance of the number of labels carried only by ``outside`` units drawn at random.

    Exact: k units of N are all outside with probability C(outside, k) / C(N, k); two labels carried
    by k and by l units, of which j carry both, are both unseen with that of k + l - j units.

    Args:
        carried: 1 where a unit has a label, shape (n_units, n_labels), canonical CSR.
        outside: Number of units that are not trained on.

    Returns:
        The mean and the variance; both 0 if all units, or none, are trained on.

    Time grows with the sum over units of (rare labels per unit)^2.
    """
    n = carried.shape[0]
    counts = support(carried)
    rare = np.flatnonzero((counts > 0) & (_outside(counts, n, outside) > NEVER))
    k = counts[rare]
    mean = float(_outside(k, n, outside).sum())
    values, times = np.unique(k, return_counts=True)
    both = _outside(values[:, None] + values[None, :], n, outside)
    apart = float(times @ both @ times)
    rare_labels = csr_array(carried[:, rare])
    together = csr_array(rare_labels.T @ rare_labels).tocoo()
    of_both = k[together.row] + k[together.col]
    beside = _outside(of_both - together.data, n, outside) - _outside(of_both, n, outside)
    return mean, max(apart + float(beside.sum()) - mean**2, 0.0)


def chance_of_unseen(unseen: int, mean: float, variance: float) -> float:
    """Probability of at least as many unseen labels: the upper tail of a Poisson distribution,
    scaled to the variance if that is above the mean."""
    scale = max(variance / mean, 1.0) if mean else 1.0
    return float(gammainc(unseen / scale, mean / scale)) if unseen and mean else float(not unseen)


def _outside(k: IntArray, n: int, outside: int) -> FloatArray:
    """Chance that k of n units are all among so many drawn."""
    within = np.minimum(k, outside)
    chance = np.exp(_log_choose(outside, within) - _log_choose(n, within))
    return np.where(k <= outside, chance, 0.0)


def _log_choose(n: int, k: IntArray) -> FloatArray:
    found: FloatArray = math.lgamma(n + 1) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return found
