"""A batch of instances with labels and scores, what metrics share of it, and their cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.base.errors import SchemaError
from audit.base.settings import Aggregation, Levels
from audit.engine.pairs.rows import Answers, highest, row_numbers, row_sums, stored
from audit.engine.scores.cuts import (
    Cut,
    atom_values,
    cut_values,
    depth_cut,
    entropy,
    level_cut,
    normalised,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import aggregated_values


@dataclass(frozen=True, eq=False)
class Moves:
    """Cuts of a hierarchy by their number, and which two are compared.

    Args:
        kind: ``depth`` or ``level``, as the parameters of metrics spell it.
        cuts: The cuts by depth or level; none is the root alone.
        pairs: Fine and coarse number of each comparison.
    """

    kind: str
    cuts: Mapping[int, Cut]
    pairs: tuple[tuple[int, int], ...]
    aggregation: Aggregation = "descendants"

    def at(self, number: int) -> Mapping[str, object]:
        """Parameters of a metric at one cut."""
        return {"aggregation": self.aggregation, f"{self.kind}_to": number}

    def between(self, fine: int, coarse: int) -> Mapping[str, object]:
        """Parameters of a metric between two cuts."""
        return {
            "aggregation": self.aggregation,
            f"{self.kind}_from": fine,
            f"{self.kind}_to": coarse,
        }


def moves_of(hierarchy: Hierarchy, levels: Levels, aggregation: Aggregation) -> Moves:
    """The moves of a hierarchy, from fine to coarse, each adjacent one and all from the leaves.

    ``depth`` takes the nodes at each depth with the leaves above it; ``paper`` the nodes whose
    shortest path to a leaf has so many nodes (*Abstraction Alignment*, section 3.1), of nested ones
    the topmost, and without the root, in which everything would agree.
    """
    if levels == "paper":
        highest = int(np.delete(hierarchy.level, hierarchy.root).max(initial=0))
        cuts = {at: _level_cut(hierarchy, at) for at in range(1, highest + 1)}
        return Moves("level", cuts, tuple(level_pairs(highest)), aggregation)
    deepest = int(hierarchy.depth.max())
    closure, depth, leaf = hierarchy.closure, hierarchy.depth, hierarchy.leaf
    cuts = {at: depth_cut(closure, depth, leaf, at) for at in range(1, deepest + 1)}
    return Moves("depth", cuts, tuple(depth_pairs(deepest)), aggregation)


def depth_pairs(deepest: int) -> list[tuple[int, int]]:
    """Pairs of depths to compare: each with the one above, the deepest with all; never the root.

    >>> depth_pairs(3)
    [(2, 1), (3, 1), (3, 2)]
    """
    adjacent = {(depth + 1, depth) for depth in range(1, deepest)}
    return sorted(adjacent | {(deepest, depth) for depth in range(1, deepest)})


def level_pairs(highest: int) -> list[tuple[int, int]]:
    """Pairs of levels to compare: each with the one above, the leaves with all.

    >>> level_pairs(3)
    [(1, 2), (1, 3), (2, 3)]
    """
    adjacent = {(level, level + 1) for level in range(1, highest)}
    return sorted(adjacent | {(1, level) for level in range(2, highest + 1)})


def _level_cut(hierarchy: Hierarchy, at: int) -> Cut:
    without_root = hierarchy.level.copy()
    without_root[hierarchy.root] = 0
    return level_cut(hierarchy.closure, without_root, at)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some instances of a dataset, or all of them.

    Values that several metrics need are computed once and cached. Memory grows with the number of
    stored scores times the number of cuts requested, so pass large datasets in several batches.

    Raises:
        SchemaError: If the shapes do not match each other and the hierarchy.
    """

    hierarchy: Hierarchy
    gold: Sparse
    """Direct labels, 0/1, shape (n_instances, n_nodes), canonical CSR."""
    scores: Sparse
    """A model's non-negative scores of nodes, shape (n_instances, n_nodes), canonical CSR."""
    units: Sequence[str] = ()
    """Resampling unit of each instance: its group, or its own id."""
    aggregation: Aggregation = "descendants"
    """What an aggregated value is."""
    _by_cut: dict[Cut, Sparse] = field(default_factory=dict, init=False, repr=False)
    _answers: dict[Cut, Answers] = field(default_factory=dict, init=False, repr=False)
    _entropy: dict[Cut, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        required = (self.scores.shape[0], len(self.hierarchy))
        if self.gold.shape != required or self.scores.shape != required:
            raise SchemaError(
                "gold labels and scores must be of shape (instances, nodes)",
                found=f"gold {self.gold.shape}, scores {self.scores.shape}, "
                f"{len(self.hierarchy):,} nodes",
            )
        if self.units and len(self.units) != len(self):
            raise SchemaError(
                "one unit per instance is required",
                found=f"{len(self.units):,} units, {len(self):,} instances",
            )

    def __len__(self) -> int:
        return int(self.scores.shape[0])

    @cached_property
    def labels(self) -> tuple[IntArray, IntArray]:
        """Instance and node of each direct label, both of shape (n_labels,)."""
        kept = self.gold.data > 0
        return row_numbers(self.gold)[kept], self.gold.indices[kept].astype(np.int64)

    @cached_property
    def answers(self) -> Answers:
        """The node with the highest score of each instance, before aggregation."""
        return highest(self.scores)

    @cached_property
    def massive(self) -> BoolArray:
        """Whether each instance has a score above zero, shape (n_instances,)."""
        return self.answers.column >= 0

    def aggregated(self, node: str) -> FloatArray:
        """Aggregated score of one node, shape (n_instances,)."""
        column = self._aggregated[:, [self.hierarchy.index(node)]]
        return np.asarray(column.toarray(), np.float64).ravel()

    @cached_property
    def _aggregated(self) -> csc_array[Any]:
        return csc_array(aggregated_values(self.hierarchy, self.scores, self.aggregation))

    def values(self, cut: Cut) -> Sparse:
        """Values by which a cut is compared, and what is under none of its nodes.

        Of descendants, those of the cut's atoms, shape (n_instances, n_atoms). In the other
        readings, those of its nodes and a last column of what is under none of them, shape
        (n_instances, n_cut + 1).
        """
        if cut not in self._by_cut:
            self._by_cut[cut] = self._values(cut)
        return self._by_cut[cut]

    def _values(self, cut: Cut) -> Sparse:
        by_atom = atom_values(self.scores, cut)
        if self.aggregation == "descendants":
            return by_atom
        none = np.zeros((len(self), 1))
        above = none if cut.residual < 0 else by_atom[:, [cut.residual]].toarray()
        return csr_array(hstack([self._aggregated[:, cut.nodes], csr_array(above)], format="csr"))

    def residual_share(self, cut: Cut) -> FloatArray:
        """Share of each instance's mass that is under no node of a cut, shape (n_instances,)."""
        of_nodes = self.aggregation != "descendants"
        column = len(cut.nodes) if of_nodes else cut.residual
        shares = normalised(self.values(cut))
        shares.data[shares.indices != column] = 0.0
        return row_sums(shares)

    def answers_at(self, cut: Cut) -> Answers:
        """The cut node with the highest aggregated value, as position in ``cut.nodes``."""
        if cut not in self._answers:
            by_node = self.aggregation != "descendants"
            values = self.values(cut)
            of_cut = csr_array(values[:, :-1]) if by_node else cut_values(values, cut)
            self._answers[cut] = highest(of_cut)
        return self._answers[cut]

    def entropy(self, cut: Cut) -> FloatArray:
        """Shannon entropy in bits over the cut's values, shape (n_instances,)."""
        if cut not in self._entropy:
            self._entropy[cut] = entropy(normalised(self.values(cut)))
        return self._entropy[cut]

    def expected_at(self, cut: Cut) -> BoolArray:
        """Whether each instance has a direct label at or below the cut, shape (n_instances,)."""
        instance, node = self.labels
        return self._any(instance[cut.atom_of[node] != cut.residual])

    def right_at(self, cut: Cut) -> BoolArray:
        """Whether each answer at a cut is a direct label or its ancestor, shape (n_instances,)."""
        instance, node = self.labels
        column = self.answers_at(cut).column[instance]
        above = stored(self.hierarchy.closure, node, cut.nodes[column]) & (column >= 0)
        return self._any(instance[above])

    def within(self, nodes: Sequence[str]) -> BoolArray:
        """Whether a direct label is at or below each given node, shape (n_instances, n_given)."""
        places = np.array([self.hierarchy.index(node) for node in nodes], np.int64)
        carried = csr_array(self.gold @ self.hierarchy.closure[:, places])
        return np.asarray(carried.toarray() > 0)

    def _any(self, instance: IntArray) -> BoolArray:
        return np.bincount(instance, minlength=len(self)) > 0
