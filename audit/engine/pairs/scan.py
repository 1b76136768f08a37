"""The tree-based scan over pairs of nodes, which finds where in the hierarchy an excess arises.

Every pair above a surprising one is surprising too, and many below it. The scan takes the strongest
pair, lets its excess explain what it can of all related pairs, and goes on with what is left
(Kulldorff, Fang and Walsh 2003, applied to pairs of nodes of a directed acyclic graph).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row, rows
from audit.base.declared import schema
from audit.engine.pairs.entailed import pairs_above
from audit.engine.statistics.association import poisson_p_value


class Meets:
    """Computes the meet of a node with every other node that has one.

    The meet of two nodes is the lower one if one is above the other; else their common descendant
    that most records carry, ties going to the first in node order. On a tree only nodes of which
    one is above the other meet.
    """

    def __init__(self, closure: Sparse, support: IntArray) -> None:
        self.closure, self.below, self.support = closure, csr_array(closure.T), support
        parted = (pairs_above(closure) > 0).astype(np.int64)
        self._overlapping = np.asarray(self.below @ parted > 0)
        self._known: dict[int, tuple[IntArray, IntArray]] = {}

    def of(self, node: int) -> tuple[IntArray, IntArray]:
        """The nodes that have a meet with a node, itself included, ascending, and their meets.

        Both arrays have the same shape. Time grows with the ancestors of the node's descendants.
        """
        if node not in self._known:
            self._known[node] = self._meets_of(node)
        return self._known[node]

    def with_all(self, node: int) -> IntArray:
        """The meet of a node with each node, shape (n_nodes,); -1 where there is none."""
        found = np.full(len(self.support), -1, np.int64)
        nodes, meets = self.of(node)
        found[nodes] = meets
        return found

    def at_or_below(self, node: int) -> BoolArray:
        """Whether each node is a node or one of its descendants, shape (n_nodes,)."""
        found = np.zeros(len(self.support), np.bool_)
        found[row(self.below, node)] = True
        return found

    def _meets_of(self, node: int) -> tuple[IntArray, IntArray]:
        above, below = row(self.closure, node), row(self.below, node)
        nodes, meets = [above, below], [np.full(len(above), node), below]
        if self._overlapping[node]:
            shared = below[np.lexsort((-below, self.support[below]))]
            nodes.insert(0, rows(self.closure, shared))
            meets.insert(0, np.repeat(shared, np.diff(self.closure.indptr)[shared]))
        every, where = np.concatenate(nodes), np.concatenate(meets)
        reached, last = np.unique(every[::-1], return_index=True)
        return reached, where[::-1][last]


LEAST_FACTOR = 1.1
"""Least observed over expected of a pair that takes part, unless lower ratios are reported."""
NEARLY_ALL = 0.9
"""Share of a pair's records that a pair below it must have to be reported in its place."""


@dataclass(frozen=True)
class Rules:
    """The limits from which a number of records is an excess.

    Args:
        threshold: The largest p value of a surprising pair.
        least_joint: Least number of records of an excess.
        excess_ratio: Least observed over expected of an excess that is reported.
    """

    threshold: float
    least_joint: float
    excess_ratio: float

    @property
    def factor(self) -> float:
        """Least observed over expected of a surprising pair."""
        return min(LEAST_FACTOR, self.excess_ratio)

    def surprises(self, observed: FloatArray, expected: FloatArray) -> BoolArray:
        """Whether observed numbers are surprising, given the expected ones; shape as given."""
        found = (observed >= self.least_joint) & (observed >= self.factor * expected)
        found[found] = poisson_p_value(observed[found], expected[found]) <= self.threshold
        return found


