"""The pairs that a node meets, as every way of counting scores gives them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from audit.base.dag import FloatArray, IntArray

Met: TypeAlias = tuple[IntArray, IntArray, FloatArray]
"""The pairs of one node: the nodes after it that it meets, joint counts and confusion."""
COUNTING = "counting pairs of scores"
"""Name of the step that is reported as progress."""


def safe_factors(values: FloatArray, threshold: float, decades: int = 300) -> int:
    """How many sums of two values can be multiplied so that the product stays in range.

    The range is from 10^-decades to 10^decades.
    """
    if not len(values):
        return 1
    least, largest = max(float(values.min()), threshold), 2 * float(values.max())
    furthest = max(abs(np.log10(least)), abs(np.log10(largest)), 1.0)
    return max(int(decades / furthest), 1)


def met_of(node: int, joint: IntArray, entropy: FloatArray) -> Met:
    """The pairs of a node with those after it; confusion is clipped to [0, joint].

    Args:
        node: The node.
        joint: Joint counts with each node after it, shape (n_later,).
        entropy: Summed entropies in nats, same shape.
    """
    met = np.flatnonzero(joint)
    return node + 1 + met, joint[met], np.clip(entropy[met] / np.log(2), 0, joint[met])
