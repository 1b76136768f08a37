"""Records that repeat in groups, such as the stays of a patient: what each weighs, and what a pair
of nodes that several of a group carry is worth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array, triu

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
from audit.engine.pairs.margins import Strata
from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.pairs.rows import row_numbers
from audit.engine.pairs.sums import UNIT
from audit.engine.statistics.expectation import shares

EXACT_AT_ONCE = 1 << 20
"""Records whose weights the parts of a complex number add up exactly."""
GROUPS_AT_ONCE = 1 << 12
"""Groups whose nodes are added up at a time."""
NODES_PER_BLOCK = 128
"""First nodes whose pairs' weights are added up at a time."""


def joint_weights(
    counts: PairCounts, carried: Sparse, weights: tuple[IntArray, IntArray]
) -> tuple[IntArray, IntArray]:
    """Sums of two weights over the records that carry both nodes of each pair, (n_pairs,) each.

    Both are added up at once, and only over records that weigh less than `UNIT`: what these lack is
    taken from the joint counts.

    Args:
        counts: All pairs of nodes that some record carries together.
        weights: Both weights of each record, at most `UNIT`, shape (n_records,) each.
    """
    sums = counts.joint * np.int64(UNIT), counts.joint * np.int64(UNIT)
    several, n_nodes = np.flatnonzero(np.minimum(*weights) < UNIT), carried.shape[1]
    for part in np.split(several, range(EXACT_AT_ONCE, len(several), EXACT_AT_ONCE)):
        rows = csr_array(carried[part])
        first, second = (UNIT - weight[part] for weight in weights)
        each = np.repeat(first + 1j * second, np.diff(rows.indptr))
        carriers, lacking = (
            csc_array(csr_array((data, rows.indices, rows.indptr), shape=rows.shape))
            for data in (np.ones(rows.nnz), each)
        )
        for start in range(0, n_nodes, NODES_PER_BLOCK):
            firsts = slice(start, start + NODES_PER_BLOCK)
            block = triu(lacking[:, firsts].T @ carriers[:, start:], 1, format="csr")
            own = slice(*np.searchsorted(counts.a, (start, firsts.stop)).tolist())
            keys = (row_numbers(block) + start) * n_nodes + block.indices + start
            found = own.start + np.searchsorted(counts[own].keys(n_nodes), keys)
            sums[0][found] -= block.data.real.astype(np.int64)
            sums[1][found] -= block.data.imag.astype(np.int64)
    return sums


@dataclass(frozen=True, eq=False)
class Alike:
    """How much records of one group resemble each other, and what each weighs because of it.

    Args:
        group: Group of each record, numbered in the order of their first records, (n_records,).
        size: Number of records with labels of each group, shape (n_groups,).
        labelled: Whether each record has labels, shape (n_records,).
        share: Share of the labels of a record that another record of its group has too, beyond
            chance, from 0 to 1.
    """

    group: IntArray
    size: IntArray
    labelled: BoolArray
    share: float

    @cached_property
    def weight(self) -> IntArray:
        """What each record weighs, in units of 1 / `UNIT`, at least one; shape (n_records,).

        ``1 / (1 + (n - 1) share)`` in a group of n: the group weighs at most ``1 / share``.
        """
        others = np.maximum(self.size[self.group] - 1, 0)
        return np.maximum(np.rint(UNIT / (1 + others * self.share)).astype(np.int64), 1)

    @property
    def part_of_group(self) -> IntArray:
        """One over the number of labelled records of a record's group, in units of 1 / `UNIT`."""
        return np.rint(UNIT / np.maximum(self.size[self.group], 1)).astype(np.int64)

    @property
    def records(self) -> int:
        """Number of records with labels."""
        return int(self.labelled.sum())

    @property
    def weighs(self) -> float:
        """Sum of the weights of the records with labels."""
        return int(self.weight[self.labelled].sum()) / UNIT

    @property
    def several(self) -> int:
        """Number of groups of at least two records with labels."""
        return int((self.size > 1).sum())


