"""record_cap: records pile up at a greatest length, because longer ones were truncated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import betainc

from audit.base.dag import IntArray
from audit.base.declared import Columns, chance, count, whole
from audit.checks.check import Check, Outcome
from audit.checks.shared.carriers import distinct
from audit.checks.shared.evidence import OF_SOME
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import wilson
from audit.measure.measure import Measurements, once
from audit.results.findings import Finding, share_evidence, times_limit
from audit.sharing.bins import Bins

_NAME = "record_cap"
LEAST_LENGTH = 3
"""Shortest length that can be a cap: the expectation needs two shorter lengths."""
LEAST_INSTANCES = 20
"""Least number of instances at a length for it to be tested."""
LEAST_RATIO = 1.5
"""Least ratio of observed to expected instances for a pile to be reported."""
MOST_LONGER = 0.01
"""Largest number of longer instances, as a share of those at the cap, that count as outliers."""
ONE_LENGTH = 0.95
"""Least share of the instances at one length for it to be the format of the data, not a cap."""


@dataclass(frozen=True)
class Pile:
    """The greatest length of some instances, with the number expected at it."""

    length: int
    at: int
    longer: int
    expected: float
    rise: float
    """Ratio of ``expected`` to the number of instances with one label fewer, at least 1."""
    p_value: float


@dataclass(frozen=True)
class _Scope:
    """Instances that may share a cap: all, or those of one value of a column."""

    column: str
    value: str
    counts: IntArray
    """Instances of each length from 0, shape (n_lengths,)."""

    @property
    def total(self) -> int:
        return int(self.counts.sum())


def run(measured: Measurements) -> Outcome:
    """Report a greatest length with more instances than expected from the shorter lengths.

    The check covers the release, and each value of the split and the strata, since a form may have
    had room for only so many labels in one period. A cap of the release is not repeated for its
    parts. Counts hold neither positions nor columns: with them, only the release is checked, by
    number of rows.
    """
    scopes, bins = list(_scopes(measured)), measured.rounding.bins("instances")
    judged = [(scope, pile) for scope in scopes if (pile := pile_of(scope.counts, bins))]
    return Outcome(
        denominator=scopes[0].total,
        denominator_unit="instances with labels",
        findings=tuple(_findings(measured, judged)),
    )


def _scopes(measured: Measurements) -> Iterator[_Scope]:
    """All instances with labels, then those of each value of each column."""
    if measured.instances is None:
        yield _Scope("", "", measured.counts.records.at("rows", 0))
        return
    lengths = record_lengths(measured)
    yield _Scope("", "", np.bincount(lengths["length"]))
    for column in measured.loaded.columns:
        named = _with_value(measured, lengths, column)
        for (value,), part in sorted(named.drop_nulls("value").group_by("value")):
            yield _Scope(column, str(value), np.bincount(part["length"]))


def _with_value(measured: Measurements, lengths: pl.DataFrame, column: str) -> pl.DataFrame:
    """Lengths with the ``value`` of a column of their instances."""
    values = measured.loaded.dataset.instances[column]
    return lengths.with_columns(value=values.gather(lengths["instance"]))


@once
def record_lengths(measured: Measurements) -> pl.DataFrame:
    """``instance`` (index) and ``length``: the last position, else the number of rows kept.

    Instances without labels are left out.
    """
    by_instance = measured.loaded.dataset.assertions.group_by("instance")
    last = pl.col("position").max().fill_null(0)
    lengths = by_instance.agg(length=pl.max_horizontal(last, pl.len().cast(pl.Int64)))
    return lengths.sort("instance")


def pile_of(counts: IntArray, bins: Bins) -> Pile | None:
    """The greatest length, tested against the two lengths before it.

    If the numbers of instances fall toward it, at most as many are expected as with one label
    fewer;
    if they rise, at most a rise by the same factor again, as in every log-concave distribution. The
    p value is that of a binomial test of the two lengths.

    Args:
        counts: Instances of each length from 0, shape (n_lengths,).
        bins: How they are told.

    Returns:
        None if the longest instances are few or short, or nearly all instances have that length.
    """
    long = np.flatnonzero(bins.tells & (bins.all_told(counts) >= LEAST_INSTANCES))
    if not len(long) or long[-1] < LEAST_LENGTH:
        return None
    length = int(long[-1])
    at, near, far = (int(counts[length - step]) for step in (0, 1, 2))
    longer = int(counts[length + 1 :].sum())
    (told, beyond), (every, most) = (
        bins.at_worst(*both) for both in ((at, longer), (counts.sum(), counts.max()))
    )
    if beyond > MOST_LONGER * told or most >= ONE_LENGTH * every:
        return None
    rise = max((near + 1) / (far + 1), 1.0)
    p_value = float(betainc(at, near + 1, rise / (1 + rise)))
    return Pile(length, at, longer, rise * near, rise, p_value)


def _findings(measured: Measurements, judged: list[tuple[_Scope, Pile]]) -> Iterator[Finding]:
    p_values = np.array([pile.p_value for _, pile in judged])
    reported = set[int]()  # the cap of the release, which comes first
    for (scope, pile), q in zip(judged, benjamini_hochberg(p_values, len(judged)), strict=True):
        high = pile.at >= LEAST_RATIO * pile.expected
        significant = q <= measured.policy.false_discovery_rate.value
        if high and significant and pile.length not in reported:
            if not scope.column:
                reported.add(pile.length)
            yield _finding(measured, scope, pile, float(q), len(judged))


def _finding(
    measured: Measurements, scope: _Scope, pile: Pile, q_value: float, family: int
) -> Finding:
    near, far = (int(scope.counts[pile.length - step]) for step in (1, 2))
    low, high = _ratio_interval(pile, near)
    verb = "has" if pile.longer < 2 else "have"
    others = f"{pile.longer or 'none'} {verb} more"  # tells none from few: for exact counts alone
    those = f"with the {scope.column} {scope.value!r} and labels" if scope.column else "with labels"
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(measured.hierarchy.nodes[measured.hierarchy.root],),
        statement=f"{{instances}} of {{of}} instances {those} ({{share}}) {{instances|has|have}} "
        "exactly {length} labels[ (at most {expected} expected)][, {others}]: records were "
        "probably cut at {length}.",
        evidence={
            **share_evidence(pile.at, scope.total),
            "length": pile.length,
            "longer": pile.longer,
            "others": others,
            "one_shorter": near,
            "two_shorter": far,
            "expected": pile.expected,
            "ratio": pile.at / pile.expected if pile.expected else None,
            "ratio_low": low,
            "ratio_high": high,
            "q_value": q_value,
            "family": family,
        },
        curator="Find out whether a form, a bill or an export allows only this many labels, and "
        "since when; say in the release notes which records it cut.",
        data_user="Do not read a missing label on these records as absent, above all one that "
        "would be written last.",
        touched=pile.at,
        beyond=times_limit(low, LEAST_RATIO),
        key=(scope.column, scope.value, str(pile.length)) if scope.column else (str(pile.length),),
    )


def _ratio_interval(pile: Pile, near: int) -> tuple[float, float | None]:
    """Interval of observed over expected, from that of the share among the two last lengths."""
    low, high = wilson(pile.at, pile.at + near)
    return low / (1 - low) / pile.rise, high / (1 - high) / pile.rise if high < 1 else None


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances of exactly that length, in the release or with the column's value."""
    *scope, length = finding.key
    lengths = record_lengths(measured)
    if scope:
        column, value = scope
        named = _with_value(measured, lengths, column)
        lengths = named.filter(pl.col("value").cast(pl.String) == value)
    return distinct(lengths.filter(pl.col("length") == int(length)))


CHECK = Check(
    _NAME,
    "Are records cut off at a maximum number of labels?",
    run,
    counts_with=("false_discovery_rate",),
    cases=cases,
    evidence=Columns(
        OF_SOME,
        whole("length"),
        count("longer one_shorter two_shorter"),
        chance("others expected ratio ratio_low ratio_high q_value family"),
    ),
)
