"""The innermost steps of counting pairs of scores, compiled by numba.

Only `audit.engine.scores.score_pairs` imports this module, and only where numba is installed and
the work is worth the time it takes to load. `audit.engine.scores.score_loops` has the same
functions in NumPy, with their parameters. The order of summation does not depend on the number of
threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

SPARSE_COST = 7.0
"""Measured cost of a pair in `count_later`, relative to a pair in `add_entropies`."""


@njit(cache=True, nogil=True, error_model="numpy")
def add_entropies(
    first: int,
    step: int,
    values: NDArray[np.float64],
    weighted: NDArray[np.float64],
    factors: int,
    entropy: NDArray[np.float64],
) -> None:
    """The same as in `score_loops`, without a division for each pair and instance.

    Beside the product of the sums it updates a numerator, such that numerator / product is the sum
    of the quotients: n/s + m/t = (n t + m s) / (s t).
    """
    n_instances, n_nodes = values.shape
    for node in range(first, n_nodes, step):
        product = np.ones(n_nodes - node - 1)
        numerator = np.zeros(n_nodes - node - 1)
        multiplied = 0
        for instance in range(n_instances):
            value = values[instance, node]
            if value == 0:
                continue
            own = weighted[instance, node]
            others = values[instance, node + 1 :]
            theirs = weighted[instance, node + 1 :]
            for i in range(len(product)):
                total = value + others[i]
                numerator[i] = numerator[i] * total + (own + theirs[i]) * product[i]
                product[i] *= total
            multiplied += 1
            if multiplied == factors:
                _settle(product, numerator, entropy[node, node + 1 :])
                multiplied = 0
        if multiplied:
            _settle(product, numerator, entropy[node, node + 1 :])


@njit(cache=True, nogil=True, error_model="numpy")
def _settle(
    product: NDArray[np.float64], numerator: NDArray[np.float64], entropy: NDArray[np.float64]
) -> None:
    for i in range(len(product)):
        entropy[i] += np.log(product[i]) - numerator[i] / product[i]
        product[i] = 1.0
        numerator[i] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def count_later(
    places: NDArray[np.int64],
    ends: NDArray[np.int64],
    values: NDArray[np.float64],
    weighted: NDArray[np.float64],
    nodes: NDArray[np.int32],
    after: int,
    n_nodes: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The same as in `score_loops`."""
    joint = np.zeros(n_nodes - after, np.int64)
    entropy = np.zeros(n_nodes - after)
    for i in range(len(places)):
        value, own = values[places[i]], weighted[places[i]]
        for other in range(places[i] + 1, ends[i]):
            total = value + values[other]
            met = nodes[other] - after
            joint[met] += 1
            entropy[met] += np.log(total) - (own + weighted[other]) / total
    return joint, entropy
