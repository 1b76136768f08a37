"""A family of pairs that margins alone decide, and false discoveries within it."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.engine.rows import row_numbers

Sparse: TypeAlias = csr_array[Any, tuple[int, int]]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]


def in_family(support_a: IntArray, support_b: IntArray, instances: int, limit: float) -> BoolArray:
    """Whether the supports of a pair are large enough for it to be judged, shape as given.

    Args:
        support_a: Instances carrying the first node.
        support_b: Instances carrying the second.
        instances: All instances.
        limit: Least ``support_a * support_b / instances``.
    """
    return np.asarray(support_a * support_b >= _least_product(instances, limit))


def family_size(support: IntArray, closure: Sparse, limit: float, instances: int) -> int:
    """Pairs of nodes to judge, those without a joint instance included; ancestor pairs are not.

    Args:
        support: Instances carrying each node, shape (n_nodes,).
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).
        limit: As for `in_family`.
        instances: All instances.

    No pair is built: time grows with n_nodes log n_nodes and the stored values of the closure.
    """
    used = np.sort(support[support > 0])
    least = -(-_least_product(instances, limit) // np.maximum(used, 1))
    ordered = len(used) * len(used) - int(np.searchsorted(used, least).sum())
    with_itself = int(in_family(used, used, instances, limit).sum())
    node, above = row_numbers(closure), closure.indices
    strict = (node != above) & (support[node] > 0)
    node, above = node[strict], above[strict]
    trivial = int(in_family(support[node], support[above], instances, limit).sum())
    return (ordered - with_itself) // 2 - trivial


def _least_product(instances: int, limit: float) -> int:
    """Whole numbers, so that membership and size never part by rounding."""
    return max(math.ceil(limit * instances), 1)


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


def discovered(p_value: FloatArray, family: int, rate: float) -> BoolArray:
    """Whether `benjamini_hochberg` would leave each at most at a rate, shape (n,), without sorting
    those whose p value alone is above it.

    >>> discovered(np.array([0.03, 0.01, 0.2]), 4, 0.05).tolist()
    [False, True, False]
    """
    found = p_value <= rate
    found[found] = benjamini_hochberg(p_value[found], family) <= rate
    return found


def selected_level(rate: float, selected: int, family: int) -> float:
    """Level of intervals of the selected few that keeps the share of wrong ones within a rate.

    The false coverage rate of Benjamini and Yekutieli: ``1 - rate * selected / family``. With
    nothing selected, as for one.

    >>> selected_level(0.05, 10, 1000)
    0.9995
    """
    return 1 - rate * max(selected, 1) / max(family, 1)
