"""The loop over pairs and strata of an expectation, compiled by numba; NumPy has an equivalent.

Only `audit.engine.statistics.expectation` imports this module, and only where numba is installed.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def expected_joint(
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    size: NDArray[np.float64],
    share: NDArray[np.float64],
    facet: NDArray[np.int64],
    missing: NDArray[np.float64],
    into: NDArray[np.float64],
) -> None:
    """Expected joint records of pairs, summed over strata in their order.

    Args:
        a: First nodes, shape (n_pairs,).
        b: Second nodes, shape (n_pairs,).
        size: Number of records of each stratum, shape (n_strata,).
        share: Share of them that carry each node, shape (n_nodes, n_strata).
        facet: Facet of each node, shape (n_nodes,).
        missing: One minus the factor of two facets, shape (n_facets, n_facets, n_strata).
        into: Output, shape (n_pairs,).
    """
    for pair in range(len(a)):
        first, second = share[a[pair]], share[b[pair]]
        lacking = missing[facet[a[pair]], facet[b[pair]]]
        total = 0.0
        for stratum in range(len(size)):
            p, q = first[stratum], second[stratum]
            free = 1.0 - lacking[stratum] * ((1.0 - p) * (1.0 - q))
            total += free * ((p * q) * size[stratum])
        into[pair] = total
