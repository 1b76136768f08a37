"""Groups amplified pairs of nodes (see `amplified`) that are the same phenomenon."""

from __future__ import annotations

import numpy as np

from audit.base.dag import BoolArray, IntArray, Sparse
from audit.engine.pairs.amplified import Carried, Together

MOST = 0.5
"""Share of a pair's predicted instances: it stands for itself only if at least so many are not
covered by pairs reported before, and a pair below names it only if it holds at least so many."""


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

    Args:
        carried: Nodes of labels and predictions.
        pairs: The pairs that pass on all instances.
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).
        ratio: Least ratio of predicted to labelled.
        p: Greatest p value.

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
