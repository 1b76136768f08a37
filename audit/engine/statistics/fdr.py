"""A family of pairs that margins alone decide, and false discoveries within it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.engine.pairs.rows import row_numbers

Sparse: TypeAlias = csr_array[Any, tuple[int, int]]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]


def pairs_apart(used: BoolArray, closure: Sparse) -> int:
    """Pairs of used nodes of which neither is above the other.

    Args:
        used: Shape (n_nodes,).
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).

    No pair is built: time grows with the stored values of the closure.
    """
    count = int(used.sum())
    in_line = int((used[row_numbers(closure)] & used[closure.indices]).sum()) - count
    return count * (count - 1) // 2 - in_line


def benjamini_hochberg(p_value: FloatArray, family: int) -> FloatArray:
    """Adjusted p values within a family, the members that are not given having p = 1.

    Args:
        p_value: Of some members of the family, shape (n,).
        family: Members, at least n.

    Returns:
        The least rate of false discoveries at which each would be rejected, shape (n,), as given.

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
    """The p value up to which Benjamini and Hochberg's step-up test rejects; 0 where it rejects
    none.

    ``k * rate / family`` with k the largest rank whose p value is at most that: not the largest p
    value itself, which can be tiny.

    >>> threshold(np.array([0.001, 0.02, 0.3]), 4, 0.05)
    0.025
    """
    ordered = np.sort(p_value[p_value <= rate])
    rejected = np.flatnonzero(ordered <= np.arange(1, len(ordered) + 1) * rate / max(family, 1))
    return (int(rejected[-1]) + 1) * rate / family if len(rejected) else 0.0
