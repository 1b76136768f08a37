"""How far up the hierarchy one must go until a mistaken answer and the truth meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.streaming import Computed, Estimate, Measure, columns, ratio, whole
from audit.base.dag import FloatArray, IntArray, Sparse, lowest_common_ancestors
from audit.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class MistakeSeverity(Measure):
    """Mean height of the lowest common ancestor of answer and label, over mistakes.

    Bertinetto et al., *Making Better Mistakes*, who define it on trees. Here the ancestor is the
    one that pairs of nodes are told by everywhere: the deepest, ties by smaller height, then node
    order. The answer is the node with the highest score of its own. Of several labels the one
    that gives the smallest height counts; instances without a label or an answer are left out.
    """

    parameters: Mapping[str, object] = field(default_factory=dict)
    statistics: ClassVar[tuple[str, ...]] = ("mistaken", "height")

    def update(self, batch: Batch) -> FloatArray:
        """Whether each instance is mistaken, and by what height."""
        instance, label = batch.labels
        answer = batch.answers.column[instance]
        known = answer >= 0
        instance, label, answer = instance[known], label[known], answer[known]
        smallest = np.full(len(batch), np.inf)
        np.minimum.at(smallest, instance, _meeting_height(batch.hierarchy, answer, label))
        right = np.bincount(instance[answer == label], minlength=len(batch)) > 0
        mistaken = np.isfinite(smallest) & ~right
        return np.column_stack([mistaken, np.where(mistaken, smallest, 0.0)])

    def compute(self, sums: FloatArray) -> Computed:
        """``mistake_severity``, in edges; undefined without mistakes, which n counts."""
        mistaken, height = columns(sums)
        return {"mistake_severity": (ratio(height, mistaken), mistaken)}


def mistake_severity(hierarchy: Hierarchy, gold: Sparse, scores: Sparse) -> Mapping[str, Estimate]:
    """`MistakeSeverity` of whole arrays, each of shape (n_instances, n_nodes), by name."""
    return whole(MistakeSeverity(), Batch(hierarchy, gold, scores))


def _meeting_height(hierarchy: Hierarchy, a: IntArray, b: IntArray) -> FloatArray:
    """Height of the lowest common ancestor of each pair; each different pair is looked up once."""
    pairs, pair_of = np.unique(a * np.int64(len(hierarchy)) + b, return_inverse=True)
    first, second = np.divmod(pairs, len(hierarchy))
    meeting = lowest_common_ancestors(
        hierarchy.closure, hierarchy.depth, hierarchy.height, first, second
    )
    return hierarchy.height[meeting][pair_of].astype(np.float64)
