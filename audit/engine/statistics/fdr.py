"""The family of pairs that are tested together, and false discovery rates within a family."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.engine.pairs.entailed import entailed_by, in_line, places_of
from audit.engine.pairs.margins import Strata
from audit.engine.pairs.rows import row_numbers
from audit.engine.pairs.sums import Sums


def pairs_apart(used: BoolArray, closure: Sparse) -> int:
    """Number of pairs of used nodes of which neither is above the other.

    Args:
        used: Whether each node is used, shape (n_nodes,).

    No pair is built: time grows with the stored values of the closure.
    """
    count = int(used.sum())
    in_line = int((used[row_numbers(closure)] & used[closure.indices]).sum()) - count
    return count * (count - 1) // 2 - in_line


def benjamini_hochberg(p_value: FloatArray, family: int) -> FloatArray:
    """P values adjusted by Benjamini and Hochberg; members that are not given have p = 1.

    Args:
        p_value: P values of some members of the family, shape (n,).

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


ENTAILED_SHARE = 0.1
"""Largest share of the smaller support that one label may explain for a pair to be tested."""


@dataclass(frozen=True, eq=False)
class Family:
    """The family of tested pairs, which depends on margins only.

    Args:
        used: Nodes that enough records carry, shape (n_nodes,).
        left_out: ``a * n_nodes + b`` of the pairs left out because one label explains too much of
            them, ascending.
    """

    used: BoolArray
    closure: Sparse
    left_out: IntArray

    @cached_property
    def size(self) -> int:
        """Number of pairs in the family, those without a joint record included."""
        return pairs_apart(self.used, self.closure) - len(self.left_out)

    @cached_property
    def _in_line(self) -> IntArray:
        return in_line(self.closure)

    def members(self, a: IntArray, b: IntArray) -> IntArray:
        """Positions of the given pairs that belong to the family; they must be sorted by (a, b)."""
        chosen, keys = self.used[a] & self.used[b], a * np.int64(len(self.used)) + b
        for outside in (self.left_out, self._in_line):
            chosen[places_of(outside, keys)] = False
        return np.flatnonzero(chosen)


def family(
    strata: Strata, entailed: Sums, alone: IntArray, closure: Sparse, least: float
) -> Family:
    """Determine the family of tested pairs of a dataset.

    Args:
        strata: The records that take part.
        entailed: From `audit.engine.pairs.entailed.count_entailed`, of all records.
        alone: Records with a single most specific label, by label, shape (n_nodes,).
        least: Least number of records for a node to take part.
    """
    support = strata.support
    used = support >= least
    of_others = entailed_by(alone, closure)
    counts = entailed.joint.copy()
    place = np.searchsorted(entailed.keys, of_others.keys)
    counts[place] -= of_others.joint
    a, b = np.divmod(entailed.keys, len(used))
    many = counts > ENTAILED_SHARE * np.minimum(support[a], support[b])
    return Family(used, closure, entailed.keys[many & used[a] & used[b]])
