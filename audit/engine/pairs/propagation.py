"""Propagation of values up the hierarchy, from descendants to each node."""

from __future__ import annotations

from scipy.sparse import csr_array

from audit.base.dag import Sparse


def aggregate(values: Sparse, closure: Sparse) -> Sparse:
    """Aggregated value of each node: the sum of its own value and its descendants' values.

    Each descendant counts once, however many paths lead up (*Abstraction Alignment*, the sentence
    under Algorithm 1).

    Args:
        values: Shape (n_instances, n_nodes); 0/1 for labels, scores for predictions.
        closure: ``closure[i, a] = 1`` where a is i or an ancestor of i, shape (n_nodes, n_nodes).

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
