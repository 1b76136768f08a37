"""From scores to decisions."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from audit.engine.pairs.rows import highest

Sparse: TypeAlias = csr_array[Any, tuple[int, int]]


def decide(scores: Sparse, threshold: float, *, single_label: bool) -> Sparse:
    """What is predicted: the highest score of each instance, or every score at the threshold.

    Args:
        scores: Shape (n_instances, n_nodes), canonical CSR.
        threshold: A score from here up is a prediction; not used for a single label.
        single_label: Whether each instance has one answer; of equal scores the first node's is it.

    Returns:
        0/1, int64, same shape. An instance without a score above 0 has no one answer.
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
