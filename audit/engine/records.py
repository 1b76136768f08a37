"""Instances one by one: which of them a comparison looks at, and what they carry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from audit.engine.expectation import NO_PARENT

Sparse: TypeAlias = csr_array[Any, tuple[int, int]]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

SEVERAL = -1
"""Stands for a node that an instance carries through several labels."""


@dataclass(frozen=True, eq=False)
class Records:
    """Instances that have a stratum, those of a group one after the other.

    Args:
        instance: Number of each in the dataset, shape (n,).
        stratum: Shape (n,).
        group: What each is repeated in, ascending, shape (n,); without groups each is its own.
        carriers: For each node the instances that carry it, and the label through which alone they
            do, plus one, or `SEVERAL`; shape (n, n_nodes).
    """

    instance: IntArray
    stratum: IntArray
    group: IntArray
    carriers: csc_array

    def __len__(self) -> int:
        return len(self.instance)

    def carrying(self, node: int) -> IntArray:
        """Positions of the instances that carry a node, ascending."""
        return self.carriers.indices[self._stored(node)].astype(np.int64)

    def given(self, parent_a: int, parent_b: int) -> IntArray:
        """Positions of the instances that a comparison looks at; all of them given length."""
        if parent_a == NO_PARENT:
            return np.arange(len(self))
        return np.intersect1d(self.carrying(parent_a), self.carrying(parent_b), assume_unique=True)

    def through(self, nodes: Iterable[int], rows: IntArray) -> IntArray:
        """The sole label (plus one), `SEVERAL`, or 0 where not carried; shape (n_rows, n_nodes)."""
        nodes = list(nodes)
        found = np.empty((len(nodes), len(rows)), np.int64)
        scratch = np.zeros(len(self), np.int64)
        for place, node in enumerate(nodes):
            stored = self._stored(node)
            scratch[self.carriers.indices[stored]] = self.carriers.data[stored]
            found[place] = scratch[rows]
            scratch[self.carriers.indices[stored]] = 0
        return found.T

    def joint(self, a: int, b: int) -> IntArray:
        """Positions of the instances that carry both nodes through different labels, ascending."""
        rows = np.intersect1d(self.carrying(a), self.carrying(b), assume_unique=True)
        first, second = self.through((a, b), rows).T
        return rows[through_two(first, second)]

    def _stored(self, node: int) -> slice:
        return slice(int(self.carriers.indptr[node]), int(self.carriers.indptr[node + 1]))


def through_two(first: IntArray, second: IntArray) -> BoolArray:
    """Whether two nodes are carried, and not through one and the same label; shapes as given."""
    one_label = (first == second) & (first != SEVERAL)
    return np.asarray((first != 0) & (second != 0) & ~one_label)


def records(sole: Sparse, stratum: IntArray, group_of: IntArray | None) -> Records:
    """The instances that have a stratum.

    Args:
        sole: From `audit.engine.entailed.sole_labels`.
        stratum: Of each instance, shape (n_instances,); -1 for none.
        group_of: Group of each instance, shape (n_instances,); None without groups.
    """
    group = np.arange(len(stratum)) if group_of is None else group_of
    kept = np.flatnonzero(stratum >= 0)
    kept = kept[np.argsort(group[kept], kind="stable")]
    through = csr_array(sole[kept])
    marked = np.where(through.data == 0, SEVERAL, through.data)
    carriers = csr_array((marked, through.indices, through.indptr), shape=through.shape)
    return Records(kept, stratum[kept], group[kept], csc_array(carriers))
