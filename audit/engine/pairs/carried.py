"""What instances carry: their direct labels propagated, and what each label is to the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, Sparse, row
from audit.engine.pairs.propagation import aggregate
from audit.engine.pairs.rows import chosen, row_numbers

_LABEL, _OWN, _OTHER, _UNSPECIFIED = 1 << 41, 1 << 40, 1 << 20, 1
"""What a direct label adds to a node: each to those at or above it, beside that `_OWN` to its own
node, and to those strictly above it the kind of a residual one. One product counts all of them."""
_OWN_ALONE = _LABEL + _OWN
"""Sum at a node with its own label and none below it: a most specific one."""


def added_by_labels(closure: Sparse, kinds: IntArray) -> Sparse:
    """What a label at i adds to a node a, as `Carried.of` takes it, like ``closure``.

    Args:
        kinds: For each node 0 specific, 1 other, 2 unspecified, shape (n_nodes,).
    """
    node, above = row_numbers(closure), closure.indices
    of_kind = np.array([0, _OTHER, _UNSPECIFIED], np.int64)
    added = _LABEL + np.where(node == above, _OWN, of_kind[kinds[node]])
    return csr_array((added, above, closure.indptr), shape=closure.shape)


@dataclass(frozen=True, eq=False)
class Carried:
    """The nodes that instances carry.

    Args:
        direct: Direct labels, 0/1, shape (n_instances, n_nodes), canonical CSR.
        sums: What they add up to at each node, same shape, int64.
    """

    direct: Sparse
    sums: Sparse

    @classmethod
    def of(cls, direct: Sparse, added: Sparse) -> Carried:
        """Propagate direct labels; ``added`` is from `added_by_labels`."""
        return cls(direct, aggregate(direct, added))

    @cached_property
    def values(self) -> Sparse:
        """Aggregated values, shape (n_instances, n_nodes), int32 canonical CSR."""
        values = (self.sums.data // _LABEL).astype(np.int32)
        return csr_array((values, self.sums.indices, self.sums.indptr), shape=self.sums.shape)

    @cached_property
    def specific(self) -> Sparse:
        """Most specific labels, 0/1, same shape: no other label of the instance is below one."""
        return chosen(self.sums, self.sums.data == _OWN_ALONE)

    @property
    def nested(self) -> Sparse:
        """1 where a label of an instance has another one strictly below it, same shape."""
        own = self.sums.data & _OWN > 0
        return chosen(self.sums, own & (self.sums.data != _OWN_ALONE))

    @cached_property
    def below(self) -> LabelsBelow:
        """Direct labels strictly below each node."""
        kept = np.flatnonzero(self.sums.data != _OWN_ALONE)
        indptr = np.searchsorted(kept, self.sums.indptr)
        stored = (self.sums.data[kept], self.sums.indices[kept], indptr)
        return LabelsBelow(csr_array(csr_array(stored, shape=self.sums.shape).T))


@dataclass(frozen=True)
class LabelsBelow:
    """Direct labels strictly below each node.

    Args:
        sums: What they add up to, with the node's own, shape (n_nodes, n_instances), canonical CSR.
    """

    sums: Sparse

    def labelled(self, parent: int) -> IntArray:
        """Indices of instances with a direct label strictly below a node, ascending."""
        return row(self.sums, parent)

    def only_residual(self, parent: int, kind: int = 0) -> IntArray:
        """Indices of instances all of whose labels below a node are residual, ascending.

        Args:
            kind: 1: all of them are of kind ``other``; 2: ``unspecified``; 0: of either.
        """
        sums = self.sums.data[self.sums.indptr[parent] : self.sums.indptr[parent + 1]]
        return self.labelled(parent)[np.flatnonzero(only_residual(sums, kind))]


def only_residual(sums: IntArray, kind: int) -> BoolArray:
    """Whether all labels strictly below a node, of which there are some, are residual.

    Args:
        sums: What labels add up to at nodes, any shape.
        kind: As in `LabelsBelow.only_residual`.
    """
    below = sums // _LABEL - (sums & _OWN > 0)
    other, unspecified = sums % _OWN // _OTHER, sums % _OTHER
    return np.asarray(below == (other + unspecified, other, unspecified)[kind])
