"""Pairs judged: what was expected of each, and how surprising it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.engine.association import excess_p_value
from audit.engine.expectation import Comparisons, expect
from audit.engine.fdr import discovered
from audit.engine.grouped import grouped_p_value
from audit.engine.records import Records
from audit.engine.stratified import Stratified

Sparse: TypeAlias = csr_array[Any, tuple[int, int]]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Judged:
    """Pairs with a joint instance, judged one by one; arrays of shape (n_pairs,).

    Args:
        given: The comparison of each pair: of several, the one with the largest p value.
        observed: Joint instances, those that one label explains left out.
        expected: What the comparison expects.
        p_value: One-sided, for excess; with groups, theirs is taken where the pair passes without.
    """

    given: Comparisons
    observed: FloatArray
    expected: FloatArray
    p_value: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[Judged]) -> Judged:
        """Several sets of pairs as one; the comparisons keep the numbers of their own set."""
        columns = ("observed", "expected", "p_value")
        values = (
            np.concatenate([np.empty(0), *(getattr(part, name) for part in parts)])
            for name in columns
        )
        return cls(Comparisons.joined([part.given for part in parts]), *values)

    def __len__(self) -> int:
        return len(self.observed)

    def __getitem__(self, chosen: IntArray) -> Judged:
        return Judged(
            self.given[chosen],
            self.observed[chosen],
            self.expected[chosen],
            self.p_value[chosen],
        )


def judge(
    strata: Stratified,
    asked: Comparisons,
    observed: FloatArray,
    *,
    grouped: Records | None = None,
    family: int = 0,
    rate: float = 1.0,
) -> Judged:
    """Judge pairs, each by itself.

    Args:
        strata: The dataset.
        asked: Every comparison of every pair; pairs numbered from 0.
        observed: Of each pair, shape (n_pairs,).
        grouped: Instances with their groups; None without groups.
        family: With groups, the pairs of the family that these are the members of with a joint
            instance; those without one are counted too.
        rate: False discovery rate that pairs must pass without groups to be tested with them.
            Larger p values only shrink what is rejected, so that no other pair can pass with them.
    """
    expected = expect(strata, asked)
    seen = observed[asked.pair]
    p_value = excess_p_value(seen, expected)
    chosen = _largest(asked, p_value, expected.joint)
    if grouped is not None:
        passing = np.flatnonzero(discovered(p_value[chosen], family, rate)[asked.pair])
        among_groups = grouped_p_value(
            strata, grouped, asked[passing], seen[passing], expected[passing]
        )
        p_value[passing] = np.maximum(p_value[passing], among_groups)
        chosen = _largest(asked, p_value, expected.joint)
    return Judged(asked[chosen], observed, expected.joint[chosen], p_value[chosen])


def _largest(asked: Comparisons, p_value: FloatArray, expected: FloatArray) -> IntArray | slice:
    """Of each pair the comparison with the largest p value, then the largest expectation."""
    first = np.flatnonzero(np.diff(asked.pair, prepend=-1))
    if len(first) == len(asked):
        return slice(None)
    return np.asarray(np.lexsort((-expected, -p_value, asked.pair))[first])
