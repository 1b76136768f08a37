"""Scores of classes as scores of nodes: rows and columns of a matrix, put where they belong."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse

ROWS_PER_BLOCK = 1_024
"""Number of rows of a matrix that are mapped to nodes at a time, so that memory stays bounded."""

Stored: TypeAlias = tuple[FloatArray, NDArray[np.int32], NDArray[Any]]
"""Values, columns and row ends of the cells of a matrix that are not 0, in canonical order."""


def placed_scores(
    scores: FloatArray | Sparse, rows: IntArray, nodes: IntArray, n_nodes: int
) -> Sparse:
    """Some rows, with each column at its node; canonical, without zeros.

    Args:
        scores: Shape (n_read, n_classes).
        rows: Rows of it, in the order wanted, shape (n,).
        nodes: Node of each column, -1 for none, shape (n_classes,).
        n_nodes: Columns of the result.
    """
    order = np.argsort(nodes, kind="stable")
    columns = order[nodes[order] >= 0]
    data, column, indptr = (
        _stored(scores, rows, columns)
        if isinstance(scores, np.ndarray)
        else _listed(csr_array(scores[rows][:, columns]))
    )
    own = nodes[columns].astype(np.int32)[column]
    return csr_array((data, own, indptr), shape=(len(rows), n_nodes))


def have_score(scores: FloatArray | Sparse, rows: IntArray, columns: IntArray) -> BoolArray:
    """Whether some rows have a score above 0 in some columns, shape (n,)."""
    sums = scores[:, columns].sum(axis=1)
    return np.asarray(sums).ravel()[rows] > 0


def _listed(scores: Sparse) -> Stored:
    scores.eliminate_zeros()
    scores.sort_indices()
    return scores.data, scores.indices.astype(np.int32), scores.indptr


def _stored(scores: FloatArray, rows: IntArray, columns: IntArray) -> Stored:
    """Some rows and columns, a block of rows at a time."""
    blocks = [rows[start : start + ROWS_PER_BLOCK] for start in range(0, len(rows), ROWS_PER_BLOCK)]
    counts = [np.count_nonzero(scores[np.ix_(block, columns)], axis=1) for block in blocks]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    data, column = np.empty(indptr[-1]), np.empty(indptr[-1], np.int32)
    for number, block in enumerate(blocks):
        part = scores[np.ix_(block, columns)]
        first = number * ROWS_PER_BLOCK
        own = slice(indptr[first], indptr[first + len(block)])
        held = np.nonzero(part)
        data[own], column[own] = part[held], held[1]
    return data, column, indptr
