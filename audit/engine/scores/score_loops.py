"""The pairs that a node meets, and the innermost steps of counting pairs of scores, in NumPy."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import FloatArray, IntArray

Met: TypeAlias = tuple[IntArray, IntArray, FloatArray]
"""The pairs of one node: the nodes after it that it meets, joint counts and confusion."""
COUNTING = "counting pairs of scores"
"""Name of the step that is reported as progress."""


DECADES = 300
"""Largest power of ten, positive or negative, that a product may have in double precision."""


def safe_factors(values: FloatArray, threshold: float) -> int:
    """How many sums of two values can be multiplied so that the product stays in range.

    The range is from 10^-`DECADES` to 10^`DECADES`.
    """
    if not len(values):
        return 1
    least, largest = max(float(values.min()), threshold), 2 * float(values.max())
    furthest = max(abs(np.log10(least)), abs(np.log10(largest)), 1.0)
    return max(int(DECADES / furthest), 1)


def met_of(node: int, joint: IntArray, entropy: FloatArray) -> Met:
    """The pairs of a node with those after it; confusion is clipped to [0, joint].

    Args:
        joint: Joint counts with each node after it, shape (n_later,).
        entropy: Summed entropies in nats, same shape.
    """
    met = np.flatnonzero(joint)
    return node + 1 + met, joint[met], np.clip(entropy[met] / np.log(2), 0, joint[met])


SPARSE_COST = 4.0
"""Measured cost of a pair in `count_later`, relative to a pair in `add_entropies`."""


def add_entropies(
    first: int,
    step: int,
    values: FloatArray,
    weighted: FloatArray,
    factors: int,
    entropy: FloatArray,
) -> None:
    """Add up, over instances, the entropies in nats of some nodes with every node after them.

    One logarithm of a product of several sums replaces their logarithms.

    Args:
        first: First of the nodes.
        step: Difference from one of these nodes to the next.
        values: Scores, 0 below the threshold, shape (n_instances, n_nodes).
        weighted: ``values * log(values)``, 0 where a score is 0.
        factors: How many sums of two scores can be multiplied without leaving the range of floats.
        entropy: Output that is added to, shape (n_nodes, n_nodes); only its upper triangle.
    """
    for node in range(first, values.shape[1], step):
        carrying = np.flatnonzero(values[:, node])
        if not len(carrying):
            continue
        total = values[carrying, node + 1 :]
        total += values[carrying, node, np.newaxis]
        numerator = weighted[carrying, node + 1 :]
        numerator += weighted[carrying, node, np.newaxis]
        numerator /= total
        products = np.multiply.reduceat(total, np.arange(0, len(carrying), factors), axis=0)
        entropy[node, node + 1 :] += np.log(products).sum(axis=0) - numerator.sum(axis=0)


def count_later(
    places: IntArray,
    ends: IntArray,
    values: FloatArray,
    weighted: FloatArray,
    nodes: NDArray[np.int32],
    after: int,
    n_nodes: int,
) -> tuple[IntArray, FloatArray]:
    """Count the scores that follow the scores of one node in the same instances.

    Args:
        places: Positions of the node's scores, shape (n_carrying,).
        ends: End of the instance of each, shape (n_carrying,).
        values: Scores of all instances, concatenated, shape (n_stored,).
        weighted: ``values * log(values)``, same shape.
        nodes: Node of each score, ascending within an instance, same shape.
        after: The first node that is counted.

    Returns:
        Joint counts and summed entropies in nats, shape (n_nodes - after,).
    """
    width = ends - (places + 1)
    within = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
    other = np.repeat(places + 1, width) + within
    total = np.repeat(values[places], width) + values[other]
    numerator = np.repeat(weighted[places], width) + weighted[other]
    entropy = np.log(total) - numerator / total
    met, length = nodes[other] - after, n_nodes - after
    joint = np.bincount(met, minlength=length).astype(np.int64)
    return joint, np.bincount(met, weights=entropy, minlength=length).astype(np.float64)
