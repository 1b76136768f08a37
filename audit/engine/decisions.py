"""From scores to decisions, and where decisions and labels part."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from audit.engine.rows import highest

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


def exchanged(labels: Sparse, decided: Sparse) -> Sparse:
    """Instances where one node of a pair is the label and the other the prediction.

    Args:
        labels: 0/1, shape (n_instances, n_nodes).
        decided: 0/1, same shape.

    Returns:
        Symmetric int64 counts, shape (n_nodes, n_nodes): instances labelled a and not b, for which
        b is predicted and not a, or the other way round.
    """
    missed = csr_array(labels - labels.multiply(decided))
    false = csr_array(decided - decided.multiply(labels))
    missed.eliminate_zeros()
    false.eliminate_zeros()
    one_way = csr_array(missed.T @ false)
    both = csr_array(one_way + one_way.T)
    both.sort_indices()
    return both
