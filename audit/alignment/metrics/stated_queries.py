"""Queries that a policy states, or that the released notebook asks, by counts and sizes of nodes.

*Abstraction Alignment*, section 4.1: types of behaviour "based on the number of nodes the model
considers at each level and how it distributes its confidence across nodes".
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.sparse import csr_array

from audit.alignment.metrics.queries import Query
from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.engine.pairs.rows import row_numbers
from audit.engine.scores.cuts import normalised
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.model_questions import BehaviourQuery

_WORDS = {
    "leaves": "leaves that count: {}",
    "nodes": "nodes at depth {depth}: {}",
    "largest_leaf": "the largest leaf in {}",
    "largest_node": "the largest node at depth {depth} in {}",
}


class Stated(Query):
    """A query as a policy or an option states it; a published one by its name alone.

    A node counts from ``at_least`` of an instance's mass. Nodes at a depth have the aggregated
    value, each descendant once.
    """

    def __init__(self, stated: BehaviourQuery) -> None:
        self.stated = stated.as_published
        self.name = stated.name
        self.words = (
            f"{self.name.capitalize()}: {', '.join(self._conditions())} "
            f"(a node counts from {self.stated.at_least:g})"
        )

    @property
    def parameters(self) -> Mapping[str, float]:
        """Share of the mass from which a node counts."""
        return {"at_least": self.stated.at_least}

    def matches(self, values: Sparse, hierarchy: Hierarchy) -> BoolArray:
        """Whether each instance meets every condition, shape (n_instances,); not without mass."""
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
    return f"{least:g}" if least == greatest else f"{least:g} to {greatest:g}"
