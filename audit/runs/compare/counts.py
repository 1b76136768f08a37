"""Things counted in two releases, statistics of their change, and the limits of comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

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
from audit.runs.compare.edits import Release

FALSE_DISCOVERY_RATE, LEAST_EXPECTED, ODDS_RATIO, CONFUSIONS_TESTED = 0.05, 5, 1.2, 1000
TERMS: tuple[Mapping[str, Any], ...] = (
    {
        "name": "false_discovery_rate",
        "value": FALSE_DISCOVERY_RATE,
        "unit": "share of the changes reported",
        "reason": "One change in twenty may be chance.",
    },
    {
        "name": "least_expected",
        "value": LEAST_EXPECTED,
        "unit": "instances expected in the smaller release",
        "reason": "Rarer nodes and pairs cannot show a change; leaving them out keeps the family "
        "small. It is decided by the total over both releases, before anything is tested.",
    },
    {
        "name": "odds_ratio",
        "value": ODDS_RATIO,
        "unit": "odds in NEW over odds in OLD, or the reverse",
        "reason": "Among many instances the smallest difference is beyond chance; a smaller one is "
        "not worth a curator's time.",
    },
    {
        "name": "confusions_tested",
        "value": CONFUSIONS_TESTED,
        "unit": "pairs of labels",
        "reason": "The pairs with the largest sum of both confusions; the rest is hardly confused "
        "by either model, and testing it would only hide these.",
    },
)
"""The limits of a comparison, each with its unit and reason, as ``comparison.json`` lists them."""


@dataclass(frozen=True, eq=False)
class Changes:
    """What changed between two releases: a row a thing, and how many things were tested."""

    table: pl.DataFrame
    family: int | None


def beside(sides: Iterable[pl.DataFrame], on: Sequence[str], how: Any) -> pl.DataFrame:
    """The tables of both releases, joined; all other columns end with their side."""
    old, new = (
        table.rename({name: f"{name}_{side}" for name in table.columns if name not in on})
        for side, table in zip(("old", "new"), sides, strict=True)
    )
    return old.join(new, on=on, how=how, coalesce=True, maintain_order="left")


@dataclass(frozen=True, eq=False)
class Counts:
    """The same things counted in two releases, in instances or in effective ones.

    Args:
        old: Instances of OLD that count, shape (n,); effective ones need not be whole.
        n_old: Instances of OLD that they are counted among, one number or shape (n,).
        new: Instances of NEW that count, shape (n,).
        n_new: Instances of NEW that they are counted among, one number or shape (n,).
        same_data: Whether both runs counted the same data: then differences are not due to chance.
        freedom: The smaller number of groups, less one; None without groups.
    """

    old: IntArray | FloatArray
    n_old: Size
    new: IntArray | FloatArray
    n_new: Size
    same_data: bool
    freedom: int | None = None

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        """The rates in OLD and in NEW, shape (n,) each."""
        return self.old / self.n_old, self.new / self.n_new

    @cached_property
    def difference(self) -> FloatArray:
        """Rate in NEW less the rate in OLD, shape (n,)."""
        old, new = self.means
        return np.asarray(new - old)

    @cached_property
    def p_value(self) -> FloatArray:
        """Two-sided p values, shape (n,); NaN if the data are the same."""
        if self.same_data:
            return np.full(len(self.old), np.nan)
        return difference_p_value(*self._whole, self.freedom)

    @property
    def _whole(self) -> tuple[IntArray, Size, IntArray, Size]:
        old, new = (np.rint(counted).astype(np.int64) for counted in (self.old, self.new))
        return old, self.n_old, new, self.n_new

    @cached_property
    def tested(self) -> BoolArray:
        """Whether each is in the family, by margins; all False if the data are the same."""
        if self.same_data:
            return np.zeros(len(self.old), np.bool_)
        return np.asarray(least_expected(*self._whole) >= LEAST_EXPECTED)

    @cached_property
    def odds_ratio(self) -> FloatArray:
        """As `audit.engine.statistics.two_rates.odds_ratio`, shape (n,)."""
        return odds_ratio(self.old, self.n_old, self.new, self.n_new)

    @property
    def large(self) -> BoolArray:
        """Whether the effect reaches the least effect size, shape (n,)."""
        return beyond_floor(self.odds_ratio)

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of the differences; the differences themselves if the data are the same."""
        if self.same_data:
            return self.difference, self.difference
        sides = ((self.new, self.n_new), (self.old, self.n_old))
        new, old = ((k / n, *wilson(k, n)) for k, n in sides)
        return difference_interval(new, old)

    def columns(self, known: BoolArray, tested: BoolArray, *, grouped: bool) -> pl.DataFrame:
        """All statistics, a row a thing; null where not known, means of groups without any.

        Args:
            known: Whether the thing means the same in both releases.
            tested: Whether it is in the family; p and q values are null where it is not.
        """
        low, high = self.interval
        mean_old, mean_new = self.means
        values = {
            "mean_old": (mean_old, known & grouped),
            "mean_new": (mean_new, known & grouped),
            "difference": (self.difference, known),
            "low": (low, known),
            "high": (high, known),
            "odds_ratio": (self.odds_ratio, known),
            "p_value": (self.p_value, tested),
            "q_value": (q_values(self.p_value, tested), tested),
        }
        table = pl.DataFrame(
            {name: np.where(of, one, np.nan) for name, (one, of) in values.items()}
        )
        return table.fill_nan(None)


def counted(
    table: pl.DataFrame, name: str, old: Release, new: Release, *, same_data: bool
) -> tuple[Counts, Counts]:
    """What `beside` has of things in two releases: in instances, and in effective ones.

    These are the shares of a mean group, at the number of independent instances that vary as the
    groups do; the same as the instances where no group has several.
    """
    of = {one: table[one].to_numpy() for one in table.columns if table[one].dtype.is_numeric()}
    shown = Counts(of[f"{name}_old"], old.instances, of[f"{name}_new"], new.instances, same_data)
    if not (old.grouped or new.grouped):
        return shown, shown
    sums = (
        GroupSums(of[f"group_sum_{side}"], of[f"group_squares_{side}"], run.groups, run.labelled)
        for side, run in (("old", old), ("new", new))
    )
    (k_old, n_old), (k_new, n_new) = effective_counts(*sums)
    freedom = min(old.groups, new.groups) - 1
    return shown, Counts(k_old, n_old, k_new, n_new, same_data, freedom)


def beyond_floor(ratio: FloatArray) -> BoolArray:
    """Whether ratios reach the least effect size, in either direction."""
    return np.asarray((ratio >= ODDS_RATIO) | (ratio <= 1 / ODDS_RATIO))


def q_values(p_value: FloatArray, tested: BoolArray) -> FloatArray:
    """False-discovery rates within the family, shape (n,); NaN outside it."""
    q_value = np.full(len(p_value), np.nan)
    q_value[tested] = benjamini_hochberg(p_value[tested], int(tested.sum()))
    return q_value


def within_rate(q_value: FloatArray) -> BoolArray:
    """Whether false-discovery rates allow to tell a change; not outside the family."""
    return np.nan_to_num(q_value, nan=1.0) <= FALSE_DISCOVERY_RATE
