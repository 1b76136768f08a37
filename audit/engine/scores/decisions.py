"""Decisions from scores: which nodes are predicted."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import Sparse
from audit.engine.pairs.rows import highest


def decide(scores: Sparse, threshold: float, *, single_label: bool) -> Sparse:
    """The predicted nodes: the highest score of each instance, or all scores from a threshold up.

    Args:
        scores: Shape (n_instances, n_nodes), canonical CSR.
        threshold: Least score of a predicted node; not used if ``single_label``.
        single_label: Whether to predict only the node of the highest score; ties go to the first.

    Returns:
        0/1, int64, same shape. With ``single_label`` an instance without a score above 0 has no
        prediction.
    """
    if single_label:
        best = highest(scores).column
        answered = np.flatnonzero(best >= 0)
        ones = np.ones(len(answered), np.int64)
        return csr_array((ones, (answered, best[answered])), shape=scores.shape)
    reached = (scores.data >= threshold).astype(np.int64)
    pattern = (reached, scores.indices, scores.indptr)
    decided = csr_array(pattern, shape=scores.shape, copy=True)  # zeros are dropped in place
    decided.eliminate_zeros()
    return decided
