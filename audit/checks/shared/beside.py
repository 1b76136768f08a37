"""One kernel for labels together: labels of an instance, and what a relation names beside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import IntArray, Sparse
from audit.checks.check import TOP_PARTS
from audit.checks.shared.carriers import label_part
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
    def hit(self) -> Sparse:
        """1 where an instance has a node beside a label that the relation names it beside."""
        found = csr_array(csr_array(self.labels @ self.relation).multiply(self.other))
        found.data[:] = 1
        return found

    @cached_property
    def instances(self) -> IntArray:
        """The instances with such a node, ascending."""
        return np.flatnonzero(np.diff(self.hit.indptr))

    @cached_property
    def pairs(self) -> list[tuple[int, int, int]]:
        """A label, the node beside it, and the instances with both: the most first."""
        joint = csr_array(self.labels.T @ self.hit).multiply(self.relation).tocoo()
        found = zip(joint.row.tolist(), joint.col.tolist(), joint.data.tolist(), strict=True)
        return sorted(found, key=lambda pair: (-pair[2], pair[:2]))

    def told(self, measured: Measurements, of: int, **texts: str) -> dict[str, Any]:
        """What a `Row` says of these instances, among so many, with some texts of its own."""
        parts = [label_part(measured.hierarchy, (a, b), n) for a, b, n in self.pairs[:TOP_PARTS]]
        return {
            "nodes": parts[0].nodes,
            "evidence": {
                **texts,
                **share_evidence(len(self.instances), of),
                "pairs": len(self.pairs),
            },
            "parts": tuple(parts),
            "cases": lambda: self.instances,
        }
