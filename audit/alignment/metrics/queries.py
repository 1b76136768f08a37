"""Queries for kinds of model behaviour, evaluated instance by instance.

*Abstraction Alignment*, section 4.1 and figure 2. A query evaluates an instance's mass (its scores
divided by their sum); an instance without mass matches no query.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.engine.pairs.rows import row_numbers, row_sums
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
        asked = self.stated
        conditions = ", ".join(
            _WORDS[name].format(_span(*bounds), depth=asked.depth)
            for name, bounds in asked.conditions.items()
        )
        return f"{asked.name.capitalize()}: {conditions} (a node counts from {asked.at_least:g})"

    def matches(self, values: Sparse, hierarchy: Hierarchy) -> BoolArray:
        """Whether each instance meets every condition, shape (n_instances,); not without mass.

        Args:
            values: Non-negative scores, shape (n_instances, n_nodes), canonical CSR.
        """
        own = normalised(values)
        above, at_depth = csr_array(own @ hierarchy.closure), hierarchy.depth == self.stated.depth
        measured: dict[str, IntArray | FloatArray] = {}
        for plural, one, shares, among in (
            ("leaves", "leaf", own, hierarchy.leaf),
            ("nodes", "node", above, at_depth),
        ):
            kept = among[shares.indices] & (shares.data >= self.stated.at_least)
            rows, largest = row_numbers(shares)[kept], np.zeros(values.shape[0])
            np.maximum.at(largest, rows, shares.data[kept])
            measured[plural] = np.bincount(rows, minlength=values.shape[0])
            measured[f"largest_{one}"] = largest
        matching = row_sums(own) > 0
        for name, (least, greatest) in self.stated.conditions.items():
            matching &= (measured[name] >= least) & (measured[name] <= greatest)
        return matching


def _span(least: float, greatest: float) -> str:
    if greatest >= MANY:
        return f"at least {least:g}"
    return f"{least:g}" if least == greatest else f"{least:g} to {greatest:g}"
