"""Propagation of values up the hierarchy, in three readings, and labels below a node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, eye_array

from audit.base.dag import IntArray, Sparse, row
from audit.base.errors import SchemaError
from audit.engine.pairs.rows import row_numbers, stored

MOST_PATHS = 2.0**53
"""Number of paths from which a float no longer counts each of them."""


def aggregate(values: Sparse, closure: Sparse) -> Sparse:
    """Aggregated value of each node: the sum of its own value and its descendants' values.

    Each descendant counts once, however many paths lead up (*Abstraction Alignment*, the sentence
    under Algorithm 1).

    Args:
        values: Shape (n_instances, n_nodes); 0/1 for labels, scores for predictions.

    Returns:
        ``values @ closure``, shape (n_instances, n_nodes), canonical CSR. An instance without
        labels stays an empty row.

    >>> a_above_b = csr_array([[1, 0], [1, 1]])
    >>> aggregate(csr_array([[0, 1], [1, 1]]), a_above_b).toarray().tolist()
    [[1, 1], [2, 1]]
    """
    aggregated = csr_array(values @ closure)
    aggregated.sort_indices()
    return aggregated


def path_counts(edges: Sparse) -> Sparse:
    """Number of paths from each node up to each node, shape (n_nodes, n_nodes), float64.

    Args:
        edges: ``edges[child, parent] = 1``, shape (n_nodes, n_nodes), without a cycle.

    Returns:
        The sum of all powers of ``edges``, canonical CSR; a node has one path to itself.

    >>> diamond = csr_array([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> path_counts(diamond).toarray()[0].tolist()
    [1.0, 1.0, 1.0, 2.0]
    """
    step = csr_array(edges.astype(np.float64))
    longer = csr_array(eye_array(edges.shape[0], format="csr"))
    total = longer
    while longer.nnz:
        longer = csr_array(step @ longer)
        total = csr_array(total + longer)
    if total.nnz and total.data.max() > MOST_PATHS:
        raise SchemaError(
            "the paths between two nodes must be few enough to be counted",
            found=f"more than {MOST_PATHS:.0g}",
            hint="aggregation = 'descendants' counts each node once",
        )
    total.sort_indices()
    return total


def keep_own_values(values: Sparse, edges: Sparse, height: IntArray) -> Sparse:
    """Aggregate by the released rule for MIMIC-III: own value, else the sum of the children's.

    Args:
        values: Own values, not negative, shape (n_instances, n_nodes).
        height: Edges on the longest path from each node to a leaf, shape (n_nodes,).

    Returns:
        Shape (n_instances, n_nodes), canonical CSR without zeros. A value above 0 hides all that
        is below its node, there and further up.

    >>> chain = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> own = csr_array([[5, 0, 0], [5, 2, 0]])
    >>> keep_own_values(own, chain, np.array([0, 1, 2])).toarray().tolist()
    [[5.0, 5.0, 5.0], [5.0, 2.0, 2.0]]
    """
    found = csr_array(values.astype(np.float64))
    found.eliminate_zeros()
    found.sort_indices()
    for at in range(1, int(height.max(initial=0)) + 1):
        up = csr_array(edges.astype(np.float64))
        up.data[height[up.indices] != at] = 0.0
        up.eliminate_zeros()
        from_below = csr_array(found @ up)
        from_below.sort_indices()
        own = stored(found, row_numbers(from_below), from_below.indices.astype(np.int64))
        from_below.data[own] = 0.0
        found = csr_array(found + from_below)
        found.eliminate_zeros()
    found.sort_indices()
    return found


_COUNTED_AS = np.array([1 << 40, 1 << 20, 1])
"""What a specific label, one of kind ``other`` and an ``unspecified`` one add to a node above."""
_OF_OTHERS = (-1 << 40, ~(_COUNTED_AS[0] - _COUNTED_AS[1]), -1 << 20)
"""Places of such a sum for labels that are not residual; not ``other``; not ``unspecified``."""


@dataclass(frozen=True)
class LabelsBelow:
    """Direct labels strictly below each node, counted per instance.

    Args:
        sums: What the labels add up to, shape (n_nodes, n_instances), canonical CSR.
    """

    sums: Sparse

    def labelled(self, parent: int) -> IntArray:
        """Indices of instances with a direct label strictly below a node, ascending."""
        return row(self.sums, parent)

    def only_residual(self, parent: int, kind: int = 0) -> IntArray:
        """Indices of instances all of whose labels below a node are residual, ascending.

        Args:
            kind: 1: all of them are of kind ``other``; 2: ``unspecified``; 0: of either.
        """
        sums = self.sums.data[self.sums.indptr[parent] : self.sums.indptr[parent + 1]]
        return self.labelled(parent)[np.flatnonzero(sums & _OF_OTHERS[kind] == 0)]


def labels_below(direct: Sparse, strict_closure: Sparse, kinds: IntArray) -> LabelsBelow:
    """Count direct labels strictly below each node, by kind.

    Args:
        kinds: For each node 0 specific, 1 other, 2 unspecified, shape (n_nodes,).
    """
    counted = (_COUNTED_AS[kinds[direct.indices]], direct.indices, direct.indptr)
    return LabelsBelow(csr_array((csr_array(counted, direct.shape) @ strict_closure).T))
