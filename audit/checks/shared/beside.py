"""One kernel for labels together: labels of an instance, and what a relation names beside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import IntArray, Sparse, edge_matrix
from audit.checks.shared.carriers import most_frequent
from audit.measure.measure import Measurements
from audit.results.findings import share_evidence


@dataclass(frozen=True, eq=False)
class Beside:
    """Labels of instances, and the nodes that a relation names beside them.

    Args:
        labels: 1 where an instance has a label, shape (n_instances, n_nodes).
        relation: 1 where the column is named beside the label of the row, shape (n_nodes, n_nodes).
        other: 1 where an instance has, or carries, a node, shape (n_instances, n_nodes).
    """

    labels: Sparse
    relation: Sparse
    other: Sparse

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray, IntArray]:
        """Labels, the node beside each, and the instances with both, shape (n_pairs,) each."""
        some = np.flatnonzero(np.diff(self.relation.indptr))
        joint = csr_array(csr_array(self.labels[:, some]).T @ self.other)
        found = joint.multiply(self.relation[some]).tocoo()
        return some[found.row], found.col.astype(np.int64), found.data.astype(np.int64)

    @cached_property
    def hit(self) -> Sparse:
        """1 where an instance has a node beside a label that the relation names it beside.

        Only pairs that some instance has are looked for, so that a wide relation costs no more.
        """
        met = edge_matrix(*self.pairs[:2], self.relation.shape[0])
        found = csr_array(csr_array(self.labels @ met).multiply(self.other))
        found.data[:] = 1
        return found

    @cached_property
    def instances(self) -> IntArray:
        """The instances with such a node, ascending."""
        return np.flatnonzero(np.diff(self.hit.indptr))

    def told(self, measured: Measurements, of: int, **texts: str) -> dict[str, Any]:
        """What a `Row` says of these instances, among so many, with some texts of its own."""
        *ends, joint = self.pairs
        parts = most_frequent(measured.hierarchy, joint, *ends)
        return {
            "nodes": parts[0].nodes,
            "evidence": {**texts, **share_evidence(len(self.instances), of), "pairs": len(joint)},
            "parts": parts,
            "cases": lambda: self.instances,
        }
