"""Pairs of nodes that a model predicts together more often than the data have them together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.special import bdtrc, xlogy

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.engine.pairs.joint import joint_counts
from audit.engine.pairs.pair_counts import support
from audit.engine.pairs.propagation import aggregate


@dataclass(frozen=True, eq=False)
class Together:
    """Numbers of instances on which data and model have both nodes of pairs, shape (n_pairs,).

    Args:
        a: Node indices.
        b: Node indices, greater than ``a``.
        labelled: Instances labelled with both.
        predicted: Instances predicted with both.
        kept: Instances labelled and predicted with both.
    """

    a: IntArray
    b: IntArray
    labelled: IntArray
    predicted: IntArray
    kept: IntArray

    def __len__(self) -> int:
        return len(self.a)

    def __getitem__(self, chosen: BoolArray | IntArray) -> Together:
        return Together(
            self.a[chosen],
            self.b[chosen],
            self.labelled[chosen],
            self.predicted[chosen],
            self.kept[chosen],
        )

    @property
    def added(self) -> IntArray:
        """Instances predicted with both nodes but not labelled with both, shape (n_pairs,)."""
        return self.predicted - self.kept

    @property
    def dropped(self) -> IntArray:
        """Instances labelled with both nodes but not predicted with both, shape (n_pairs,)."""
        return self.labelled - self.kept

    def p_value(self, ratio: float) -> FloatArray:
        """P values of a one-sided sign test of added against dropped instances, shape (n_pairs,).

        Under the null hypothesis instances are as often added as dropped. The p value is 1 where
        predicted over labelled is below ``ratio``.
        """
        tested = (self.added > 0) & (self.predicted >= ratio * self.labelled)
        p_value = np.ones(len(self))
        both = (self.added + self.dropped)[tested]
        p_value[tested] = bdtrc(self.added[tested] - 1, both, 0.5)
        return p_value

    @property
    def strength(self) -> FloatArray:
        """Log likelihood ratio against the hypothesis of as many added as dropped, (n_pairs,).

        ``added ln(added / m) + dropped ln(dropped / m)`` with m their mean; 0 where both are 0.
        """
        mean = (self.added + self.dropped) / 2
        return np.asarray(
            sum(xlogy(part, part / np.maximum(mean, 0.5)) for part in (self.added, self.dropped)),
            np.float64,
        )


@dataclass(frozen=True, eq=False)
class Carried:
    """Nodes that the labels and the predictions of the same instances carry.

    Args:
        labelled: 1 where a label is at or below a node, shape (n_instances, n_nodes).
        predicted: The same for predictions.
    """

    labelled: Sparse
    predicted: Sparse

    @classmethod
    def of(cls, labels: Sparse, decided: Sparse, closure: Sparse) -> Carried:
        """Build from direct labels and predictions, 0/1, shape (n_instances, n_nodes)."""
        return cls(*(_ones(aggregate(part, closure)) for part in (labels, decided)))

    def together(self, least: float) -> Together:
        """Every pair of nodes that are labelled together on at least ``least`` instances.

        Time and memory grow with the sum over instances of (nodes per instance)^2, where only
        nodes on at least ``least`` instances count.
        """
        often = np.flatnonzero(support(self.labelled) >= least)
        labelled, predicted = (
            csr_array(part[:, often]) for part in (self.labelled, self.predicted)
        )
        in_data = joint_counts(_sorted(labelled)).tocoo()
        enough = in_data.data >= least
        a, b = (ends[enough].astype(np.int64) for ends in (in_data.row, in_data.col))
        others = (_counts_of(part, a, b) for part in (predicted, labelled.multiply(predicted)))
        counts = in_data.data[enough].astype(np.int64)
        return Together(often[a], often[b], counts, *others)

    def met(self, a: int, b: int) -> tuple[IntArray, IntArray]:
        """Instances labelled, and instances predicted, with both nodes; ascending."""
        labelled, predicted = (_with_both(columns, a, b) for columns in self._columns)
        return labelled, predicted

    @cached_property
    def _columns(self) -> tuple[csc_array, csc_array]:
        return csc_array(self.labelled), csc_array(self.predicted)


def _ones(values: Sparse) -> Sparse:
    return csr_array((np.ones_like(values.data), values.indices, values.indptr), values.shape)


def _sorted(matrix: Sparse) -> Sparse:
    matrix.sum_duplicates()
    return matrix


def _counts_of(carried: Sparse, a: IntArray, b: IntArray) -> IntArray:
    joint = joint_counts(_sorted(csr_array(carried)))
    return np.asarray(joint[a, b] if len(a) else [], np.int64)


def _with_both(columns: csc_array, a: int, b: int) -> IntArray:
    first, second = (columns.indices[columns.indptr[i] : columns.indptr[i + 1]] for i in (a, b))
    return np.intersect1d(first, second).astype(np.int64)
