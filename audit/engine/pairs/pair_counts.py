"""All pairs of nodes that some instance carries: their joint counts and their concept confusion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, IntArray, Sparse
from audit.base.progress import Progress, silent
from audit.engine.pairs.confusion import entropy_deficits
from audit.engine.pairs.joint import joint_counts
from audit.engine.pairs.rows import row_numbers


@dataclass(frozen=True)
class PairCounts:
    """All pairs of nodes that some instance carries together, a before b, sorted.

    Args:
        a: Node indices, shape (n_pairs,).
        b: Node indices, shape (n_pairs,), ``a < b``.
        joint: Instances carrying both, int64, shape (n_pairs,), at least 1.
        confusion_sum: Summed entropies of the two values in bits, shape (n_pairs,).
    """

    a: IntArray
    b: IntArray
    joint: IntArray
    confusion_sum: FloatArray

    def __len__(self) -> int:
        return len(self.a)

    def __getitem__(self, chosen: IntArray) -> PairCounts:
        return PairCounts(
            self.a[chosen], self.b[chosen], self.joint[chosen], self.confusion_sum[chosen]
        )

    @classmethod
    def none(cls) -> PairCounts:
        """Counts without any pair."""
        empty = np.empty(0, np.int64)
        return cls(empty, empty, empty, np.empty(0))


def merged(first: PairCounts, second: PairCounts, n_nodes: int) -> PairCounts:
    """Sum of the counts of two sets of instances: joint counts exactly, entropies to rounding."""
    keys = np.concatenate([counts.a * n_nodes + counts.b for counts in (first, second)])
    pairs, pair = np.unique(keys, return_inverse=True)
    joint = np.zeros(len(pairs), np.int64)
    np.add.at(joint, pair, np.concatenate([first.joint, second.joint]))
    confusion_sum = np.zeros(len(pairs))
    np.add.at(confusion_sum, pair, np.concatenate([first.confusion_sum, second.confusion_sum]))
    a, b = np.divmod(pairs, n_nodes)
    return PairCounts(a, b, joint, confusion_sum)


def support(aggregated: Sparse) -> IntArray:
    """Number of instances carrying each node, int64, shape (n_nodes,)."""
    return np.bincount(aggregated.indices, minlength=aggregated.shape[1]).astype(np.int64)


def count_pairs(aggregated: Sparse, progress: Progress = silent) -> PairCounts:
    """Count the instances that carry both nodes of each pair, and sum their confusion.

    Args:
        aggregated: Aggregated values, shape (n_instances, n_nodes), positive where stored,
            canonical CSR.
        progress: Progress callback.

    Returns:
        Every pair with a joint instance, ancestor pairs and the root included; empty arrays where
        there is none.

    Time and memory grow with the sum over instances of (nodes per instance)^2, not with n_nodes^2.
    """
    used = np.flatnonzero(support(aggregated))
    compact = csr_array(aggregated[:, used])
    deficits = entropy_deficits(compact, progress)
    joint = joint_counts(compact, progress)
    first = np.repeat(np.arange(len(used)), np.diff(joint.indptr))
    confusion = joint.data.astype(np.float64)
    unequal = first * len(used) + joint.indices
    unequal = np.searchsorted(unequal, row_numbers(deficits) * len(used) + deficits.indices)
    confusion[unequal] -= deficits.data
    return PairCounts(used[first], used[joint.indices], joint.data.astype(np.int64), confusion)