def strength_of(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Poisson log likelihood ratio ``O ln(O / E) - (O - E)``; shapes as given, both positive."""
    return np.asarray(observed * np.log(observed / expected) - (observed - expected))


FINDS = schema(("pair a b", pl.Int64), ("strength observed expected explained delta", pl.Float64))
"""What is found, the strongest first: the pair that is named, as its position among the surprising
ones and by its nodes; the log likelihood ratio of the pair at which the excess was found; records
of the named pair as observed, as expected by itself, and as explained by that and earlier finds
when it was found; and its excess over ``explained`` as a share of ``expected``."""


class Scan:
    """Takes the strongest pair, names it, and lets it explain related pairs, until none is left.

    Args:
        pairs: Pairs whose p value is at most the threshold, sorted: ``a, b``; ``observed`` records
            that carry both, without those with a label below both, and ``expected`` ones;
            ``ancestors`` of the two nodes together; ``scale``, what one effective record counts in
            observed and expected, 1 without groups.
        expect: Returns the expected records of pairs, given two arrays of node indices.
    """

    def __init__(
        self,
        pairs: pl.DataFrame,
        meets: Meets,
        expect: Callable[[IntArray, IntArray], FloatArray],
        rules: Rules,
    ) -> None:
        self.meets, self.expect, self.rules = meets, expect, rules
        self.a, self.b, self.ancestors = (
            pairs[name].to_numpy() for name in ("a", "b", "ancestors")
        )
        numbers = ("observed", "expected", "scale")
        self.observed, self.expected, self.scale = (pairs[name].to_numpy() for name in numbers)
        self.explained = self.expected.copy()
        self.waiting = np.ones(len(pairs), np.bool_)
        self._added = np.zeros(len(pairs))
        shape, each = (len(meets.support), len(pairs)), np.arange(len(pairs))
        self._by_end = [
            csr_array((np.ones(len(pairs), np.int8), (end, each)), shape=shape)
            for end in (self.a, self.b)
        ]

    def run(self) -> pl.DataFrame:
        """The finds, as `FINDS`; each takes time that grows with the surprising pairs related."""
        strength = self._strength(np.arange(len(self.a)))
        heap = [(-g, place) for place, g in enumerate(strength.tolist())]
        heapify(heap)
        found = list[tuple[float, ...]]()
        while heap:
            less, place = heappop(heap)
            if not self.waiting[place] or -less != strength[place]:
                continue
            named = self._named(place)
            records = self.observed[named], self.expected[named], self.explained[named]
            delta = float((records[0] - records[2]) / records[1])
            found.append((named, self.a[named], self.b[named], -less, *records, delta))
            self.waiting[[place, named]] = False
            changed = self._explain(named, delta)
            strength[changed] = left = self._strength(changed)
            for again in zip((-left).tolist(), changed.tolist(), strict=True):
                heappush(heap, again)
        rows = np.array(found, np.float64).reshape(-1, len(FINDS))
        frame = pl.DataFrame(rows, schema=[*FINDS])
        return frame.select(pl.col(name).cast(kind) for name, kind in FINDS.items())

    def _strength(self, places: IntArray) -> FloatArray:
        """Strength of the excess that pairs have left, over their `scale`; shape as given."""
        left = strength_of(self.observed[places], self.explained[places])
        return np.asarray(left / self.scale[places])

    def explaining(self, found: pl.DataFrame, number: int) -> list[tuple[int, float]]:
        """Numbers of earlier finds that explain part of a find, with the records, most first."""
        a, b, delta = (found[:number][name].to_numpy() for name in ("a", "b", "delta"))
        at_a, at_b = self._meets_of_ends(found["pair"][number])
        added = np.zeros(number)
        for x, y in ((a, b), (b, a)):
            there = np.flatnonzero((at_a[x] >= 0) & (at_b[y] >= 0))
            expected = self.expect(at_a[x[there]], at_b[y[there]]) * delta[there]
            added[there] = np.maximum(added[there], expected)
        order = np.argsort(-added, kind="stable")
        return [(i, float(added[i])) for i in order.tolist() if added[i] > 0]

    def _meets_of_ends(self, place: int) -> tuple[IntArray, IntArray]:
        """Meets of a pair's first node with every node, and of its second, (n_nodes,) each."""
        return self.meets.with_all(int(self.a[place])), self.meets.with_all(int(self.b[place]))

    def _named(self, taken: int) -> int:
        """The pair to name for one: the lowest with nearly all its records and no excess left."""
        rules, scale = self.rules, self.scale[taken]
        a, b = (self.meets.at_or_below(int(end[taken])) for end in (self.a, self.b))
        places = np.unique(np.concatenate([self._within(a, b), self._within(b, a)]))
        places = places[self.waiting[places]]
        places = places[self.observed[places] >= NEARLY_ALL * self.observed[taken]]
        left = (self.observed[taken] - self.observed[places]) / scale
        unexplained = (self.explained[taken] - self.explained[places]) / scale
        p_value = poisson_p_value(left, np.maximum(unexplained, 0.0))
        excess = (left >= rules.least_joint) & (left >= rules.excess_ratio * unexplained)
        places = places[~(excess & (p_value <= rules.threshold))]
        order = np.lexsort((places, -self.ancestors[places], self.expected[places]))
        return int(places[order[0]])

    def _within(self, first: BoolArray, second: BoolArray) -> IntArray:
        """Pairs with their first end among some nodes, and the second one among others.

        Of the two ends that with fewer pairs is looked up.
        """
        places = [
            rows(by_end, np.flatnonzero(nodes))
            for by_end, nodes in zip(self._by_end, (first, second), strict=True)
        ]
        some = min(places, key=len)
        return np.asarray(some[first[self.a[some]] & second[self.b[some]]])

    def _explain(self, named: int, delta: float) -> IntArray:
        """Let a find explain what it can of related pairs; those changed that still surprise."""
        at_a, at_b = self._meets_of_ends(named)
        related = []
        for at_first, at_second in ((at_a, at_b), (at_b, at_a)):
            places = self._within(at_first >= 0, at_second >= 0)
            added = self.expect(at_first[self.a[places]], at_second[self.b[places]]) * delta
            self._added[places] = np.maximum(self._added[places], added)
            related.append(places)
        changed = np.unique(np.concatenate(related))
        self._added[named] = 0.0
        self.explained[changed] += self._added[changed]
        self._added[changed] = 0.0
        changed = changed[self.waiting[changed]]
        observed, explained = self.observed[changed], self.explained[changed]
        still = self.rules.surprises(
            observed / self.scale[changed], explained / self.scale[changed]
        )
        self.waiting[changed[~still]] = False
        return np.asarray(changed[still])
