"""Pairs of nodes with nothing in use in common: neither is above the other, and no node in use
is below both."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, triu

from audit.base.dag import IntArray, Sparse


def overlapping_pairs(edges: Sparse, closure: Sparse, support: IntArray, least: int) -> Sparse:
    """Pairs of frequent nodes with a node in use at or below both; ancestor pairs are among them.

    Args:
        edges: ``edges[child, parent] = 1``, shape (n_nodes, n_nodes).
        closure: 1 where a is i or an ancestor of i, same shape.
        support: Instances carrying each node, shape (n_nodes,).
        least: Least number of instances of a frequent node, at least 1.

    Returns:
        A value stored for each such pair, shape (n_nodes, n_nodes), upper triangle, canonical CSR.

    Two upward paths can only part at a node with several parents, so that beside the closure only
    such nodes are multiplied out.
    """
    frequent = (support >= least).astype(np.int64)
    to_frequent = csr_array(closure * frequent[None, :])
    comparable = csr_array(to_frequent * frequent[:, None])
    several = (np.diff(edges.indptr) > 1) & (support > 0)
    forks = csr_array(to_frequent[np.flatnonzero(several)])
    common = csr_array(triu(comparable + comparable.T + forks.T @ forks, k=1, format="csr"))
    common.eliminate_zeros()
    common.sort_indices()
    return common


def count_disjoint_pairs(common: Sparse, support: IntArray, least: int) -> int:
    """Number of pairs of frequent nodes with nothing in use in common.

    Pairs without a joint instance count too; no pair is built.

    Args:
        common: From `overlapping_pairs`.
        support: Instances carrying each node, shape (n_nodes,).
        least: As in `overlapping_pairs`.
    """
    frequent = int((support >= least).sum())
    return frequent * (frequent - 1) // 2 - int(common.nnz)
