"""What instances carry: their direct labels propagated, and what each label is to the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.base.arrays import Growing
from audit.base.dag import IntArray, Sparse
from audit.engine.pairs.propagation import aggregate
from audit.engine.pairs.rows import chosen, row_numbers

_LABEL, _OWN, _OTHER, _UNSPECIFIED = 1 << 41, 1 << 40, 1 << 20, 1
"""What a direct label adds to a node: each to those at or above it, beside that `_OWN` to its own
node, and to those strictly above it the kind of a residual one. One product counts all of them."""
LABELLED, BELOW = 1, 2
"""Bits of what is known of a node that an instance carries: it is a direct label; one is strictly
below it."""
RESIDUAL = 4, 8, 16
"""Bits of nodes with labels strictly below, all of which are residual: of any kind; all of them of
kind ``other``; all ``unspecified``."""


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
    """The nodes that instances carry; matrices of shape (n_instances, n_nodes), canonical CSR.

    Args:
        direct: Direct labels, 0/1.
        values: Aggregated values, int32.
        specific: Most specific labels, 0/1: no other label of the instance is below one.
        nested: 1 where a label of an instance has another one strictly below it.
        facts: What is known of each value, as bits `LABELLED` to `UNSPECIFIED`, uint8.
    """

    direct: Sparse
    values: Sparse
    specific: Sparse
    nested: Sparse
    facts: Sparse

    @classmethod
    def of(cls, direct: Sparse, added: Sparse) -> Carried:
        """Propagate direct labels; what each adds to a node's value is from `added_by_labels`."""
        sums = aggregate(direct, added)
        labels, own = sums.data // _LABEL, sums.data & _OWN > 0
        below = labels - own
        other, unspecified = sums.data % _OWN // _OTHER, sums.data % _OTHER
        facts = np.where(own, LABELLED, 0) + np.where(below > 0, BELOW, 0)
        for bit, residual in zip(RESIDUAL, (other + unspecified, other, unspecified), strict=True):
            facts += np.where((below > 0) & (below == residual), bit, 0)
        there = sums.indices, sums.indptr
        return cls(
            direct=direct,
            values=csr_array((labels.astype(np.int32), *there), shape=sums.shape),
            specific=chosen(sums, own & (below == 0)),
            nested=chosen(sums, own & (below > 0)),
            facts=csr_array((facts.astype(np.uint8), *there), shape=sums.shape),
        )


class AtNodes:
    """The instances that carry each node, of blocks of instances that are added in order."""

    def __init__(self) -> None:
        self._instance, self._facts = Growing(np.uint32), Growing(np.uint8)
        self._blocks: list[tuple[int, NDArray[Any]]] = []
        self._n = 0

    def add(self, facts: Sparse) -> None:
        """Add instances by the facts of what they carry, as in `Carried`."""
        by_node = csr_array(facts.T)
        self._blocks.append((len(self._instance), by_node.indptr))
        self._instance.add(by_node.indices + self._n)
        self._facts.add(by_node.data)
        self._n += facts.shape[0]

    def carrying(self, *nodes: int) -> IntArray:
        """The instances that carry a node, ascending; of several node by node."""
        return self._having(0, nodes)

    def labelled(self, *nodes: int) -> IntArray:
        """The instances with a node as a direct label, ascending; of several node by node."""
        return self._having(LABELLED, nodes)

    def labelled_below(self, node: int) -> IntArray:
        """The instances with a direct label strictly below a node, ascending."""
        return self._having(BELOW, [node])

    def only_residual(self, node: int, kind: int = 0) -> IntArray:
        """The instances with labels strictly below a node, all of them residual; ascending.

        Args:
            kind: 1: all of them are of kind ``other``; 2: ``unspecified``; 0: of either.
        """
        return self._having(RESIDUAL[kind], [node])

    @cached_property
    def _whole(self) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """Instance and facts of each value that is carried, block by block, and there by node."""
        return self._instance.whole(), self._facts.whole()

    def _having(self, bit: int, nodes: Sequence[int]) -> IntArray:
        """Instances whose facts at a node have a bit, or all that carry it for 0; node by node."""
        instance, facts = self._whole
        found: list[NDArray[Any]] = [np.empty(0, np.int64)]
        for node in nodes:
            for begin, indptr in self._blocks:
                some = slice(begin + indptr[node], begin + indptr[node + 1])
                found.append(instance[some] if not bit else instance[some][facts[some] & bit > 0])
        return np.concatenate(found, dtype=np.int64, casting="same_kind")
