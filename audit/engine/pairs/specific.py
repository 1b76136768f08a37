"""The most specific labels of each record: those without another of its labels below them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import Sparse

LEAST_LABELS = 2
"""Least number of most specific labels of a record that takes part in the judgement of pairs."""


def most_specific(direct: Sparse, above: Sparse) -> Sparse:
    """Leave out every label above another label of the same record, as it adds no information.

    Args:
        direct: Direct labels, 0/1, shape (n_records, n_nodes), canonical CSR.
        above: A positive value stored where a node is strictly above a label of the record, same
            shape.

    Returns:
        0/1, same shape, int64, canonical CSR. A record with labels keeps one of them at least.
    """
    superfluous = csr_array(direct.multiply(above))
    if not superfluous.nnz:
        return direct
    superfluous.data[:] = 1
    kept = csr_array(direct - superfluous)
    kept.eliminate_zeros()
    kept.sort_indices()
    return csr_array((np.ones(kept.nnz, np.int64), kept.indices, kept.indptr), shape=kept.shape)
