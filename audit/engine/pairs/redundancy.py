"""Redundant pairs: two nodes used as one label."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, triu

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row, rows
from audit.engine.pairs.rows import row_numbers
from audit.engine.statistics.intervals import wilson, wilson_at_limit


def overlapping_pairs(edges: Sparse, closure: Sparse, support: IntArray, least: int) -> Sparse:
    """Pairs of frequent nodes with a node in use at or below both; ancestor pairs are among them.

    Args:
        least: Least number of instances of a frequent node, at least 1.

    Returns:
        A value stored for each such pair, shape (n_nodes, n_nodes), upper triangle, canonical CSR.

    Two upward paths can only part at a node with several parents, so that beside the closure only
    such nodes are multiplied out.
    """
    frequent = (support >= least).astype(np.int64)
    to_frequent = csr_array(closure * frequent[None, :])
    comparable = csr_array(to_frequent * frequent[:, None])
    several = (np.diff(edges.indptr) > 1) & (support > 0)
    forks = csr_array(to_frequent[np.flatnonzero(several)])
    common = csr_array(triu(comparable + comparable.T + forks.T @ forks, k=1, format="csr"))
    common.eliminate_zeros()
    common.sort_indices()
    return common


def count_disjoint_pairs(common: Sparse, support: IntArray, least: int) -> int:
    """Number of pairs of frequent nodes with nothing in use in common.

    Pairs without a joint instance count too; no pair is built.

    Args:
        common: From `overlapping_pairs`.
    """
    frequent = int((support >= least).sum())
    return frequent * (frequent - 1) // 2 - int(common.nnz)


LEAST_SUPPORT = 11
"""Number of instances that must carry each node for a pair to be judged."""
BEYOND_CHANCE = 3.0
"""Least odds ratio of a share's lower bound against the share that length lets expect."""
NEARLY_ALL = 0.9
"""Share of a pair's joint instances that a pair below it must have to be reported in its place."""


@dataclass(frozen=True, eq=False)
class NodePairs:
    """Pairs of nodes, and the numbers of instances that carry them; arrays of shape (n_pairs,).

    Args:
        joint: Number of instances carrying both; not necessarily whole.
        by_length: How many times as often as independent nodes the two are expected to meet, from
            the length of the records.
        worth: Independent instances that one is worth, by groups; 0 where too few have the pair.
        width: Members of the bins that numbers of instances are told in; 0 where they are exact.
    """

    a: IntArray
    b: IntArray
    joint: FloatArray
    support_a: FloatArray
    support_b: FloatArray
    instances: FloatArray
    by_length: FloatArray
    worth: FloatArray
    width: int = field(default=0, kw_only=True)

    def __len__(self) -> int:
        return len(self.a)

    def __getitem__(self, chosen: IntArray | BoolArray) -> NodePairs:
        each = [one.name for one in fields(self) if not one.kw_only]
        return replace(self, **{name: getattr(self, name)[chosen] for name in each})

    def without(self, explained: FloatArray) -> NodePairs:
        """The same pairs with the explained joint instances of each, shape (n_pairs,), removed."""
        gone = np.minimum(explained, self.joint)
        names = ("joint", "support_a", "support_b", "instances")
        return replace(self, **{name: getattr(self, name) - gone for name in names})

    @cached_property
    def either(self) -> FloatArray:
        """Number of instances carrying at least one of the two nodes, shape (n_pairs,)."""
        return np.asarray(self.support_a + self.support_b - self.joint)

    @cached_property
    def rarer(self) -> FloatArray:
        """Number of instances carrying the rarer node, shape (n_pairs,)."""
        return np.minimum(self.support_a, self.support_b)

    @cached_property
    def jaccard_low(self) -> FloatArray:
        """Lower confidence bound of the Jaccard share, joint over either, shape (n_pairs,)."""
        return wilson(self.joint * self.worth, np.maximum(self.either, 1) * self.worth)[0]

    @cached_property
    def expected(self) -> FloatArray:
        """Number of instances that length lets expect to carry both, at most the rarer node's."""
        independent = self.support_a * self.support_b / np.maximum(self.instances, 1)
        return np.asarray(np.minimum(independent * self.by_length, self.rarer))

    @cached_property
    def jaccard_by_chance(self) -> FloatArray:
        """Jaccard share that length lets expect, shape (n_pairs,)."""
        either = self.support_a + self.support_b - self.expected
        return np.asarray(self.expected / np.maximum(either, 1))

    def as_one(self, least: float) -> BoolArray:
        """Whether the two nodes behave as one label, shape (n_pairs,).

        Args:
            least: Least value of `jaccard_low` from which they do.
        """
        chance = self.jaccard_by_chance
        limit = np.maximum(least, BEYOND_CHANCE * chance / (1 + (BEYOND_CHANCE - 1) * chance))
        either = np.maximum(self.either, 1)
        low, _ = wilson_at_limit(self.joint, either, self.width, limit, self.worth)
        sure = (self.rarer >= LEAST_SUPPORT) & (low >= least)
        return np.asarray(sure & (low * (1 - chance) >= BEYOND_CHANCE * chance * (1 - low)))


