"""What instances are labelled with below a node, and whether it is residual throughout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Sparse: TypeAlias = csr_array[Any, tuple[int, int]]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class LabelsBelow:
    """Direct labels strictly below each node, counted per instance.

    Args:
        labels: How many there are, shape (n_nodes, n_instances).
        specific: How many of them do not count as residual, same shape.
    """

    labels: Sparse
    specific: Sparse

    def labelled(self, parent: int) -> IntArray:
        """Instances with a direct label strictly below a node, in order."""
        return _stored(self.labels, parent)

    def only_residual(self, parent: int) -> IntArray:
        """Those of them all of whose labels below the node are residual, in order."""
        labelled = self.labelled(parent)
        return np.delete(labelled, np.searchsorted(labelled, _stored(self.specific, parent)))


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
    """Direct labels strictly below each node that are among some nodes, canonical.

    Args:
        direct: 0/1, shape (n_instances, n_nodes).
        strict_closure: 1 where a is an ancestor of i, shape (n_nodes, n_nodes).
        counted: Indices of the nodes that count.

    Returns:
        How many there are, shape (n_nodes, n_instances).
    """
    kept = csr_array(direct, copy=True)
    kept.data[~np.isin(kept.indices, counted)] = 0
    kept.eliminate_zeros()
    below = csr_array((kept @ strict_closure).T)
    below.sort_indices()
    return below


def _stored(matrix: Sparse, line: int) -> IntArray:
    return matrix.indices[matrix.indptr[line] : matrix.indptr[line + 1]].astype(np.int64)
