"""Loops over sparse rows, compiled by numba; each has an equivalent in scipy.

Only `audit.engine.pairs.pair_counts` imports this module, and only where numba is installed and the
work is worth the wait for it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def joint_of(
    first: int,
    stop: int,
    columns: NDArray[np.int32],
    ends: NDArray[np.int32],
    starts: NDArray[np.int32],
    places: NDArray[np.int32],
    n_nodes: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Joint counts of the nodes from ``first`` to before ``stop`` with the nodes after them.

    Indices are unsigned, for numba asks of every other whether it counts from the end.

    Args:
        first: First node.
        stop: The node after the last.
        columns: Nodes of the instances, ascending within each, shape (n_stored,).
        ends: For each stored value the end of its instance, ordered by node, shape (n_stored,).
        starts: Start of the stored values of each node, shape (n_nodes + 1,).
        places: Positions of those values in ``columns``, shape (n_stored,).
        n_nodes: Number of nodes.

    Returns:
        The number of second nodes of each first node, those second nodes, and the joint counts.
    """
    widths = np.zeros(stop - first, np.int64)
    seconds = np.empty(4 * n_nodes, np.int32)
    counts = np.empty(4 * n_nodes, np.int32)
    counter = np.zeros(n_nodes, np.int32)
    found = 0
    for a in range(first, stop):
        for stored in range(starts[a], starts[a + 1]):
            for place in range(np.uint32(places[stored] + 1), np.uint32(ends[stored])):
                counter[np.uint32(columns[place])] += np.int32(1)
        if found + n_nodes > len(seconds):
            seconds = _twice(seconds)
            counts = _twice(counts)
        before = found
        for b in range(a + 1, n_nodes):
            if counter[b]:
                seconds[found] = b
                counts[found] = counter[b]
                counter[b] = 0
                found += 1
        widths[a - first] = found - before
    return widths, seconds[:found].copy(), counts[:found].copy()


@njit(cache=True, nogil=True)
def _twice(values: NDArray[np.int32]) -> NDArray[np.int32]:
    grown = np.empty(2 * len(values), values.dtype)
    grown[: len(values)] = values
    return grown
