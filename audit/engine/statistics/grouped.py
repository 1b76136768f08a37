"""Test of the excess of a pair, adjusted for its variance between groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array

from audit.base.dag import FloatArray, IntArray, Sparse, row
from audit.engine.statistics.association import poisson_p_value
from audit.engine.statistics.expectation import Expectation

AT_ONCE = 10_000
"""Largest length up to which a dot product is not divided among threads."""


@dataclass(frozen=True, eq=False)
class Grouped:
    """Records that take part, with their strata and their groups, such as patients.

    Args:
        carriers: A value stored where a record carries a node, shape (n_records, n_nodes).
        stratum: Stratum of each record, shape (n_records,).
        group: Group of each record, numbered from 0, shape (n_records,).
        below: 1 where the column's node is at or below the row's, shape (n_nodes, n_nodes).
    """

    carriers: csc_array
    stratum: IntArray
    group: IntArray
    below: Sparse

    @cached_property
    def by_group(self) -> FloatArray:
        """Number of records of each group in each stratum, shape (n_groups, n_strata)."""
        groups, strata = (int(of.max(initial=-1)) + 1 for of in (self.group, self.stratum))
        counts = np.bincount(self.group * strata + self.stratum, minlength=groups * strata)
        return counts.reshape(groups, strata).astype(np.float64)

    def carrying(self, node: int) -> IntArray:
        """Indices of the records that carry a node, ascending."""
        ends = self.carriers.indptr[node], self.carriers.indptr[node + 1]
        return self.carriers.indices[slice(*ends)].astype(np.int64)

    def below_both(self, a: int, b: int) -> IntArray:
        """Nodes at or below both nodes, ascending."""
        return np.intersect1d(row(self.below, a), row(self.below, b), assume_unique=True)


class GroupTest:
    """Poisson test of an excess, with observed and expected divided by a design effect.

    The residual of a record is ``both - pi_a y - pi_b x + constant``, where x and y are whether it
    carries the two nodes, ``both`` is whether it carries them and has no label below both, pi are
    the nodes' shares in its stratum, and the constant makes the residuals of a stratum sum to
    observed minus expected. The design effect is the sum of squares of the residuals' sums by group
    over the sum of squares of the residuals of records, at least 1; observed and expected are both
    divided by it (Rao and Scott 1992). If the records of a group do not resemble each other it is
    1; if one group holds all of an excess it is about as large as the excess.

    Args:
        grouped: The records.
        expected: The expectation of pairs.
    """

    def __init__(self, grouped: Grouped, expected: Expectation) -> None:
        self.grouped, self.expected = grouped, expected
        self.products = grouped.by_group.T @ grouped.by_group
        self._marked = np.zeros(len(grouped.group), np.bool_)

    def p_values(self, a: IntArray, b: IntArray) -> FloatArray:
        """P values of pairs, shape (n_pairs,).

        Time grows with the supports of their nodes, and with the number of groups.
        """
        by_stratum = np.array(list(self.expected.terms(a, b))).T
        pairs = zip(a.tolist(), b.tolist(), np.ascontiguousarray(by_stratum), strict=True)
        return np.array([self._p_value(*pair) for pair in pairs], np.float64)

    def _p_value(self, a: int, b: int, by_stratum: FloatArray) -> float:
        first, second = self.grouped.carrying(a), self.grouped.carrying(b)
        joint = self._common(first, second)
        alone = [self.grouped.carrying(node) for node in self.grouped.below_both(a, b).tolist()]
        through_one = self._common(np.concatenate([joint[:0], *alone]), joint)
        both = np.setdiff1d(joint, through_one, assume_unique=True) if len(through_one) else joint
        effect = self._design_effect((a, b), (first, second, joint, both), by_stratum)
        counts = np.array([[len(both)], [by_stratum.sum()]], np.float64) / effect
        return float(poisson_p_value(*counts)[0])

    def _common(self, some: IntArray, others: IntArray) -> IntArray:
        """Those of others that are among some, in their order."""
        self._marked[some] = True
        common = others[self._marked[others]]
        self._marked[some] = False
        return common

    def _design_effect(
        self, pair: tuple[int, int], carrying: tuple[IntArray, ...], by_stratum: FloatArray
    ) -> float:
        """Squared residuals by group over those by record.

        Args:
            pair: The two nodes.
            carrying: Records with the first, with the second, with both, and with both and no label
                below both.
            by_stratum: Records expected, shape (n_strata,).
        """
        grouped, n = self.grouped, np.maximum(self.expected.size, 1)
        p, q = (self.expected.share[:, node] for node in pair)
        constant = (2 * n * p * q - by_stratum) / n
        strata = [np.bincount(grouped.stratum[some], minlength=len(n)) for some in carrying]
        first, second, joint, both = strata
        alone = (
            n @ constant**2
            + (
                first * (q**2 - 2 * q * constant)
                + second * (p**2 - 2 * p * constant)
                + joint * (2 * p * q)
                + both * (1 - 2 * (p + q) + 2 * constant)
            ).sum()
        )
        added = ((carrying[0], -q), (carrying[1], -p), (carrying[3], np.ones(len(n))))
        sums = np.zeros(len(grouped.by_group))
        for some, value in added:
            sums += np.bincount(grouped.group[some], value[grouped.stratum[some]], len(sums))
        of_groups = np.bincount(grouped.stratum, sums[grouped.group], len(n))
        together = constant @ self.products @ constant + 2 * of_groups @ constant + _squares(sums)
        return max(float(together / alone), 1.0) if alone > 0 else 1.0


def _squares(values: FloatArray) -> float:
    """Sum of squares, of the same bytes on any number of cores."""
    parts = (values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE))
    return float(sum(part @ part for part in parts))
