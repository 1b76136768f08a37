"""Things counted in two releases, statistics of their change, and the limits of comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import LEVEL, difference_interval, wilson
from audit.engine.statistics.two_rates import (
    GroupSums,
    Size,
    difference_p_value,
    effective_counts,
    least_expected,
    odds_ratio,
)
from audit.runs.compare.releases import SIDES, Releases

FALSE_DISCOVERY_RATE, LEAST_EXPECTED, ODDS_RATIO = 0.05, 5, 1.2
TERMS: tuple[Mapping[str, Any], ...] = tuple(
    dict(zip(("name", "value", "unit", "reason"), term, strict=True))
    for term in (
        ("false_discovery_rate", FALSE_DISCOVERY_RATE, "share of the changes reported",
         "One change in twenty may be chance."),
        ("least_expected", LEAST_EXPECTED, "instances expected in the smaller release",
         "Rarer nodes and pairs cannot show a change; leaving them out keeps the family small. It "
         "is decided by the total over both releases, before anything is tested."),
        ("odds_ratio", ODDS_RATIO, "odds in NEW over odds in OLD, or the reverse",
         "Among many instances the smallest difference is beyond chance; a smaller one is not "
         "worth a curator's time."),
    )
)  # fmt: skip
"""The limits of a comparison, each with its unit and reason, as ``comparison.json`` lists them."""


@dataclass(frozen=True, eq=False)
class Counts:
    """The same things counted in two releases, in instances, or with groups in effective ones.

    Those are the shares of a mean group, at the number of independent instances that vary as the
    groups do.

    Args:
        old: Instances of OLD that count, shape (n,); effective ones need not be whole.
        n_old: Instances of OLD that they are counted among, one number or shape (n,).
        new: Instances of NEW that count, shape (n,).
        n_new: Instances of NEW that they are counted among, one number or shape (n,).
        of: The releases.
    """

    old: IntArray | FloatArray
    n_old: Size
    new: IntArray | FloatArray
    n_new: Size
    of: Releases

    @classmethod
    def read(cls, table: pl.DataFrame, name: str, of: Releases) -> Self:
        """The columns ``name_old, name_new`` of a table, or with groups its sums over groups."""
        if not of.grouped:
            old, new = (table[f"{name}_{side}"].to_numpy() for side in SIDES)
            return cls(old, of.sizes[0], new, of.sizes[1], of)
        sums = (
            GroupSums(
                table[f"group_sum_{side}"].to_numpy(),
                table[f"group_squares_{side}"].to_numpy(),
                run.groups,
                run.labelled,
            )
            for side, run in zip(SIDES, of, strict=True)
        )
        (old, n_old), (new, n_new) = effective_counts(*sums)
        return cls(old, n_old, new, n_new, of)

    @property
    def means(self) -> tuple[FloatArray, FloatArray]:
        """The rates in OLD and in NEW, shape (n,) each."""
        return self.old / self.n_old, self.new / self.n_new

    @property
    def difference(self) -> FloatArray:
        """Rate in NEW less the rate in OLD, shape (n,)."""
        old, new = self.means
        return np.asarray(new - old)

    @property
    def _whole(self) -> tuple[IntArray, Size, IntArray, Size]:
        """Count in OLD, rounded, and its total as it is; then the same of NEW."""
        old, new = (np.rint(counted).astype(np.int64) for counted in (self.old, self.new))
        return old, self.n_old, new, self.n_new

    @property
    def tested(self) -> BoolArray:
        """Whether each is in the family, by margins; all False if the data are the same."""
        return (least_expected(*self._whole) >= LEAST_EXPECTED) & (not self.of.same_data)

    @property
    def _interval(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of the differences; the differences themselves if the data are the same."""
        if self.of.same_data:
            return self.difference, self.difference
        sides = ((self.new, self.n_new), (self.old, self.n_old))
        new, old = ((k / n, *wilson(k, n)) for k, n in sides)
        return difference_interval(new, old)

    def columns(self, known: BoolArray, tested: BoolArray) -> pl.DataFrame:
        """All statistics, a row a thing; null where not ``known``, means also null without groups.

        Args:
            known: Whether the thing means the same in both releases.
            tested: Whether it is in the family; p and q values are null where it is not.
        """
        (low, high), (old, new) = self._interval, self.means
        freedom = min(one.groups for one in self.of) - 1 if self.of.grouped else None
        p_value = difference_p_value(*self._whole, freedom)
        ratio = odds_ratio(self.old, self.n_old, self.new, self.n_new)
        values = {
            "mean_old": (old, known & self.of.grouped),
            "mean_new": (new, known & self.of.grouped),
            "difference": (self.difference, known),
            "low": (low, known),
            "high": (high, known),
            "odds_ratio": (ratio, known),
            "p_value": (p_value, tested),
            "q_value": (q_values(p_value, tested), tested),
        }
        table = {name: np.where(of, one, np.nan) for name, (one, of) in values.items()}
        return pl.DataFrame(table).fill_nan(None)


def beyond_floor(ratio: FloatArray) -> BoolArray:
    """Whether ratios reach the least effect size, in either direction."""
    return np.asarray((ratio >= ODDS_RATIO) | (ratio <= 1 / ODDS_RATIO))


def q_values(p_value: FloatArray, tested: BoolArray) -> FloatArray:
    """False-discovery rates within the family, shape (n,); NaN outside it."""
    q_value = np.full(len(p_value), np.nan)
    q_value[tested] = benjamini_hochberg(p_value[tested], int(tested.sum()))
    return q_value


def p_of_interval(apart: Any, reach: Any) -> Any:
    """P values of differences ``apart``, by how far their 95 % intervals ``reach`` towards 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(apart == 0, 1.0, 2 * ndtr(ndtri((1 - LEVEL) / 2) * np.abs(apart / reach)))


def within_rate(q_value: FloatArray | pl.Series) -> BoolArray:
    """Whether false-discovery rates allow to tell a change; False outside the family."""
    return np.nan_to_num(np.asarray(q_value, np.float64), nan=1.0) <= FALSE_DISCOVERY_RATE
