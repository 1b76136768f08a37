"""Loops that add instances to a tally of pairs, compiled by numba; each has an equivalent in scipy.

Only `audit.engine.pairs.tally` imports this module, and only where numba is installed.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def add_pairs(
    first: int,
    stop: int,
    columns: NDArray[np.int32],
    values: NDArray[np.int32],
    begins: NDArray[np.int32],
    starts: NDArray[np.int32],
    places: NDArray[np.int32],
    entropy: NDArray[np.float64],
    joint: NDArray[np.int64],
    confusion: NDArray[np.float64],
) -> None:
    """Add the pairs of some slots with the slots before them to the triangle.

    Indices are unsigned, for numba asks of every other whether it counts from the end.

    Args:
        first: First slot.
        stop: The slot after the last.
        columns: Slots of the instances, ascending within each, shape (n_stored,).
        values: Their values, shape (n_stored,).
        begins: For each stored value the start of its instance, ordered by slot, (n_stored,).
        starts: Start of the stored values of each slot, shape (n_slots + 1,).
        places: Positions of those values in ``columns``, shape (n_stored,).
        entropy: Table of the entropy of two values in bits, indexed by both values.
        joint: The triangle's joint counts, those of slot b with all a < b at b (b - 1) / 2 + a.
        confusion: The triangle's summed entropies, likewise.
    """
    met = np.zeros(stop, np.int32)
    bits = np.zeros(stop)
    for b in range(first, stop):
        for stored in range(starts[b], starts[b + 1]):
            own = np.uint32(places[stored])
            of_value = entropy[np.uint32(values[own])]
            for place in range(np.uint32(begins[stored]), own):
                slot = np.uint32(columns[place])
                met[slot] += np.int32(1)
                bits[slot] += of_value[np.uint32(values[place])]
        base = b * (b - 1) // 2
        for a in range(b):
            joint[base + a] += met[a]
            confusion[base + a] += bits[a]
            met[a] = 0
            bits[a] = 0.0


@njit(cache=True, nogil=True)
def pairs_outside(
    starts: NDArray[np.int64],
    nodes: NDArray[np.int64],
    values: NDArray[np.int32],
    outside: NDArray[np.bool_],
    entropy: NDArray[np.float64],
    keys: NDArray[np.int64],
    bits: NDArray[np.float64],
) -> None:
    """List the pairs of nodes of each instance in which at least one node has no slot.

    Args:
        starts: Start of the nodes of each instance, shape (n_instances + 1,).
        nodes: Nodes of the instances, ascending within each, shape (n_stored,).
        values: Their values, shape (n_stored,).
        outside: Which nodes have no slot, shape (n_nodes,).
        entropy: Table of the entropy of two values in bits, indexed by both values.
        keys: Output: ``a * n_nodes + b`` of each pair, a before b, shape (n_pairs,).
        bits: Output: the entropy of each pair, shape (n_pairs,).
    """
    place, n_nodes = 0, len(outside)
    for instance in range(len(starts) - 1):
        for second in range(starts[instance], starts[instance + 1]):
            for first in range(starts[instance], second):
                if outside[nodes[first]] or outside[nodes[second]]:
                    keys[place] = nodes[first] * n_nodes + nodes[second]
                    bits[place] = entropy[values[first], values[second]]
                    place += 1
