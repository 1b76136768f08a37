"""The innermost steps of counting pairs of scores, in NumPy.

`audit.engine.scores.compiled_scores` has the same functions, compiled.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

SPARSE_COST = 4.0
"""What a pair costs `count_later`, in those of `add_entropies`; measured."""


def add_entropies(
    first: int,
    step: int,
    values: FloatArray,
    weighted: FloatArray,
    factors: int,
    entropy: FloatArray,
) -> None:
    """Add the entropies in nats of some nodes with every node after them, over instances.

    The logarithms of several sums are one logarithm of their product.

    Args:
        first: First of the nodes.
        step: From one of them to the next.
        values: Scores, 0 below the threshold, shape (n_instances, n_nodes).
        weighted: ``values * log(values)``, 0 where a score is 0.
        factors: How many sums of two scores can be multiplied.
        entropy: What is added to, shape (n_nodes, n_nodes); its upper triangle alone.
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
    """Count the scores that stand behind those of one node in their instances.

    Args:
        places: Where the node's scores stand, shape (n_carrying,).
        ends: Where the instance of each ends, shape (n_carrying,).
        values: Scores of all instances, one after another, shape (n_stored,).
        weighted: ``values * log(values)``.
        nodes: Node of each, ascending within an instance.
        after: The first node that can be met.
        n_nodes: Number of nodes.

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
