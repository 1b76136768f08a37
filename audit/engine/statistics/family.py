"""The family of pairs of nodes that are tested together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from audit.base.dag import BoolArray, IntArray, Sparse
from audit.engine.pairs.entailed import entailed_by, in_line, places_of
from audit.engine.pairs.margins import Strata
from audit.engine.pairs.sums import Sums
from audit.engine.statistics.fdr import pairs_apart

ENTAILED_SHARE = 0.1
"""Largest share of the smaller support that one label may explain for a pair to be tested."""


@dataclass(frozen=True, eq=False)
class Family:
    """The family of tested pairs, which depends on margins only.

    Args:
        used: Nodes that enough records carry, shape (n_nodes,).
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).
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
    def _outside(self) -> IntArray:
        """``a * n_nodes + b`` of all pairs that are left out or in line, ascending."""
        return np.union1d(self.left_out, in_line(self.closure))

    def members(self, a: IntArray, b: IntArray) -> IntArray:
        """Positions of the given pairs, ordered by (a, b), that belong to the family."""
        chosen = self.used[a] & self.used[b]
        chosen[places_of(self._outside, a * len(self.used) + b)] = False
        return np.flatnonzero(chosen)


def family(
    strata: Strata, entailed: Sums, alone: IntArray, closure: Sparse, least: float
) -> Family:
    """Determine the family of tested pairs of a dataset.

    Args:
        strata: The records that take part.
        entailed: From `audit.engine.pairs.entailed.count_entailed`, of all records.
        alone: Records with a single most specific label, by label, shape (n_nodes,).
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).
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
