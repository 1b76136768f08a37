"""What a random split of the same size lets expect: labels that its training part lacks."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammainc, gammaln

from audit.engine.pairs.pair_counts import support

Sparse: TypeAlias = csr_array[Any, tuple[int, int]]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

NEVER = 1e-9
"""Chance to be unseen below which a label takes no part: it is on too many units."""


def unseen_by_chance(carried: Sparse, outside: int) -> tuple[float, float]:
    """Mean and variance of the labels that only ``outside`` units drawn at random carry.

    Exact: k units of N are all outside with the chance C(outside, k) / C(N, k), and two labels on
    k, l and both on j units are both so with that of k + l - j units.

    Args:
        carried: 1 where a unit has a label, shape (n_units, n_labels), canonical CSR.
        outside: Units that are not trained on.

    Returns:
        Zero and zero where every unit, or none, is trained on.

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
    """Chance of at least as many unseen labels: the tail of a Poisson number, scaled to the
    variance where that is above the mean."""
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
