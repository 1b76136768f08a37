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
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row, rows
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


@dataclass(frozen=True, eq=False)
class Surprising:
    """Pairs whose p value is at most the threshold, sorted by (a, b); arrays of shape (n,).

    Args:
        observed: Number of records that carry both, without those with a label below both.
        expected: Expected number of such records.
        ancestors: Number of ancestors of the two nodes together.
        scale: What one effective record counts in observed and expected; 1 without groups.
    """

    a: IntArray
    b: IntArray
    observed: FloatArray
    expected: FloatArray
    ancestors: IntArray
    scale: FloatArray

    def __len__(self) -> int:
        return len(self.a)


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


@dataclass(frozen=True, eq=False)
class Found:
    """The finds of the scan, the strongest first; arrays of shape (n_found,).

    Args:
        pair: Position, among the surprising pairs, of the pair that is reported (named).
        strength: Log likelihood ratio of the pair at which the excess was found.
        explained: Records of the named pair that its own expectation and earlier finds explained
            when it was found.
        delta: Excess of the named pair, observed minus ``explained``, over its own expectation.
    """

    pair: IntArray
    strength: FloatArray
    explained: FloatArray
    delta: FloatArray


def strength_of(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Poisson log likelihood ratio ``O ln(O / E) - (O - E)``; shapes as given, both positive."""
    return np.asarray(observed * np.log(observed / expected) - (observed - expected))


class Scan:
    """Takes the strongest pair, names it, and lets it explain related pairs, until none is left.

    Args:
        expect: Returns the expected records of pairs, given two arrays of node indices.
    """

    def __init__(
        self,
        pairs: Surprising,
        meets: Meets,
        expect: Callable[[IntArray, IntArray], FloatArray],
        rules: Rules,
    ) -> None:
        self.pairs, self.meets, self.expect, self.rules = pairs, meets, expect, rules
        self.explained = pairs.expected.copy()
        self.waiting = np.ones(len(pairs), np.bool_)
        self._added = np.zeros(len(pairs))
        self._by_end = [self._places_by(end) for end in (pairs.a, pairs.b)]

    def _places_by(self, end: IntArray) -> Sparse:
        """A value stored for each pair in the row of its end, shape (n_nodes, n_pairs)."""
        shape, places = (len(self.meets.support), len(end)), np.arange(len(end))
        return csr_array((np.ones(len(end), np.int8), (end, places)), shape=shape)

    def run(self) -> Found:
        """Run the scan. Each find takes time that grows with the surprising pairs related to it."""
        strength = self._strength(np.arange(len(self.pairs)))
        heap = [(-g, place) for place, g in enumerate(strength.tolist())]
        heapify(heap)
        found: list[tuple[int, float, float, float]] = []
        while heap:
            less, place = heappop(heap)
            if not self.waiting[place] or -less != strength[place]:
                continue
            named = self._named(place)
            observed, explained = self.pairs.observed[named], self.explained[named]
            delta = float((observed - explained) / self.pairs.expected[named])
            found.append((named, -less, float(explained), delta))
            self.waiting[[place, named]] = False
            changed = self._explain(named, delta)
            strength[changed] = left = self._strength(changed)
            for again in zip((-left).tolist(), changed.tolist(), strict=True):
                heappush(heap, again)
        named_pairs, *numbers = np.array(found, np.float64).reshape(-1, 4).T
        return Found(named_pairs.astype(np.int64), *numbers)

    def _strength(self, places: IntArray) -> FloatArray:
        """Strength of the excess that is left of pairs, per effective record; shape as given."""
        pairs = self.pairs
        left = strength_of(pairs.observed[places], self.explained[places])
        return np.asarray(left / pairs.scale[places])

    def explaining(self, found: Found, number: int) -> list[tuple[int, float]]:
        """Earlier finds that explain part of a find, with the records explained, most first."""
        earlier = found.pair[:number]
        a, b = self.pairs.a[earlier], self.pairs.b[earlier]
        at_a, at_b = self._meets_of(int(found.pair[number]))
        added = np.zeros(number)
        for x, y in ((a, b), (b, a)):
            there = np.flatnonzero((at_a[x] >= 0) & (at_b[y] >= 0))
            expected = self.expect(at_a[x[there]], at_b[y[there]]) * found.delta[there]
            added[there] = np.maximum(added[there], expected)
        order = np.argsort(-added, kind="stable")
        return [(int(i), float(added[i])) for i in order.tolist() if added[i] > 0]

    def _meets_of(self, place: int) -> tuple[IntArray, IntArray]:
        ends = self.pairs.a[place], self.pairs.b[place]
        at_a, at_b = (self.meets.with_all(int(end)) for end in ends)
        return at_a, at_b

    def _named(self, taken: int) -> int:
        """The lowest pair that holds nearly all of a pair's records and leaves no excess."""
        pairs, rules = self.pairs, self.rules
        places = self._below(taken)
        places = places[self.waiting[places]]
        places = places[pairs.observed[places] >= NEARLY_ALL * pairs.observed[taken]]
        left = (pairs.observed[taken] - pairs.observed[places]) / pairs.scale[taken]
        unexplained = (self.explained[taken] - self.explained[places]) / pairs.scale[taken]
        p_value = poisson_p_value(left, np.maximum(unexplained, 0.0))
        excess = (left >= rules.least_joint) & (left >= rules.excess_ratio * unexplained)
        places = places[~(excess & (p_value <= rules.threshold))]
        order = np.lexsort((places, -pairs.ancestors[places], pairs.expected[places]))
        return int(places[order[0]])

    def _below(self, place: int) -> IntArray:
        """Pairs with both ends at or below those of a pair, either way round; itself included."""
        ends = self.pairs.a[place], self.pairs.b[place]
        a, b = (self.meets.at_or_below(int(end)) for end in ends)
        return np.unique(np.concatenate([self._within(a, b), self._within(b, a)]))

    def _within(self, first: BoolArray, second: BoolArray) -> IntArray:
        """Pairs with their first end among some nodes, and the second one among others.

        Of the two ends that with fewer pairs is looked up.
        """
        places = [
            rows(by_end, np.flatnonzero(nodes))
            for by_end, nodes in zip(self._by_end, (first, second), strict=True)
        ]
        some = min(places, key=len)
        return some[first[self.pairs.a[some]] & second[self.pairs.b[some]]]

    def _explain(self, named: int, delta: float) -> IntArray:
        """Let a find explain what it can of all related pairs; those that wait on, changed."""
        pairs, (at_a, at_b) = self.pairs, self._meets_of(named)
        related = []
        for at_first, at_second in ((at_a, at_b), (at_b, at_a)):
            places = self._within(at_first >= 0, at_second >= 0)
            added = self.expect(at_first[pairs.a[places]], at_second[pairs.b[places]]) * delta
            self._added[places] = np.maximum(self._added[places], added)
            related.append(places)
        changed = np.unique(np.concatenate(related))
        self._added[named] = 0.0
        self.explained[changed] += self._added[changed]
        self._added[changed] = 0.0
        changed = changed[self.waiting[changed]]
        scale = pairs.scale[changed]
        still = self.rules.surprises(
            pairs.observed[changed] / scale, self.explained[changed] / scale
        )
        self.waiting[changed[~still]] = False
        return np.asarray(changed[still])


@dataclass(frozen=True, eq=False)
class Finds:
    """A selection of the pairs that a scan found, the strongest first.

    Args:
        numbers: Positions of the selected ones, ascending, shape (n_finds,).
    """

    scan: Scan
    found: Found
    numbers: IntArray

    def __getitem__(self, chosen: IntArray) -> Finds:
        return Finds(self.scan, self.found, self.numbers[chosen])

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def places(self) -> IntArray:
        """Positions among the surprising pairs, shape (n_finds,)."""
        return self.found.pair[self.numbers]

    @property
    def ends(self) -> tuple[IntArray, IntArray]:
        """First and second nodes, shape (n_finds,) each."""
        return self.scan.pairs.a[self.places], self.scan.pairs.b[self.places]

    @property
    def observed(self) -> FloatArray:
        """What joint records without a label below both nodes weigh, shape (n_finds,)."""
        return self.scan.pairs.observed[self.places]

    @property
    def explained(self) -> FloatArray:
        """Joint records expected from record length and earlier finds, shape (n_finds,)."""
        return self.found.explained[self.numbers]

    @property
    def delta(self) -> FloatArray:
        """Excess over the expectation from record length, shape (n_finds,)."""
        return self.found.delta[self.numbers]