@dataclass(frozen=True, eq=False)
class Places:
    """Positions of nodes in the hierarchy, and how many instances carry each."""

    closure: Sparse
    support: IntArray

    def among(self, nodes: IntArray) -> FloatArray:
        """1 at the given nodes, 0 elsewhere, shape (n_nodes,)."""
        found = np.zeros(len(self.support))
        found[nodes] = 1.0
        return found

    @cached_property
    def below(self) -> Sparse:
        """1 at [a, i] where i is a or below it, shape (n_nodes, n_nodes)."""
        return csr_array(self.closure.T)

    def expected(self, node: int) -> FloatArray:
        """The share of a node's instances expected to carry each node, shape (n_nodes,).

        It is 1 for nodes at and above the given one, the ratio of supports for nodes below it, and
        0 for all others.
        """
        shares = self.among(row(self.below, node)) * (self.support / self.support[node])
        shares[row(self.closure, node)] = 1.0
        return np.asarray(shares)

    def most_specific_first(self, pairs: NodePairs) -> IntArray:
        """Order of pairs: least supports first, of equals most ancestors, then node order."""
        above = np.diff(self.closure.indptr)
        ancestors = above[pairs.a] + above[pairs.b]
        return np.lexsort((pairs.b, pairs.a, -ancestors, pairs.support_a + pairs.support_b))


def chain_ends(edges: Sparse, support: IntArray) -> BoolArray:
    """Whether no child of a node is carried by the same instances as it, shape (n_nodes,)."""
    child, parent = row_numbers(edges), edges.indices
    ends = np.ones(len(support), np.bool_)
    ends[parent[support[child] == support[parent]]] = False
    return ends


def redundant_pairs(
    pairs: NodePairs, places: Places, least: float, required: BoolArray
) -> IntArray:
    """Find the redundant pairs, each reported once, at the place in the hierarchy where it arises.

    Args:
        pairs: Pairs with no node in use below both nodes, each node the end of its chain.
        least: As for `NodePairs.as_one`.
        required: Whether a rule requires each pair, shape (n_pairs,): such a pair explains others
            and is not reported itself.

    Returns:
        Positions of the pairs to report, the surest first.

    Time grows with the reported pairs times the pairs near each, that is those with an end above,
    at or below one of its ends.
    """
    scan = _Scan(pairs, places, least)
    surest = np.lexsort((pairs.b, pairs.a, -pairs.jaccard_low))
    for pair in surest[(scan.open & required)[surest]].tolist():
        scan.take(pair)
    for pair in surest[scan.open[surest]].tolist():
        while scan.open[pair] and scan.stand(np.array([pair]))[0]:
            scan.take(scan.named(pair))
        scan.open[pair] = False
    told = np.zeros(len(pairs), np.bool_)
    told[scan.not_from_below()] = True
    return np.asarray(surest[(told & ~required)[surest]])


class _Scan:
    """Pairs as they are found, and how many joint instances of each pair the found ones explain."""

    def __init__(self, pairs: NodePairs, places: Places, least: float) -> None:
        self.pairs, self.places, self.least = pairs, places, least
        ends, each = np.concatenate([pairs.a, pairs.b]), np.tile(np.arange(len(pairs)), 2)
        shape = len(places.support), len(pairs)
        self._by_end = csr_array((np.ones(len(ends), np.int8), (ends, each)), shape=shape)
        self.open = pairs.as_one(least)
        self.explained = np.zeros(len(pairs))
        self.found: list[int] = []

    def take(self, pair: int) -> None:
        """Note a pair as found: its unexplained joint instances explain those of pairs near."""
        own = max(float(self.pairs.joint[pair] - self.explained[pair]), 0.0)
        shares = [self.places.expected(int(end[pair])) for end in (self.pairs.a, self.pairs.b)]
        near = np.unique(rows(self._by_end, np.flatnonzero(shares[0])))
        self.explained[near] += own * _of_ends(self.pairs[near], *shares)
        self.found.append(pair)
        self.open[pair] = False

    def stand(self, some: IntArray) -> BoolArray:
        """Whether each of some pairs behaves as one label without its explained joint instances."""
        return self.pairs[some].without(self.explained[some]).as_one(self.least)

    def named(self, pair: int) -> int:
        """Most specific open pair at or below one, with nearly all its unexplained instances."""
        pairs, ends = self.pairs, (self.pairs.a[pair], self.pairs.b[pair])
        below = [row(self.places.below, int(end)) for end in ends]
        some = np.unique(rows(self._by_end, below[0]))
        within = _of_ends(pairs[some], *map(self.places.among, below)) > 0
        some = some[within & self.open[some]]
        left = pairs.joint[some] - self.explained[some]
        some = some[left >= NEARLY_ALL * (pairs.joint[pair] - self.explained[pair])]
        some = some[self.stand(some)]
        return int(some[self.places.most_specific_first(pairs[some])[0]])

    def not_from_below(self) -> IntArray:
        """Found pairs that still behave as one without the instances of those found below them."""
        found = np.array(self.found, np.int64)
        found = found[self.places.most_specific_first(self.pairs[found])]
        some, stand, explained = self.pairs[found], [], np.zeros(len(found))
        for place in range(len(found)):
            one = np.array([place])
            if some[one].without(explained[one]).as_one(self.least)[0]:
                stand.append(place)
                own = some.joint[place] - explained[place]
                ends = int(some.a[place]), int(some.b[place])
                above = [self.places.among(row(self.places.closure, end)) for end in ends]
                explained += own * _of_ends(some, *above)
        return found[stand]


def _of_ends(pairs: NodePairs, first: FloatArray, second: FloatArray) -> FloatArray:
    """The larger of ``first[a] second[b]`` and ``first[b] second[a]`` of each, (n_pairs,)."""
    there = first[pairs.a] * second[pairs.b]
    back = first[pairs.b] * second[pairs.a]
    return np.asarray(np.maximum(there, back))