def alike(specific: Sparse, group: IntArray) -> Alike:
    """Measure by one share, over all labels, how much records of one group resemble each other.

    With n records in group g, S of which have label l, B = the sum of S over groups of at least two
    records, and pi the share of all records with the label, the share is ``(sum of S (S - 1) / (n -
    1) - sum of pi B) / sum of (1 - pi) B``, cut to 0 and 1; 0 where it is over nothing. Records
    without labels are left out.

    Args:
        group: Group of each record, as any numbers, shape (n_records,).
    """
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))[number]
    labelled = np.diff(specific.indptr) > 0
    size = np.bincount(number[labelled], minlength=len(first)).astype(np.int64)
    some = np.flatnonzero(labelled & (size[number] > 1))
    ones = np.ones(len(some), np.int64)
    by_group = csr_array((ones, (number[some], np.arange(len(some)))), shape=(len(size), len(some)))
    counts = csr_array(by_group @ specific[some])
    others = np.repeat(size, np.diff(counts.indptr)) - 1
    again = np.bincount(others, counts.data * (counts.data - 1), minlength=1)
    beside = np.asarray(counts.sum(axis=0), np.float64)
    share = np.bincount(specific.indices, minlength=specific.shape[1]) / max(labelled.sum(), 1)
    free = float(((1 - share) * beside).sum())
    alike = float((again[1:] / np.arange(1, len(again))).sum() - (share * beside).sum())
    return Alike(number, size, labelled, min(max(alike / free, 0.0), 1.0) if free > 0 else 0.0)


def node_sums(values: Sparse, alike: Alike) -> FloatArray:
    """Sums over groups of the share of a group's labelled records that carry each node, and of the
    squares of these shares, shape (2, n_nodes).

    Args:
        values: Labels at or below each node, shape (n_records, n_nodes), canonical CSR.
    """
    n, groups = values.shape[0], len(alike.size)
    member = csr_array((np.ones(n), (alike.group, np.arange(n))), shape=(groups, n))
    ones = csr_array((np.ones(values.nnz), values.indices, values.indptr), values.shape)
    sums, squares = np.zeros((2, values.shape[1]))
    for start in range(0, groups, GROUPS_AT_ONCE):
        carried = csr_array(member[start : start + GROUPS_AT_ONCE] @ ones)
        share = carried.data / alike.size[start + row_numbers(carried)]
        np.add.at(sums, carried.indices, share)
        np.add.at(squares, carried.indices, share**2)
    return np.stack([sums, squares])


@dataclass(frozen=True, eq=False)
class Grouped:
    """Records that take part, in the order of their groups.

    Args:
        carriers: A value stored where a record carries a node, shape (n_records, n_nodes).
        stratum: Stratum of each record, shape (n_records,).
        group: Group of each record, ascending, shape (n_records,).
        weight: Weight of each record, shape (n_records,).
        strata: The margins of the records, by weight.
        alike: How much the records of a group resemble each other.
    """

    carriers: csc_array
    stratum: IntArray
    group: IntArray
    weight: FloatArray
    below: Sparse
    strata: Strata
    alike: Alike

    @cached_property
    def of_groups(self) -> FloatArray:
        """Weight of each group, by its number, shape (n_groups,)."""
        return np.bincount(self.group, self.weight, len(self.alike.size)).astype(np.float64)

    def carrying(self, node: int) -> IntArray:
        """Indices of the records that carry a node, ascending."""
        ends = self.carriers.indptr[node], self.carriers.indptr[node + 1]
        return np.asarray(self.carriers.indices[slice(*ends)])

    def below_both(self, a: int, b: int) -> IntArray:
        """Nodes at or below both nodes, ascending."""
        return np.intersect1d(row(self.below, a), row(self.below, b), assume_unique=True)


