"""Queries for kinds of model behaviour, evaluated instance by instance.

*Abstraction Alignment*, section 4.1 and figure 2. A query evaluates an instance's mass (its scores
divided by their sum); an instance without mass matches no query.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.engine.pairs.rows import row_numbers
from audit.engine.scores.cuts import normalised
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.rules import MANY, BehaviourQuery

_WORDS = {
    "leaves": "leaves that count: {}",
    "nodes": "nodes at depth {depth}: {}",
    "largest_leaf": "the largest leaf in {}",
    "largest_node": "the largest node at depth {depth} in {}",
}


@dataclass(frozen=True)
class Query:
    """A yes-or-no question about one instance, as a policy or an option states it.

    A node counts from ``at_least`` of an instance's mass. Nodes at a depth have the aggregated
    value, each descendant once.
    """

    stated: BehaviourQuery

    @property
    def words(self) -> str:
        """The question as worded in reports."""
        return (
            f"{self.stated.name.capitalize()}: {', '.join(self._conditions())} "
            f"(a node counts from {self.stated.at_least:g})"
        )

    def matches(self, values: Sparse, hierarchy: Hierarchy) -> BoolArray:
        """Whether each instance meets every condition, shape (n_instances,); not without mass.

        Args:
            values: Non-negative scores, shape (n_instances, n_nodes), canonical CSR.
        """
        own = normalised(values)
        above = csr_array(own @ hierarchy.closure)
        groups = {
            "leaves": (own, hierarchy.leaf),
            "nodes": (above, hierarchy.depth == self.stated.depth),
        }
        found = {name: _counted(*group, self.stated.at_least) for name, group in groups.items()}
        measured: dict[str, IntArray | FloatArray] = {
            "leaves": found["leaves"][0],
            "nodes": found["nodes"][0],
            "largest_leaf": found["leaves"][1],
            "largest_node": found["nodes"][1],
        }
        matching = np.bincount(row_numbers(own)[own.data > 0], minlength=values.shape[0]) > 0
        for name, (least, greatest) in self.stated.conditions.items():
            matching &= (measured[name] >= least) & (measured[name] <= greatest)
        return matching

    def _conditions(self) -> list[str]:
        depth = self.stated.depth
        return [
            _WORDS[name].format(_span(*bounds), depth=depth)
            for name, bounds in self.stated.conditions.items()
        ]


def _counted(shares: Sparse, among: BoolArray, at_least: float) -> tuple[IntArray, FloatArray]:
    """How many chosen columns of each row reach a share, and the largest of these, 0 without."""
    kept = among[shares.indices] & (shares.data >= at_least)
    rows, data = row_numbers(shares)[kept], shares.data[kept]
    largest = np.zeros(shares.shape[0])
    np.maximum.at(largest, rows, data)
    return np.bincount(rows, minlength=shares.shape[0]), largest


def _span(least: float, greatest: float) -> str:
    if greatest >= MANY:
        return f"at least {least:g}"
    return f"{least:g}" if least == greatest else f"{least:g} to {greatest:g}"
