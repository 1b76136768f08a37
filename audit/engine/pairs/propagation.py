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
