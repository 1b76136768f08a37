"""The pairs of a pair table judged, some lines at a time, and the table with its verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.dag import FloatArray, IntArray
from audit.engine.expectation import comparisons
from audit.engine.fdr import in_family
from audit.engine.judgement import Judged, judge
from audit.engine.records import Records
from audit.engine.stratified import Stratified
from audit.hierarchy import Hierarchy
from audit.pair_table import JUDGED
from audit.policy import Policy


@dataclass(frozen=True, eq=False)
class Grouped:
    """Instances with their groups, and the family that is judged with them.

    Args:
        records: The instances.
        family: Pairs of the family, those without a joint instance included.
    """

    records: Records
    family: int


@dataclass(frozen=True, eq=False)
class Weighed:
    """Pairs of the family that have a joint instance, judged one by one.

    Args:
        lines: Where each stands in the pair table, ascending, shape (n_pairs,).
        expected: Joint instances expected, same shape.
        p_value: One-sided, for excess, same shape.
        places: Which of them may pass: those with a large excess that chance seldom gives.
        judged: These.
    """

    lines: IntArray
    expected: FloatArray
    p_value: FloatArray
    places: IntArray
    judged: Judged

    @classmethod
    def joined(cls, parts: Sequence[Weighed]) -> Weighed:
        """Parts that follow each other in the table, as one."""
        starts = np.cumsum([0, *(len(part.lines) for part in parts)])
        places = [part.places + start for part, start in zip(parts, starts, strict=False)]
        lines, expected, p_value = (
            np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)])
            for name, kind in (("lines", np.int64), ("expected", float), ("p_value", float))
        )
        judged = Judged.joined([part.judged for part in parts])
        return cls(lines, expected, p_value, np.concatenate([_NONE, *places]), judged)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """How pairs were judged within their family; arrays of shape (n_pairs,).

    Args:
        lines: Where each stands in the pair table, ascending.
        expected: Joint instances expected.
        p_value: One-sided, for excess.
        q_value: After Benjamini-Hochberg within the family.
        bounds: ``line, ratio_low, ratio_high`` of those that pass, by line.
    """

    lines: IntArray
    expected: FloatArray
    p_value: FloatArray
    q_value: FloatArray
    bounds: pl.DataFrame


_NONE = np.empty(0, np.int64)


def weigh(
    hierarchy: Hierarchy,
    strata: Stratified,
    pairs: pl.DataFrame,
    policy: Policy,
    instances: int,
    grouped: Grouped | None = None,
) -> Weighed:
    """Judge the pairs of some lines that belong to the family.

    Args:
        hierarchy: The hierarchy.
        strata: The dataset.
        pairs: Lines of the pair table with ``line`` and ``joint_entailed``.
        policy: Its ``expected_support, excess_ratio`` and ``false_discovery_rate`` are used.
        instances: All instances.
        grouped: The instances' groups; None without groups.
    """
    rate, excess = policy.false_discovery_rate.value, policy.excess_ratio.value
    members = _members(pairs, instances, policy.expected_support.value)
    siblings = (members["relation"] == "sibling").to_numpy()
    asked = comparisons(*ends_of(members), siblings, hierarchy.edges)
    observed = (members["joint"] - members["joint_entailed"]).to_numpy().astype(np.float64)
    judged = judge(
        strata,
        asked,
        observed,
        grouped=grouped.records if grouped else None,
        family=grouped.family if grouped else 0,
        rate=rate,
    )
    large = (observed >= excess * judged.expected) & (judged.expected > 0)
    places = np.flatnonzero(large & (judged.p_value <= rate))
    lines = members["line"].to_numpy().astype(np.int64)
    return Weighed(lines, judged.expected, judged.p_value, places, judged[places])


def ends_of(pairs: pl.DataFrame) -> tuple[IntArray, IntArray]:
    """Both nodes of each line of a pair table, by index."""
    a, b = (pairs[end].to_physical().to_numpy().astype(np.int64) for end in ("a", "b"))
    return a, b


def judged_columns(
    observed: FloatArray,
    expected: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    p_value: FloatArray,
    q_value: FloatArray,
) -> pl.DataFrame:
    """The columns of `JUDGED`, null where a value is not a number; all of shape (n_pairs,).

    Args:
        observed: Joint instances, those that one label explains left out.
        expected: What is expected of them.
        bounds: Of the ratio.
        p_value: One-sided, for excess.
        q_value: Within the family.
    """
    ratio = np.full(len(observed), np.nan)
    np.divide(observed, expected, out=ratio, where=expected > 0)
    values = (expected, ratio, *bounds, p_value, q_value)
    return pl.DataFrame(
        [pl.Series(n, v, nan_to_null=True) for n, v in zip(JUDGED, values, strict=True)]
    )


def with_verdicts(pairs: pl.DataFrame, verdicts: Verdicts, start: int = 0) -> pl.DataFrame:
    """Lines of a pair table, from ``start`` on, with the columns of `JUDGED`; null where none."""
    ends = (start, start + len(pairs))
    some = slice(*np.searchsorted(verdicts.lines, ends))
    lines = verdicts.lines[some] - start
    expected, p_value, q_value = (
        _at(lines, values[some], len(pairs))
        for values in (verdicts.expected, verdicts.p_value, verdicts.q_value)
    )
    reported = verdicts.bounds.filter(pl.col("line").is_between(*ends, closed="left"))
    low, high = (
        _at(reported["line"].to_numpy() - start, reported[name].to_numpy(), len(pairs))
        for name in ("ratio_low", "ratio_high")
    )
    observed = (pairs["joint"] - pairs["joint_entailed"]).to_numpy().astype(np.float64)
    judged = judged_columns(observed, expected, (low, high), p_value, q_value)
    return pairs.hstack(judged)


def _at(places: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Values at their places, NaN elsewhere, shape (size,)."""
    column = np.full(size, np.nan)
    column[places] = values
    return column


def _members(pairs: pl.DataFrame, instances: int, limit: float) -> pl.DataFrame:
    """The lines that belong to the family."""
    support_a, support_b = (pairs[name].to_numpy() for name in ("support_a", "support_b"))
    apart = (pairs["relation"] != "ancestor").to_numpy()
    chosen = np.flatnonzero(apart & in_family(support_a, support_b, instances, limit))
    return pairs.select("line", "a", "b", "relation", "joint", "joint_entailed")[chosen]
