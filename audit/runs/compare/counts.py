"""Counts in two releases, statistics of their change, and the fixed limits of comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import difference_interval, wilson
from audit.engine.statistics.two_rates import (
    GroupSums,
    Size,
    difference_p_value,
    effective_counts,
    least_expected,
    odds_ratio,
)


@dataclass(frozen=True, slots=True)
class Term:
    """A limit of the comparison, with its unit and reason."""

    name: str
    value: float
    unit: str
    reason: str


FALSE_DISCOVERY_RATE = Term(
    "false_discovery_rate",
    0.05,
    "share of the changes reported",
    "One change in twenty may be chance.",
)
LEAST_EXPECTED = Term(
    "least_expected",
    5,
    "instances expected in the smaller release",
    "Rarer nodes and pairs cannot show a change; leaving them out keeps the family small. It is "
    "decided by the total over both releases, before anything is tested.",
)
ODDS_RATIO = Term(
    "odds_ratio",
    1.2,
    "odds in NEW over odds in OLD, or the reverse",
    "Among many instances the smallest difference is beyond chance; a smaller one is not worth "
    "a curator's time.",
)
CONFUSIONS_TESTED = Term(
    "confusions_tested",
    1000,
    "pairs of labels",
    "The pairs with the largest sum of both confusions; the rest is hardly confused by either "
    "model, and testing it would only hide these.",
)

TERMS = (FALSE_DISCOVERY_RATE, LEAST_EXPECTED, ODDS_RATIO, CONFUSIONS_TESTED)


def terms() -> list[dict[str, Any]]:
    """All terms, as listed in ``comparison.json``."""
    return [asdict(term) for term in TERMS]


def by_group(old: GroupSums, new: GroupSums, *, same_data: bool) -> Counts:
    """Shares of a mean group, at the number of independent instances that vary as the groups do."""
    (k_old, n_old), (k_new, n_new) = effective_counts(old, new)
    return Counts(k_old, n_old, k_new, n_new, same_data)


@dataclass(frozen=True, eq=False)
class Counts:
    """The same things counted in two releases, in instances or, by `by_group`, in effective ones.

    Args:
        old: Instances of OLD that count, shape (n,); effective ones need not be whole.
        n_old: Instances of OLD that they are counted among, one number or shape (n,).
        new: Instances of NEW that count, shape (n,).
        n_new: Instances of NEW that they are counted among, one number or shape (n,).
        same_data: Whether both runs counted the same data: then differences are not due to chance.
    """

    old: IntArray | FloatArray
    n_old: Size
    new: IntArray | FloatArray
    n_new: Size
    same_data: bool

    @cached_property
    def difference(self) -> FloatArray:
        """Rate in NEW less the rate in OLD, shape (n,)."""
        rates: FloatArray = self.new / self.n_new - self.old / self.n_old
        return rates

    @cached_property
    def odds_ratio(self) -> FloatArray:
        """As `audit.engine.statistics.two_rates.odds_ratio`, shape (n,)."""
        return odds_ratio(self.old, self.n_old, self.new, self.n_new)

    @cached_property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of the differences; the differences themselves if the data are the same."""
        if self.same_data:
            return self.difference, self.difference
        return difference_interval(
            _with_bounds(self.new, self.n_new), _with_bounds(self.old, self.n_old)
        )

    @cached_property
    def p_value(self) -> FloatArray:
        """Two-sided p values, shape (n,); NaN if the data are the same."""
        if self.same_data:
            return np.full(len(self.old), np.nan)
        return difference_p_value(*self._whole)

    @property
    def _whole(self) -> tuple[IntArray, Size, IntArray, Size]:
        old, new = (np.rint(counted).astype(np.int64) for counted in (self.old, self.new))
        return old, self.n_old, new, self.n_new

    @property
    def tested(self) -> BoolArray:
        """Whether each is in the family, by margins; all False if the data are the same."""
        if self.same_data:
            return np.zeros(len(self.old), np.bool_)
        expected = least_expected(*self._whole)
        return np.asarray(expected >= LEAST_EXPECTED.value)

    @property
    def large(self) -> BoolArray:
        """Whether the effect reaches the least effect size, shape (n,)."""
        return beyond_floor(self.odds_ratio)

    def __getitem__(self, places: IntArray | BoolArray | Sequence[int]) -> Counts:
        n_old, n_new = (n if isinstance(n, int) else n[places] for n in (self.n_old, self.n_new))
        return Counts(self.old[places], n_old, self.new[places], n_new, self.same_data)


def _with_bounds(k: IntArray | FloatArray, n: Size) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rates with their Wilson intervals."""
    return k / n, *wilson(k, n)


def beyond_floor(ratio: FloatArray) -> BoolArray:
    """Whether ratios reach the least effect size, in either direction."""
    return np.asarray((ratio >= ODDS_RATIO.value) | (ratio <= 1 / ODDS_RATIO.value))


def q_values(p_value: FloatArray, tested: BoolArray) -> FloatArray:
    """False-discovery rates within the family, shape (n,); NaN outside it."""
    q_value = np.full(len(p_value), np.nan)
    q_value[tested] = benjamini_hochberg(p_value[tested], int(tested.sum()))
    return q_value
