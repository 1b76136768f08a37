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
        return np.setdiff1d(
            self.labelled(parent), _stored(self.specific, parent), assume_unique=True
        )


def labels_below(direct: Sparse, strict_closure: Sparse, residual: IntArray) -> LabelsBelow:
    """Count direct labels strictly below each node, and the specific ones among them.

    Args:
        direct: 0/1, shape (n_instances, n_nodes).
        strict_closure: 1 where a is an ancestor of i, shape (n_nodes, n_nodes).
        residual: Indices of the nodes that count as residual.
    """
    specific = csr_array(direct, copy=True)
    specific.data[np.isin(specific.indices, residual)] = 0
    specific.eliminate_zeros()
    return LabelsBelow(_by_node(direct, strict_closure), _by_node(specific, strict_closure))


def _by_node(labels: Sparse, strict_closure: Sparse) -> Sparse:
    """Labels strictly below each node, canonical, shape (n_nodes, n_instances)."""
    below = csr_array((labels @ strict_closure).T)
    below.sort_indices()
    return below


def _stored(matrix: Sparse, line: int) -> IntArray:
    return matrix.indices[matrix.indptr[line] : matrix.indptr[line + 1]].astype(np.int64)
