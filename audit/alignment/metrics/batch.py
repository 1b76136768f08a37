"""Some instances with labels and scores, and what metrics share of them, also at a cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, hstack

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.base.settings import Aggregation
from audit.engine.pairs.rows import Answers, highest, row_numbers, row_sums, stored
from audit.engine.scores.cuts import Cut, atom_values, entropy, normalised
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import aggregated_values


@dataclass(frozen=True, eq=False)
class Batch:
    """Some instances of a dataset, or all of them; what several metrics need is computed once.

    Args:
        gold: Direct labels, 0/1, shape (n_instances, n_nodes), canonical CSR.
        scores: A model's scores of nodes, not negative, same shape, canonical CSR without zeros.
        units: Resampling unit of each instance: its group, or its own id.
        aggregation: What an aggregated value is.

    Memory grows with the number of scores times the number of cuts, so pass large datasets in
    several batches.
    """

    hierarchy: Hierarchy
    gold: Sparse
    scores: Sparse
    units: Sequence[str] = ()
    aggregation: Aggregation = "descendants"
    _cuts: dict[Cut, AtCut] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return int(self.scores.shape[0])

    @cached_property
    def labels(self) -> tuple[IntArray, IntArray]:
        """Instance and node of each direct label, both of shape (n_labels,)."""
        return row_numbers(self.gold), self.gold.indices.astype(np.int64)

    @cached_property
    def answers(self) -> Answers:
        """The node with the highest score of each instance, before aggregation."""
        return highest(self.scores)

    @cached_property
    def aggregated(self) -> Sparse:
        """Aggregated scores, shape (n_instances, n_nodes)."""
        return aggregated_values(self.hierarchy, self.scores, self.aggregation)

    def part(self, rows: slice) -> Batch:
        """The instances of some rows, as a batch."""
        return replace(self, gold=self.gold[rows], scores=self.scores[rows], units=self.units[rows])

    def at(self, cut: Cut) -> AtCut:
        """The instances at a cut."""
        return self._cuts.setdefault(cut, AtCut(self, cut))

    def within(self, nodes: Sequence[str]) -> BoolArray:
        """Whether a direct label is at or below each given node, shape (n_instances, n_given)."""
        places = np.array([self.hierarchy.index(node) for node in nodes], np.int64)
        carried = csr_array(self.gold @ self.hierarchy.closure[:, places])
        return np.asarray(carried.toarray() > 0)


@dataclass(frozen=True, eq=False)
class AtCut:
    """The instances of a batch at a cut."""

    batch: Batch
    cut: Cut

    @cached_property
    def values(self) -> Sparse:
        """Values by which the cut is compared, and what is under none of its nodes.

        Of descendants, those of the cut's atoms, shape (n_instances, n_atoms). In the other
        readings, those of its nodes and a last column of what is under none of them, shape
        (n_instances, n_cut + 1).
        """
        by_atom, cut = atom_values(self.batch.scores, self.cut), self.cut
        if self._by_atom:
            return by_atom
        none = csr_array((len(self.batch), 1))
        above = none if cut.residual < 0 else by_atom[:, [cut.residual]]
        return csr_array(hstack([self.batch.aggregated[:, cut.nodes], above], format="csr"))

    @property
    def _by_atom(self) -> bool:
        return self.batch.aggregation == "descendants"

    @cached_property
    def residual_share(self) -> FloatArray:
        """Share of each instance's mass that is under no node of the cut, shape (n_instances,)."""
        shares = normalised(self.values)
        column = self.cut.residual if self._by_atom else len(self.cut.nodes)
        shares.data[shares.indices != column] = 0.0
        return row_sums(shares)

    @cached_property
    def entropy(self) -> FloatArray:
        """Shannon entropy in bits over the cut's values, shape (n_instances,)."""
        return entropy(normalised(self.values))

    @cached_property
    def answers(self) -> Answers:
        """The cut node with the highest aggregated value, as position in ``cut.nodes``."""
        if not self._by_atom:
            return highest(csr_array(self.values[:, :-1]))
        return highest(csr_array(self.values @ self.cut.atoms[:, self.cut.nodes]))

    @cached_property
    def expected(self) -> BoolArray:
        """Whether each instance has a direct label at or below the cut, shape (n_instances,)."""
        instance, node = self.batch.labels
        return self._any(instance[self.cut.atom_of[node] != self.cut.residual])

    @cached_property
    def right(self) -> BoolArray:
        """Whether each answer is a direct label or its ancestor, shape (n_instances,)."""
        instance, node = self.batch.labels
        answer = self.answers.column[instance]
        above = stored(self.batch.hierarchy.closure, node, self.cut.nodes[answer]) & (answer >= 0)
        return self._any(instance[above])

    def _any(self, instance: IntArray) -> BoolArray:
        """Whether each instance is among the given ones, shape (n_instances,)."""
        return np.bincount(instance, minlength=len(self.batch)) > 0
