"""Pairs of nodes that a model predicts more often than they are labelled, and which are the same
phenomenon."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.special import bdtrc, xlogy

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.engine.pairs.joint import joint_counts
from audit.engine.pairs.pair_counts import support
from audit.engine.pairs.propagation import aggregate
from audit.engine.pairs.rows import counts_at

MOST = 0.5
"""Share of a pair's predicted instances: it stands for itself only if at least so many are not
covered by pairs reported before, and a pair below names it only if it holds at least so many."""


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
        return Together(*(getattr(self, field.name)[chosen] for field in fields(self)))

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
        others = (
            counts_at(joint_counts(_sorted(csr_array(part))), a, b)
            for part in (predicted, labelled.multiply(predicted))
        )
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


def _with_both(columns: csc_array, a: int, b: int) -> IntArray:
    first, second = (columns.indices[columns.indptr[i] : columns.indptr[i + 1]] for i in (a, b))
    return np.intersect1d(first, second).astype(np.int64)


def representatives(
    carried: Carried, pairs: Together, closure: Sparse, *, ratio: float, p: float
) -> IntArray:
    """For each pair the position of the pair that represents its phenomenon, shape (n_pairs,).

    A pair that represents its own phenomenon has its own position. Pairs are visited from the
    strongest down. A pair *stands* if it still passes the ratio and p on the instances that no
    representative so far has in data or model, with at least `MOST` of its predicted instances
    there. A pair that does not stand is represented by the representative that has most of its
    predicted instances. A pair that stands is represented by the strongest pair below it that
    stands too and holds at least `MOST` of its predicted instances there, and so on downwards as
    long as there is such a pair.

    Time grows with pairs times instances per pair times phenomena.
    """
    found = _Phenomena(carried, pairs, closure, ratio, p)
    by = np.full(len(pairs), -1, np.int64)
    for place in np.lexsort((pairs.b, pairs.a, -pairs.strength)).tolist():
        if by[place] >= 0:
            continue
        if found.stand(np.array([place]))[0]:
            by[place] = named = found.tell(place, np.flatnonzero(by < 0))
            by[named] = named
        else:
            by[place] = found.most_like(place)
    return by


class _Phenomena:
    """The pairs, the representatives so far, and the instances that none of these covers."""

    def __init__(
        self, carried: Carried, pairs: Together, closure: Sparse, ratio: float, p: float
    ) -> None:
        self._pairs, self._ratio, self._p = pairs, ratio, p
        self._closure = closure
        ends = zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)
        self._met = [carried.met(a, b) for a, b in ends]
        self._left = np.ones(carried.labelled.shape[0], np.bool_)
        self._named: list[int] = []

    def stand(self, places: IntArray) -> BoolArray:
        """Whether each pair stands on the instances that are left, shape (n_places,)."""
        there, whole = self._rest(places), self._pairs.predicted[places]
        passes = there.p_value(self._ratio) <= self._p
        return np.asarray(passes & (there.predicted >= MOST * whole))

    def tell(self, place: int, open_: IntArray) -> int:
        """The pair that represents a pair that stands; the instances of the former are covered now.

        ``open_`` are the undecided pairs, including the pair itself.
        """
        named, below = place, self._holding(place, open_)
        while below.size:
            named = int(below[np.argmax(self._pairs.strength[below])])
            below = below[self._below(named, below) & (below != named)]
        self._named.append(named)
        for rows in self._met[named]:
            self._left[rows] = False
        return named

    def most_like(self, place: int) -> int:
        """The representative that has most of a pair's predicted instances."""
        _, own = self._met[place]
        shared = [len(np.intersect1d(own, self._met[told][1])) for told in self._named]
        return self._named[int(np.argmax(shared))]

    def _holding(self, place: int, open_: IntArray) -> IntArray:
        """The open pairs below one that stand and hold most of its predicted instances."""
        below = open_[self._below(place, open_) & (open_ != place)]
        whole, there = self._rest(np.array([place])), self._rest(below)
        most = there.predicted >= MOST * whole.predicted
        return np.asarray(below[most & self.stand(below)])

    def _below(self, place: int, others: IntArray) -> BoolArray:
        """Which pairs have both ends at or below those of one, either way round."""
        a, b = int(self._pairs.a[place]), int(self._pairs.b[place])
        first, second = self._pairs.a[others], self._pairs.b[others]
        under_a, under_b = (self._closure[:, [end]].toarray().ravel() > 0 for end in (a, b))
        straight = under_a[first] & under_b[second]
        return np.asarray(straight | (under_b[first] & under_a[second]))

    def _rest(self, places: IntArray) -> Together:
        """Pairs counted only on the instances that no representative covers."""
        counts = np.empty((len(places), 3), np.int64)
        for line, place in enumerate(places.tolist()):
            labelled, predicted = self._met[place]
            kept = np.intersect1d(labelled, predicted, assume_unique=True)
            counts[line] = [self._left[rows].sum() for rows in (labelled, predicted, kept)]
        pairs = self._pairs
        return Together(pairs.a[places], pairs.b[places], *counts.T)