class Scales:
    """What one effective record of a pair is on the scale of weights.

    The residual of a record is ``both - pi_a y - pi_b x + k``, where x and y are whether it carries
    the two nodes, ``both`` is whether it carries them and has no label below both, pi are the
    nodes' shares in its stratum, and k makes the weighted residuals of all records sum to observed
    minus expected. The design effect is the sum of squares of the residuals' weighted sums by group
    over the sum of squares of single weighted residuals, at least 1; the scale is this times the
    squared over the plain weights of the records with both. Observed and expected are divided by it
    (Rao and Scott 1992).
    """

    def __init__(self, grouped: Grouped) -> None:
        self.grouped, self._size = grouped, grouped.strata.weight
        self._share = shares(grouped.strata.carried, grouped.strata.size)
        self._known: dict[tuple[int, int, float], tuple[float, int, float]] = {}
        self._marked = np.zeros(len(grouped.group), np.bool_)
        self._at = -1
        self._by_stratum: dict[int, FloatArray] = {}

    def of(
        self, a: IntArray, b: IntArray, expected: FloatArray
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """The scale of each pair; of its records without a label below both nodes, the number of
        groups, and the sum over groups of their share of a group, squared; (n_pairs,) each.

        Pairs are in the order of their first nodes. Time grows with the supports of the nodes; what
        was asked before takes none.
        """
        pairs = [*zip(a.tolist(), b.tolist(), expected.tolist(), strict=True)]
        self._known |= {pair: self._scale(*pair) for pair in pairs if pair not in self._known}
        found = np.array([self._known[pair] for pair in pairs]).reshape(-1, 3)
        return found[:, 0], found[:, 1].astype(np.int64), found[:, 2]

    def _scale(self, a: int, b: int, expected: float) -> tuple[float, int, float]:
        """Scale, groups and squared shares of a pair, as in `of`; 1, 0, 0 if no record counts."""
        grouped = self.grouped
        joint = self._with_both(a, b)
        alone = [grouped.carrying(node) for node in grouped.below_both(a, b).tolist()]
        both = np.setdiff1d(joint, np.concatenate(alone), assume_unique=True) if alone else joint
        if not len(both):
            return 1.0, 0, 0.0
        weight = grouped.weight[both]
        squared = float((weight**2).sum()) / float(weight.sum())
        firsts = np.flatnonzero(np.diff(grouped.group[both], prepend=-1))
        counts = np.diff(firsts, append=len(both))
        shares = counts / grouped.alike.size[grouped.group[both[firsts]]]
        effect = self._design_effect((a, b), joint, both, expected)
        return effect * squared, len(firsts), float((shares**2).sum())

    def _with_both(self, a: int, b: int) -> IntArray:
        """Records with both nodes, ascending; those of the first stay marked for the next pair."""
        if a != self._at:
            self._marked[:] = False
            self._marked[self.grouped.carrying(a)] = True
            self._at = a
        second = self.grouped.carrying(b)
        return second[self._marked[second]]

    def _squared(self, records: IntArray) -> FloatArray:
        """Sum of the squared weights of some records in each stratum, shape (n_strata,)."""
        grouped = self.grouped
        squares = grouped.weight[records] ** 2
        sums = np.bincount(grouped.stratum[records], squares, len(self._size))
        return sums.astype(np.float64)

    def _squared_of(self, node: int) -> FloatArray:
        """Sum of squared weights of the records with a node, of all for -1, shape (n_strata,)."""
        if node not in self._by_stratum:
            every = np.arange(len(self.grouped.group))
            some = every if node < 0 else self.grouped.carrying(node)
            self._by_stratum[node] = self._squared(some)
        return self._by_stratum[node]

    def _design_effect(
        self, pair: tuple[int, int], joint: IntArray, both: IntArray, expected: float
    ) -> float:
        """Squared residuals by group over those by record, at least 1.

        Args:
            pair: The two nodes.
            joint: Records with both.
            both: Those of them without a label below both.
            expected: Weight expected of these.
        """
        grouped, size = self.grouped, self._size
        p, q = (self._share[:, node] for node in pair)
        k = (2 * float((size * p * q).sum()) - expected) / float(size.sum())
        first, second = (self._squared_of(node) for node in pair)
        alone = self._squared_of(-1) * k**2 + first * (q**2 - 2 * q * k)
        alone += second * (p**2 - 2 * p * k) + self._squared(joint) * (2 * p * q)
        alone += self._squared(both) * (1 - 2 * (p + q) + 2 * k)
        single = float(alone.sum())
        one, other = (grouped.carrying(node) for node in pair)
        residual = (-q[grouped.stratum[one]], -p[grouped.stratum[other]], np.ones(len(both)))
        some = np.concatenate([one, other, both])
        weighed = grouped.weight[some] * np.concatenate(residual)
        sums = np.bincount(grouped.group[some], weighed, len(grouped.of_groups))
        grouped_sum = float(((sums + k * grouped.of_groups) ** 2).sum())
        return max(grouped_sum / single, 1.0) if single > 0 else 1.0
