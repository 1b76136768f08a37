"""The tree-based scan over pairs of nodes, which finds where in the hierarchy an excess arises.

Every pair above a surprising one is surprising too, and many below it. The scan takes the strongest
pair, lets its excess explain what it can of all related pairs, and goes on with what is left
(Kulldorff, Fang and Walsh 2003, applied to pairs of nodes of a directed acyclic graph).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
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

    def at_or_below(self, node: int) -> IntArray:
        """A node and its descendants, ascending."""
        return row(self.below, node)

    def _meets_of(self, node: int) -> tuple[IntArray, IntArray]:
        above, below = row(self.closure, node), self.at_or_below(node)
        nodes, meets = [above, below], [np.full(len(above), node), below]
        if self._overlapping[node]:
            shared = below[np.lexsort((-below, self.support[below]))]
            starts, widths = self.closure.indptr[shared], np.diff(self.closure.indptr)[shared]
            steps = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)
            nodes.insert(0, self.closure.indices[np.repeat(starts, widths) + steps])
            meets.insert(0, np.repeat(shared, widths))
        every = np.concatenate(nodes).astype(np.int64)
        where = np.concatenate(meets).astype(np.int64)
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
        n_nodes = len(meets.support)
        self._ends = [_Places(end, n_nodes) for end in (pairs.a, pairs.b)]
        self._at = np.full((2, n_nodes), -1, np.int64)
        self._is_below = np.zeros(self._at.shape, np.bool_)

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
        place, earlier = int(found.pair[number]), found.pair[:number]
        a, b = self.pairs.a[earlier], self.pairs.b[earlier]
        self._mark(int(self.pairs.a[place]), int(self.pairs.b[place]))
        added = np.zeros(number)
        for x, y in ((a, b), (b, a)):
            at_a, at_b = self._at[0, x], self._at[1, y]
            there = np.flatnonzero((at_a >= 0) & (at_b >= 0))
            expected = self.expect(at_a[there], at_b[there]) * found.delta[there]
            added[there] = np.maximum(added[there], expected)
        self._unmark(int(self.pairs.a[place]), int(self.pairs.b[place]))
        order = np.argsort(-added, kind="stable")
        return [(int(i), float(added[i])) for i in order.tolist() if added[i] > 0]

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
        a, b = int(self.pairs.a[place]), int(self.pairs.b[place])
        ends = [self.meets.at_or_below(node) for node in (a, b)]
        for side, nodes in enumerate(ends):
            self._is_below[side, nodes] = True
        found = []
        for side, some in self._either_way(*ends):
            first, second = self._is_below[side], self._is_below[1 - side]
            found.append(some[first[self.pairs.a[some]] & second[self.pairs.b[some]]])
        for side, nodes in enumerate(ends):
            self._is_below[side, nodes] = False
        return np.unique(np.concatenate(found))

    def _either_way(self, near_a: IntArray, near_b: IntArray) -> Iterator[tuple[int, IntArray]]:
        """Pairs that may have an end in each set of nodes, first one way round, then the other.

        Of the two ends that with fewer pairs is looked at; the other is left to the caller.
        """
        by_first, by_second = self._ends
        for side, (first, second) in enumerate(((near_a, near_b), (near_b, near_a))):
            cheaper = by_first.count(first) <= by_second.count(second)
            yield side, by_first.of(first) if cheaper else by_second.of(second)

    def _mark(self, a: int, b: int) -> tuple[IntArray, IntArray]:
        ends = []
        for side, node in enumerate((a, b)):
            nodes, where = self.meets.of(node)
            self._at[side, nodes] = where
            ends.append(nodes)
        return ends[0], ends[1]

    def _unmark(self, a: int, b: int) -> None:
        for side, node in enumerate((a, b)):
            self._at[side, self.meets.of(node)[0]] = -1

    def _explain(self, named: int, delta: float) -> IntArray:
        """Let a find explain what it can of all related pairs; those that wait on, changed."""
        pairs = self.pairs
        a, b = int(pairs.a[named]), int(pairs.b[named])
        nodes = self._mark(a, b)
        related = []
        for side, some in self._either_way(*nodes):
            at_a, at_b = self._at[side, pairs.a[some]], self._at[1 - side, pairs.b[some]]
            there = (at_a >= 0) & (at_b >= 0)
            places = some[there]
            added = self.expect(at_a[there], at_b[there]) * delta
            self._added[places] = np.maximum(self._added[places], added)
            related.append(places)
        self._unmark(a, b)
        changed = related[0] if not len(related[1]) else np.unique(np.concatenate(related))
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


class _Places:
    """The places of pairs by one of their ends."""

    def __init__(self, end: IntArray, n_nodes: int) -> None:
        self.order = np.argsort(end, kind="stable")
        self.starts = np.searchsorted(end[self.order], np.arange(n_nodes + 1))

    def count(self, nodes: IntArray) -> int:
        """How many pairs have their end among some nodes."""
        return int((self.starts[nodes + 1] - self.starts[nodes]).sum())

    def of(self, nodes: IntArray) -> IntArray:
        """The places of these pairs."""
        starts, widths = self.starts[nodes], self.starts[nodes + 1] - self.starts[nodes]
        steps = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)
        return np.asarray(self.order[np.repeat(starts, widths) + steps])
