"""A tally of pair counts, to which batches of instances can be added."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from audit.base.dag import BoolArray, IntArray, Sparse
from audit.engine.pairs.entailed import count_entailed, in_line, joint_entailed
from audit.engine.pairs.joint import joint_counts
from audit.engine.pairs.margins import length_histogram, merged_histogram
from audit.engine.pairs.pair_counts import (
    PairCounts,
    confusion_added,
    pairs_outside,
    support,
)
from audit.engine.pairs.propagation import aggregate
from audit.engine.pairs.rows import row_numbers
from audit.engine.pairs.sums import NOTHING, SortedTail, Sums, Tail, listed, summed

SQUARE = 512 * 2**20
"""Default size in bytes of the triangle of joint counts and confusion of the first nodes."""
NODES_PER_BLOCK = 512
"""Number of first nodes whose pairs are returned at a time."""
PAIRS_AT_ONCE = 1_000_000
"""Number of pairs of nodes without a slot that are added to the tail at a time."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Counts of some instances other than those of their pairs.

    Args:
        lengths: Number of instances with each number of direct labels.
        direct: Number of instances with each node as a label, shape (n_nodes,).
        entailed: Number of instances with a label below both nodes of pairs, from
            `audit.engine.pairs.entailed.count_entailed`.
    """

    lengths: IntArray
    direct: IntArray
    support: IntArray
    entailed: Sums


def count_batch(direct: Sparse, aggregated: Sparse, closure: Sparse) -> Batch:
    """Count everything but the pairs of a batch; safe to call from several threads.

    Args:
        direct: 0/1, shape (n_instances, n_nodes), int64 canonical CSR.
        aggregated: The aggregated values of ``direct``, same shape.
    """
    lengths = length_histogram(np.diff(direct.indptr).astype(np.int64))
    entailed = count_entailed(direct, closure)
    return Batch(lengths, support(direct), support(aggregated), entailed)


class PairTally:
    """Counts of all pairs of nodes over any number of instances.

    Pairs of the nodes met first (within the first batch, the most frequent ones) are counted in a
    triangular array, in which each of these nodes has a slot; pairs of other nodes go to a tail.
    Memory is bounded by ``square``, the tail and the hierarchy, and does not grow with the
    instances. The triangle's sums are added up instance by instance. Those of the tail are added up
    for so many instances at a time as have `PAIRS_AT_ONCE` pairs, in whatever batches they come. So
    the same instances in the same order, and the same nodes with slots, give the same bytes in
    batches of any size.

    Args:
        square: Size of the triangle in bytes, at most.
        tail: Stores the pairs of other nodes; None: in memory.
        first: Nodes to get a slot, as many as the triangle holds, and no others; None: those met
            first.
    """

    def __init__(
        self,
        closure: Sparse,
        *,
        square: int = SQUARE,
        tail: Tail | None = None,
        first: IntArray | None = None,
    ) -> None:
        self.closure = closure
        self.n_nodes = int(closure.shape[0])
        self.lengths = np.zeros(0, np.int64)
        self.direct_support, self.support = np.zeros((2, self.n_nodes), np.int64)
        self.tail = SortedTail() if tail is None else tail
        self._waiting = [csr_array((0, self.n_nodes), dtype=np.int64)]
        self._outside = 0
        self._entailed = SortedTail()
        self._capacity = min(_slots_in(square), self.n_nodes if first is None else len(first))
        self._slot = np.full(self.n_nodes, -1, np.int64)
        self._taken = np.empty(0, np.int64)
        if first is not None:
            self._give(first)
        self._joint = np.zeros(_places(self._capacity), np.int64)
        self._confusion = np.zeros(_places(self._capacity))

    @property
    def instances(self) -> int:
        """Number of instances counted."""
        return int(self.lengths.sum())

    def update(self, direct: Sparse) -> None:
        """Count a batch of instances: 0/1 rows, shape (n, n_nodes), int64 canonical CSR."""
        aggregated = aggregate(direct, self.closure)
        self.add(count_batch(direct, aggregated, self.closure), aggregated)

    def add(self, batch: Batch, aggregated: Sparse) -> None:
        """Add the counts of a batch, and count its pairs from its aggregated values."""
        self.add_counted(batch)
        if ((self._slot < 0) & (batch.support > 0)).any():
            self._add_outside(aggregated)
        self._add_inside(aggregated)

    def add_counted(self, batch: Batch) -> None:
        """Add everything but the pairs of a batch."""
        self.lengths = merged_histogram(self.lengths, batch.lengths)
        self.direct_support += batch.direct
        self.support += batch.support
        self._give_slots(batch.support)
        self._entailed.add(batch.entailed)

    def blocks(self) -> Iterator[PairCounts]:
        """Every pair with a joint instance, in order, in blocks of first nodes."""
        for sums in self.sums():
            a, b = np.divmod(sums.keys, self.n_nodes)
            yield PairCounts(a, b, sums.joint, sums.confusion)

    def sums(self) -> Iterator[Sums]:
        """The sums of every pair with a joint instance, in order, in blocks of first nodes."""
        self._settle()
        for start in range(0, self.n_nodes, NODES_PER_BLOCK):
            stop = min(start + NODES_PER_BLOCK, self.n_nodes)
            tail = self.tail.between(start * self.n_nodes, stop * self.n_nodes)
            yield summed([self._square(start, stop), tail])

    def counts(self) -> PairCounts:
        """Every pair with a joint instance, as `count_pairs` returns them."""
        parts = [PairCounts.none(), *self.blocks()]
        a, b, joint = (np.concatenate([getattr(p, k) for p in parts]) for k in ("a", "b", "joint"))
        return PairCounts(a, b, joint, np.concatenate([p.confusion_sum for p in parts]))

    @property
    def entailed(self) -> Sums:
        """Number of instances with a label below both nodes, of pairs that are not in line."""
        return self._entailed.between(0, self.n_nodes**2)

    def joint_entailed(self, pairs: PairCounts) -> IntArray:
        """Number of instances with a label at or below both nodes of each pair, shape (n_pairs,).

        The pairs must be sorted. For a pair in line this is every joint instance.
        """
        keys = pairs.keys(self.n_nodes)
        between = self._entailed.between(keys[0], keys[-1] + 1) if len(keys) else NOTHING
        return joint_entailed(pairs, between, self._lines, self.n_nodes)

    @cached_property
    def _lines(self) -> IntArray:
        return in_line(self.closure)

    def _give_slots(self, carried: IntArray) -> None:
        new = np.flatnonzero((carried > 0) & (self._slot < 0))
        self._give(new[np.argsort(-carried[new], kind="stable")])

    def _give(self, nodes: IntArray) -> None:
        new = nodes[: self._capacity - len(self._taken)]
        self._slot[new] = len(self._taken) + np.arange(len(new))
        self._taken = np.concatenate([self._taken, new])

    def _add_outside(self, aggregated: Sparse) -> None:
        """Have the instances wait in which a node of a pair has no slot; settle those before."""
        met = _n_outside(aggregated, self._slot < 0)
        some = np.flatnonzero(met)
        rows = csr_array(aggregated[some])
        part = np.cumsum([self._outside, *met[some]]) // PAIRS_AT_ONCE
        ends = np.flatnonzero(np.diff(part)).tolist()
        for start, stop in pairwise([0, *ends]):
            self._waiting.append(rows[start:stop])
            self._settle()
        self._waiting.append(rows[ends[-1] if ends else 0 :])
        self._outside += int(met.sum())

    def _settle(self) -> None:
        """Add the pairs of the instances that wait in which a node has no slot."""
        rows = csr_array(vstack(self._waiting, "csr"))
        self._waiting = [rows[:0]]
        self.tail.add(listed(*pairs_outside(rows, self._slot < 0)))

    def _add_inside(self, aggregated: Sparse) -> None:
        """Add pairs whose nodes all have slots."""
        nodes = np.flatnonzero((self._slot >= 0) & (support(aggregated) > 0))
        values = csr_array(aggregated[:, nodes])
        joint = joint_counts(values)
        slots = self._slot[nodes]
        place = _place(slots[row_numbers(joint)], slots[joint.indices])
        before = csr_array((self._confusion[place], joint.indices, joint.indptr), joint.shape)
        self._joint[place] += joint.data
        self._confusion[place] = confusion_added(values, before).data

    def _square(self, start: int, stop: int) -> Sums:
        """The triangle's sums of the pairs with a first node in a range."""
        nodes = np.sort(self._taken[self.support[self._taken] > 0])
        parts = [NOTHING]
        for place in range(*np.searchsorted(nodes, (start, stop))):
            second = nodes[place + 1 :]
            places = _place(self._slot[nodes[place]], self._slot[second])
            joint = self._joint[places]
            met = np.flatnonzero(joint)
            keys = nodes[place] * self.n_nodes + second[met]
            parts.append(Sums(keys, joint[met], self._confusion[places[met]]))
        return summed(parts)


def _n_outside(aggregated: Sparse, outside: BoolArray) -> IntArray:
    """Number of pairs of each instance in which a node is outside, shape (n_instances,)."""
    stored = aggregated.indptr.astype(np.int64)
    rare = np.concatenate([[0], np.cumsum(outside[aggregated.indices])])[stored]
    many, without = np.diff(stored), np.diff(stored - rare)
    return np.asarray(many * (many - 1) // 2 - without * (without - 1) // 2)


def _places(slots: int) -> int:
    return slots * (slots - 1) // 2


def _slots_in(size: int) -> int:
    """Slots whose triangle of two eight-byte numbers a pair fits into a size in bytes."""
    return int((1 + np.sqrt(1 + size / 2)) / 2)


def _place(first: Any, second: Any) -> IntArray:
    """Place in the triangle; later slots only add at its end."""
    high, low = np.maximum(first, second), np.minimum(first, second)
    return np.asarray(high * (high - 1) // 2 + low)
