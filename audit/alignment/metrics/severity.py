"""Severity of mistakes: height at which a wrong answer and the label meet in the hierarchy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.streaming import Computed, Measure, columns
from audit.base.dag import FloatArray, IntArray, lowest_common_ancestors
from audit.engine.statistics.association import ratio
from audit.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class MistakeSeverity(Measure):
    """Mean height of the lowest common ancestor of answer and label, over wrong answers.

    Bertinetto et al., *Making Better Mistakes*, who define it on trees. On a DAG the lowest common
    ancestor is the deepest common one, ties by smaller height, then node
    order, as for all pairs of nodes. The answer is the node with the highest score, before
    aggregation. Of several labels, the one with the smallest height counts. Instances without a
    label or an answer are left out.
    """

    parameters: Mapping[str, object] = field(default_factory=dict)
    statistics: ClassVar[tuple[str, ...]] = ("mistaken", "height")

    def update(self, batch: Batch) -> FloatArray:
        """Whether each answer is wrong, and the height of its mistake."""
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
        """``mistake_severity``, in edges; n is the number of mistakes, undefined where it is 0."""
        mistaken, height = columns(sums)
        return {"mistake_severity": (ratio(height, mistaken), mistaken)}


def _meeting_height(hierarchy: Hierarchy, a: IntArray, b: IntArray) -> FloatArray:
    """Height of the lowest common ancestor of each pair; each different pair is looked up once."""
    pairs, pair_of = np.unique(a * np.int64(len(hierarchy)) + b, return_inverse=True)
    first, second = np.divmod(pairs, len(hierarchy))
    meeting = lowest_common_ancestors(
        hierarchy.closure, hierarchy.depth, hierarchy.height, first, second
    )
    return hierarchy.height[meeting][pair_of].astype(np.float64)
