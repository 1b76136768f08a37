"""The loop over pairs and strata of an expectation, compiled by numba; NumPy has an equivalent.

Only `audit.engine.statistics.expectation` imports this module, and only where numba is installed.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def expected_joint(
    rarer: NDArray[np.int64],
    other: NDArray[np.int64],
    starts: NDArray[np.integer],
    strata: NDArray[np.integer],
    size: NDArray[np.float64],
    share: NDArray[np.float64],
    facet: NDArray[np.int64],
    missing: NDArray[np.float64],
    into: NDArray[np.float64],
) -> None:
    """Expected joint records of pairs, summed in order over the strata that the rarer node has.

    Args:
        rarer: The node of each pair that fewer strata have, shape (n_pairs,).
        other: The other node, same shape.
        starts: Where the strata of each node start among `strata`, shape (n_nodes + 1,).
        strata: Strata of each node, ascending.
        size: Number of records of each stratum, shape (n_strata,).
        share: Share of them that carry each node, shape (n_nodes, n_strata).
        facet: Facet of each node, shape (n_nodes,).
        missing: One minus the factor of two facets, shape (n_facets, n_facets, n_strata).
        into: Output, shape (n_pairs,).
    """
    for pair in range(len(rarer)):
        a, b = rarer[pair], other[pair]
        first, second, lacking = share[a], share[b], missing[facet[a], facet[b]]
        total = 0.0
        for place in range(starts[a], starts[a + 1]):
            stratum = strata[place]
            p, q = first[stratum], second[stratum]
            free = 1.0 - lacking[stratum] * ((1.0 - p) * (1.0 - q))
            total += free * ((p * q) * size[stratum])
        into[pair] = total
