"""Resampled splits: which instances a seed draws, and what each of them is for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.concepts.classes import Described
from audit.engine.statistics.resampling import unit_keys

MOST_ROWS = 10_000
"""Instances that a split draws; the most frequent classes are cut first."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Centre and scale of a layer: one number for all features, so that angles stay.

    Args:
        mean: Shape (features,).
        size: Root of the mean squared distance of a feature from its mean.
    """

    mean: FloatArray
    size: float

    def __call__(self, layer: FloatArray) -> FloatArray:
        """Features with mean 0 and, all together, mean square 1."""
        return np.asarray((layer - self.mean) / self.size)


def scaling_of(layer: FloatArray) -> Scaling:
    """The scaling of rows of a layer, shape (n, features); size 1 if all rows are equal."""
    size = float(np.sqrt(layer.var(axis=0).mean()))
    return Scaling(layer.mean(axis=0), size if size > 0 else 1.0)


@dataclass(frozen=True, eq=False)
class Split:
    """The instances of one seed, in an order that their ids and the seed alone decide.

    Args:
        seed: The seed.
        rows: Their rows in the representations.
        codes: Their concepts, shape ``(rows, dimensions)``.
        class_of: Their classes.
        quarter: 0 to 3, dealt in turn within each class. Ablation is fitted on the even half and
            judged there; probes are fitted on the odd half.
    """

    seed: int
    rows: IntArray
    codes: IntArray
    class_of: IntArray
    quarter: IntArray

    @property
    def ablating(self) -> BoolArray:
        """The half that ablation is fitted on, where its classes are seen, and all is judged on."""
        return np.asarray(self.quarter % 2 == 0)

    @property
    def probing(self) -> BoolArray:
        """The half that probes and predictions are fitted on."""
        return np.asarray(self.quarter % 2 == 1)


def draw_split(described: Described, ids: list[str], seed: int) -> Split:
    """Draw the split of a seed from the instances that take part in tests."""
    used = np.flatnonzero(described.class_of >= 0)
    keys = unit_keys([ids[row] for row in used.tolist()], seed)
    used = used[np.argsort(keys, kind="stable")]
    rank = _rank_in_class(described.class_of[used])
    kept = rank < _cut(np.bincount(described.class_of[used]))
    rows, rank = used[kept], rank[kept]
    return Split(seed, rows, described.codes[rows], described.class_of[rows], rank % 4)


def _rank_in_class(class_of: IntArray) -> IntArray:
    order = np.argsort(class_of, kind="stable")
    starts = np.searchsorted(class_of[order], class_of[order])
    rank = np.empty(len(class_of), np.int64)
    rank[order] = np.arange(len(class_of)) - starts
    return rank


def _cut(counts: IntArray) -> int:
    """The number of instances of a class beyond which the rest is left out."""
    ordered = np.sort(counts)[::-1]
    below = np.concatenate([np.cumsum(ordered[::-1])[::-1][1:], [0]])
    for k, rest in enumerate(below.tolist(), start=1):
        cut = (MOST_ROWS - rest) // k
        if k == len(ordered) or ordered[k] <= cut:
            return max(int(cut), 4) if counts.sum() > MOST_ROWS else int(ordered[0])
    return 0
