"""Labels of instances below a node, and whether all of them are residual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import IntArray, Sparse, row


@dataclass(frozen=True)
class LabelsBelow:
    """Direct labels strictly below each node, counted per instance.

    Args:
        labels: Number of labels, shape (n_nodes, n_instances).
        specific: Number of those that do not count as residual, same shape.
    """

    labels: Sparse
    specific: Sparse

    def labelled(self, parent: int) -> IntArray:
        """Indices of instances with a direct label strictly below a node, ascending."""
        return row(self.labels, parent)

    def only_residual(self, parent: int) -> IntArray:
        """Indices of instances all of whose labels below a node are residual, ascending."""
        labelled = self.labelled(parent)
        return np.delete(labelled, np.searchsorted(labelled, row(self.specific, parent)))


def labels_below(direct: Sparse, strict_closure: Sparse, residual: IntArray) -> LabelsBelow:
    """Count direct labels strictly below each node, and the specific ones among them.

    Args:
        direct: 0/1, shape (n_instances, n_nodes).
        strict_closure: 1 where a is an ancestor of i, shape (n_nodes, n_nodes).
        residual: Indices of the nodes that count as residual.
    """
    specific = np.setdiff1d(np.arange(direct.shape[1]), residual)
    specific_below = count_below(direct, strict_closure, specific)
    return LabelsBelow(
        specific_below + count_below(direct, strict_closure, residual), specific_below
    )


def count_below(direct: Sparse, strict_closure: Sparse, counted: IntArray) -> Sparse:
    """Count the direct labels strictly below each node that are among given nodes.

    Args:
        direct: 0/1, shape (n_instances, n_nodes).
        strict_closure: 1 where a is an ancestor of i, shape (n_nodes, n_nodes).
        counted: Indices of the nodes that count.

    Returns:
        Number of such labels, shape (n_nodes, n_instances), canonical CSR.
    """
    kept = csr_array(direct, copy=True)
    kept.data[~np.isin(kept.indices, counted)] = 0
    kept.eliminate_zeros()
    below = csr_array((kept @ strict_closure).T)
    below.sort_indices()
    return below
