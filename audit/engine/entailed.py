"""Joint instances that one label alone explains: it lies at or below both nodes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

from audit.engine.rows import row_numbers

Sparse: TypeAlias = csr_array[Any, tuple[int, int]]
IntArray: TypeAlias = NDArray[np.int64]


def sole_labels(direct: Sparse, closure: Sparse) -> Sparse:
    """The label through which alone an instance carries a node.

    Args:
        direct: 0/1, shape (n_instances, n_nodes), canonical CSR.
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).

    Returns:
        Shape (n_instances, n_nodes), canonical CSR, a value stored for every carried node: one
        plus the label where it is the only one at or below the node, 0 where there are several.
    """
    label = direct.indices.astype(np.int64) + 1
    numbered = csr_array((label, direct.indices, direct.indptr), shape=direct.shape)
    count, total = csr_array(direct @ closure), csr_array(numbered @ closure)
    count.sort_indices()
    total.sort_indices()
    sole = np.where(count.data == 1, total.data, 0)
    return csr_array((sole, count.indices, count.indptr), shape=count.shape)


def count_entailed(sole: Sparse) -> Sparse:
    """Joint instances of each pair without two different labels, one at or below each node.

    They are those that carry both nodes through one and the same label: only ancestor pairs, and
    pairs that share a descendant, have any.

    Args:
        sole: From `sole_labels`.

    Returns:
        Upper triangle of shape (n_nodes, n_nodes), int64, canonical CSR.

    Time and memory grow with the sum over labels of (ancestors)^2.
    """
    alone = np.flatnonzero(sole.data)
    keys = row_numbers(sole)[alone] * np.int64(sole.shape[1] + 1) + sole.data[alone]
    lines, line = np.unique(keys, return_inverse=True)
    shape = (len(lines), sole.shape[1])
    through = csr_array((np.ones(len(alone), np.int64), (line, sole.indices[alone])), shape=shape)
    counts = csr_array(triu(through.T @ through, k=1, format="csr"))
    counts.sort_indices()
    return counts
