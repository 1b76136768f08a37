"""Meets of nodes in a hierarchy, through which the excess of one pair explains another pair."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import IntArray, Sparse, row
from audit.engine.pairs.entailed import pairs_above


class Meets:
    """Computes the meet of a node with every other node that has one.

    The meet of two nodes is the lower one if one is above the other; else their common descendant
    that most records carry, ties going to the first in node order. On a tree only nodes of which
    one is above the other meet.

    Args:
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).
        support: Number of records that carry each node, shape (n_nodes,).
    """

    def __init__(self, closure: Sparse, support: IntArray) -> None:
        self.closure, self.below = closure, csr_array(closure.T)
        self.below.sort_indices()
        self.support = support
        parted = (pairs_above(closure) > 0).astype(np.int64)
        self._overlapping = np.asarray(self.below @ parted > 0)
        self._known: dict[int, tuple[IntArray, IntArray]] = {}

    def of(self, node: int) -> tuple[IntArray, IntArray]:
        """The nodes that have a meet with a node, itself included, ascending, and their meets.

        Both arrays have the same shape. Time grows with the ancestors of the node's descendants.
        """
        if node not in self._known:
            self._known[node] = self._meets_of(node)
        return self._known[node]

    def at_or_below(self, node: int) -> IntArray:
        """A node and its descendants, ascending."""
        return row(self.below, node)

    def _meets_of(self, node: int) -> tuple[IntArray, IntArray]:
        above, below = row(self.closure, node), self.at_or_below(node)
        nodes, meets = [above, below], [np.full(len(above), node), below]
        if self._overlapping[node]:
            shared = below[np.lexsort((-below, self.support[below]))]
            starts, widths = self.closure.indptr[shared], np.diff(self.closure.indptr)[shared]
            steps = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)
            nodes.insert(0, self.closure.indices[np.repeat(starts, widths) + steps])
            meets.insert(0, np.repeat(shared, widths))
        every = np.concatenate(nodes).astype(np.int64)
        where = np.concatenate(meets).astype(np.int64)
        reached, last = np.unique(every[::-1], return_index=True)
        return reached, where[::-1][last]
