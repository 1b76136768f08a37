"""False discovery rate within a family of pairs that the margins alone determine."""

from __future__ import annotations

import numpy as np

from audit.base.dag import BoolArray, FloatArray, Sparse
from audit.engine.pairs.rows import row_numbers


def pairs_apart(used: BoolArray, closure: Sparse) -> int:
    """Number of pairs of used nodes of which neither is above the other.

    Args:
        used: Whether each node is used, shape (n_nodes,).
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).

    No pair is built: time grows with the stored values of the closure.
    """
    count = int(used.sum())
    in_line = int((used[row_numbers(closure)] & used[closure.indices]).sum()) - count
    return count * (count - 1) // 2 - in_line


def benjamini_hochberg(p_value: FloatArray, family: int) -> FloatArray:
    """P values adjusted by Benjamini and Hochberg; members that are not given have p = 1.

    Args:
        p_value: P values of some members of the family, shape (n,).
        family: Number of members of the family, at least n.

    Returns:
        The least false discovery rate at which each would be rejected, shape (n,), in given order.

    >>> benjamini_hochberg(np.array([0.03, 0.01]), 4).tolist()
    [0.06, 0.04]
    """
    order = np.argsort(p_value)
    adjusted = p_value[order]
    adjusted *= family
    adjusted /= np.arange(1, len(p_value) + 1)
    np.minimum.accumulate(adjusted[::-1], out=adjusted[::-1])
    np.minimum(adjusted, 1.0, out=adjusted)
    q_value = np.empty(len(p_value))
    q_value[order] = adjusted
    return q_value


def threshold(p_value: FloatArray, family: int, rate: float) -> float:
    """The p value up to which Benjamini and Hochberg's step-up test rejects; 0 if it rejects none.

    ``k * rate / family`` with k the largest rank whose p value is at most that number; not the
    largest rejected p value itself, which can be tiny.

    >>> threshold(np.array([0.001, 0.02, 0.3]), 4, 0.05)
    0.025
    """
    ordered = np.sort(p_value[p_value <= rate])
    rejected = np.flatnonzero(ordered <= np.arange(1, len(ordered) + 1) * rate / max(family, 1))
    return (int(rejected[-1]) + 1) * rate / family if len(rejected) else 0.0
