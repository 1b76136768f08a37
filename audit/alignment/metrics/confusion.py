"""Concept confusion: how evenly a model's scores are split between two nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.streaming import Computed, Estimate, Measure, Stream, columns
from audit.base.dag import FloatArray, IntArray, Sparse
from audit.base.errors import SchemaError
from audit.base.settings import Aggregation
from audit.counting.counts import counted_pairs
from audit.counting.pair_table import PairTable
from audit.engine.pairs.pair_counts import PairCounts, binary_entropy, merged
from audit.engine.scores.score_pairs import count_score_pairs, support_at
from audit.engine.statistics.association import ratio
from audit.engine.statistics.resampling import REPLICATES
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import aggregated_values

THRESHOLD = 1e-5
"""Default threshold: a node with a lower aggregated score is ignored."""


class ConfusionStream:
    """Concept confusion of all pairs of nodes, computed from batches of scores.

    *Abstraction Alignment*, equation 4: the mean over all instances of the entropy of two
    aggregated scores normalised to sum to one, in bits; an instance where one of them is below the
    threshold adds 0.

    Args:
        hierarchy: The hierarchy; its nodes are the columns of the scores.
        threshold: Smallest aggregated score at which a node takes part; above 0.

    Batches and streams may come in any order: counts are equal to the last bit, entropies to
    1e-12. Memory grows with the pairs met so far, not with the instances.
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        *,
        threshold: float = THRESHOLD,
        aggregation: Aggregation = "descendants",
    ) -> None:
        self.hierarchy, self.threshold, self.aggregation = hierarchy, threshold, aggregation
        self._instances = 0
        self._support = np.zeros(len(hierarchy), np.int64)
        self._pairs = PairCounts.none()

    def update(self, scores: Sparse) -> None:
        """Add the non-negative scores of further instances, shape (n_instances, n_nodes)."""
        if scores.shape[1] != len(self.hierarchy):
            raise SchemaError(
                "scores must have one column per node",
                found=f"{scores.shape[1]:,} columns, {len(self.hierarchy):,} nodes",
            )
        aggregated = aggregated_values(self.hierarchy, scores, self.aggregation)
        counted = count_score_pairs(aggregated, self.threshold)
        self._add(int(scores.shape[0]), support_at(aggregated, self.threshold), counted)

    def merge(self, other: ConfusionStream) -> None:
        """Add the counts of another stream."""
        mine, theirs = ((s.hierarchy.sha256, s.threshold, s.aggregation) for s in (self, other))
        if mine != theirs:
            raise SchemaError(
                "only confusion over one hierarchy, threshold and aggregation can be merged",
                found=f"{self.hierarchy.name} at {self.threshold:g} by {self.aggregation} and "
                f"{other.hierarchy.name} at {other.threshold:g} by {other.aggregation}",
            )
        self._add(other._instances, other._support, other._pairs)

    def compute(self) -> pl.DataFrame:
        """All pairs that some instance carries, ancestor pairs included; no row without any.

        Columns ``a, b, support_a, support_b, joint, rate, confusion, relation, lca``; rate and
        confusion are over all instances seen.
        """
        counted = counted_pairs(self._pairs, self._instances).lazy()
        table = PairTable(counted, lambda: self.hierarchy, self._support, self._instances)
        return table.frame.select(*_SHOWN).collect()

    def _add(self, instances: int, supports: IntArray, counted: PairCounts) -> None:
        self._instances += instances
        self._support += supports
        self._pairs = merged(self._pairs, counted, len(self.hierarchy))


def concept_confusion(
    hierarchy: Hierarchy, scores: Sparse, *, threshold: float = THRESHOLD
) -> pl.DataFrame:
    """Compute `ConfusionStream` on a whole array of shape (n_instances, n_nodes)."""
    stream = ConfusionStream(hierarchy, threshold=threshold)
    stream.update(scores)
    return stream.compute()


_SHOWN = ("a", "b", "support_a", "support_b", "joint", "rate", "confusion", "relation", "lca")


@dataclass(frozen=True, eq=False)
class PairConfusion(Measure):
    """Concept confusion of one pair of nodes, as a streaming metric with a bootstrap interval."""

    a: str
    b: str
    threshold: float = THRESHOLD
    parameters: Mapping[str, object] = field(default_factory=dict)
    statistics: ClassVar[tuple[str, ...]] = ("instances", "entropy")

    def update(self, batch: Batch) -> FloatArray:
        """The number one, and the entropy in bits of the two aggregated scores."""
        first, second = (batch.aggregated(node) for node in (self.a, self.b))
        both = (first >= self.threshold) & (second >= self.threshold)
        entropy = np.zeros(len(batch))
        entropy[both] = binary_entropy(first[both], second[both])
        return np.column_stack([np.ones(len(batch)), entropy])

    def compute(self, sums: FloatArray) -> Computed:
        """``confusion``; n counts all instances."""
        instances, entropy = columns(sums)
        return {"confusion": (ratio(entropy, instances), instances)}


def pair_confusions(
    hierarchy: Hierarchy,
    scores: Sparse,
    pairs: Sequence[tuple[str, str]],
    units: Sequence[str],
    *,
    threshold: float = THRESHOLD,
    aggregation: Aggregation = "descendants",
    seed: int = 0,
    replicates: int = REPLICATES,
) -> list[Estimate]:
    """Concept confusion of the given pairs, in their order, with bootstrap intervals.

    Args:
        scores: Shape (n_instances, n_nodes).
        units: Resampling unit of each instance: its group, or its own id.
    """
    measures = [PairConfusion(a, b, threshold) for a, b in pairs]
    stream = Stream(hierarchy, measures, seed=seed, replicates=replicates)
    gold = csr_array(scores.shape, dtype=np.int64)
    stream.update(Batch(hierarchy, gold, scores, units, aggregation))
    return stream.compute()
