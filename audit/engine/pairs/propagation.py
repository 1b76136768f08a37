"""Propagation of values up the hierarchy, in three readings."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, eye_array

from audit.base.dag import IntArray, Sparse
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
