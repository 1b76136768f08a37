"""Pairs that meet more often than their parents, or the length of records, explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from audit.dag import FloatArray, IntArray, Sparse
from audit.engine.entailed import count_entailed, sole_labels
from audit.engine.expectation import Comparisons, Stratified, comparisons, stratify
from audit.engine.fdr import family_size, in_family, selected_level
from audit.engine.folding import fold, most_specific, pairs_above, topmost
from audit.engine.intervals import LEVEL
from audit.engine.judgement import Judged, judge
from audit.engine.ratios import ratio_bounds
from audit.engine.records import Records, records
from audit.engine.remeasured import CountRatios, InstanceRatios, Ratios
from audit.engine.strata import LEAST_LABELS, length_cuts, length_histogram, strata_of
from audit.hierarchy import Hierarchy
from audit.pair_table import JUDGED
from audit.policy import Policy
from audit.progress import Progress, silent


@dataclass(frozen=True, eq=False)
class Labelled:
    """A dataset as the judgement of its pairs needs it; instances in the dataset's order.

    Args:
        direct: Direct labels, 0/1, shape (n_instances, n_nodes).
        support: Instances carrying each node, shape (n_nodes,).
        units: What is resampled as a whole, one an instance: its group, or itself.
        group_of: Number of each instance's group, shape (n_instances,); None without groups.
        categories: Further strata: category numbers from 0, an array of shape (n_instances,) each.
    """

    direct: Sparse
    support: IntArray
    units: Sequence[str]
    group_of: IntArray | None = None
    categories: Sequence[IntArray] = ()


@dataclass(frozen=True, eq=False)
class CountedPairs:
    """A dataset as far as the judgement of its pairs needs no single instance.

    Args:
        strata: Its instances of two direct labels or more, by the length bins of ``cuts``.
        support: Instances carrying each node, shape (n_nodes,).
        lengths: How many instances have each number of direct labels, from 0.
        cuts: First number of direct labels of each length bin, ascending.
    """

    strata: Stratified
    support: IntArray
    lengths: IntArray
    cuts: IntArray


@dataclass(frozen=True, eq=False)
class Excess:
    """Which pairs were judged, and which of them meet too often.

    Args:
        family: Pairs judged, those without a joint instance included.
        cuts: First number of direct labels of each length bin.
        level: Coverage of the intervals, corrected for the selection of what is reported.
        found: ``line`` (of the pair table), ``a, b`` (indices of the nodes that name the pair: the
            ends of their chains, in node order), ``observed``, ``folded_into`` (lines); a row a
            pair that passes, the deepest first.
        why_not: Why no pair could be judged; empty where some could.
    """

    family: int
    cuts: tuple[int, ...]
    level: float
    found: pl.DataFrame
    why_not: str = ""


_FOUND: dict[str, Any] = {
    "line": pl.Int64,
    "a": pl.Int64,
    "b": pl.Int64,
    "observed": pl.Int64,
    "folded_into": pl.List(pl.Int64),
}


def judge_pairs(
    hierarchy: Hierarchy,
    labelled: Labelled,
    pairs: pl.DataFrame,
    policy: Policy,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[pl.DataFrame, Excess]:
    """Judge the pairs of a pair table, and fold those that others explain.

    Args:
        hierarchy: The hierarchy.
        labelled: The dataset.
        pairs: Every pair with a joint instance, from `pair_table`.
        policy: Its ``expected_support, excess_ratio`` and ``false_discovery_rate`` are used.
        seed: Of the resampling behind the intervals.
        progress: What is told how far the judgement is.

    Returns:
        The table with ``joint_entailed`` and the columns of `JUDGED`, and what was found.
    """
    progress("judging pairs")
    sole = sole_labels(labelled.direct, hierarchy.closure)
    pairs = pairs.with_columns(_entailed(pairs, sole))
    lengths = np.diff(labelled.direct.indptr).astype(np.int64)
    histogram = length_histogram(lengths)
    cuts = length_cuts(histogram)
    number = strata_of(lengths, cuts, labelled.categories)
    strata = stratify(labelled.direct, sole, number)
    own = records(sole, number, labelled.group_of)
    counted = CountedPairs(strata, labelled.support, histogram, cuts)
    ratios = InstanceRatios(strata, own, labelled.units, seed, progress)
    grouped = None if labelled.group_of is None else own
    return _judged(hierarchy, counted, pairs, policy, ratios, grouped)


def judge_counted_pairs(
    hierarchy: Hierarchy,
    counted: CountedPairs,
    pairs: pl.DataFrame,
    policy: Policy,
    *,
    progress: Progress = silent,
) -> tuple[pl.DataFrame, Excess]:
    """Judge the pairs of a pair table from counts alone, every instance being its own group.

    Which pairs are judged, what is expected of them, p, q and which pass are as `judge_pairs` finds
    them without groups and further strata. Two things only instances can tell:

    - A pair above others that pass is measured again as if no instance carried two of those, with
      its expectation unchanged. That is never more than what is left, so that more is folded where
      instances carry several. What is folded explains nothing further up.
    - Intervals have the spread of a Poisson number of joint instances. The error of the expectation
      is not in them, so that they are never wider than resampled ones.

    Args:
        hierarchy: The hierarchy.
        counted: The dataset.
        pairs: Every pair with a joint instance, from `pair_table`, with ``joint_entailed``.
        policy: As for `judge_pairs`.
        progress: What is told that pairs are judged.

    Returns:
        The table with the columns of `JUDGED`, and what was found.
    """
    progress("judging pairs")
    return _judged(hierarchy, counted, pairs, policy, CountRatios())


def _judged(
    hierarchy: Hierarchy,
    counted: CountedPairs,
    pairs: pl.DataFrame,
    policy: Policy,
    ratios: Ratios,
    grouped: Records | None = None,
) -> tuple[pl.DataFrame, Excess]:
    """The table judged, and what was found; ``grouped`` only where instances have groups."""
    why_not = _why_not(counted.lengths)
    limit, n = policy.expected_support.value, int(counted.lengths.sum())
    rate = policy.false_discovery_rate.value
    family = 0 if why_not else family_size(counted.support, hierarchy.closure, limit, n)
    lines = _members(pairs, n, limit) if family else np.empty(0, np.int64)
    judged = judge(
        counted.strata, *_asked(hierarchy, pairs, lines), family, grouped=grouped, rate=rate
    )
    passing = _passing(hierarchy, judged, policy)
    flagged = judged[passing]
    folded = _folded(hierarchy, ratios, flagged, policy)
    standing = passing[[place for place in range(len(passing)) if place not in folded]]
    level = selected_level(rate, len(passing), family)
    low, high = _intervals(ratios, judged, standing, level)
    found = _found(hierarchy, counted.support, flagged, folded, lines[passing])
    columns = _columns(judged, low, high, lines, len(pairs))
    cuts = tuple(counted.cuts.tolist())
    return pairs.with_columns(columns), Excess(family, cuts, level, found, why_not)


def _entailed(pairs: pl.DataFrame, sole: Sparse) -> pl.Series:
    """Joint instances of each line that one label alone explains."""
    counts = count_entailed(sole).tocoo()
    entailed = np.zeros(len(pairs), np.int64)
    a, b = _ends(pairs)
    keys, n = a * sole.shape[1] + b, np.int64(sole.shape[1])
    entailed[np.searchsorted(keys, counts.row.astype(np.int64) * n + counts.col)] = counts.data
    return pl.Series("joint_entailed", entailed)


def _ends(pairs: pl.DataFrame) -> tuple[IntArray, IntArray]:
    a, b = (pairs[end].to_physical().to_numpy().astype(np.int64) for end in ("a", "b"))
    return a, b


def _why_not(lengths: IntArray) -> str:
    if not lengths[LEAST_LABELS:].any():
        return "no instance has two labels, so no two nodes can meet through different ones"
    return ""


def _members(pairs: pl.DataFrame, instances: int, limit: float) -> IntArray:
    """Lines of the table that belong to the family."""
    support_a, support_b = (pairs[name].to_numpy() for name in ("support_a", "support_b"))
    apart = (pairs["relation"] != "ancestor").to_numpy()
    return np.flatnonzero(apart & in_family(support_a, support_b, instances, limit))


def _asked(
    hierarchy: Hierarchy, pairs: pl.DataFrame, lines: IntArray
) -> tuple[Comparisons, FloatArray]:
    """The comparisons of some lines, and the joint instances that no one label explains."""
    members = pairs.select("a", "b", "relation", "joint", "joint_entailed")[lines]
    a, b = _ends(members)
    siblings = (members["relation"] == "sibling").to_numpy()
    observed = (members["joint"] - members["joint_entailed"]).to_numpy().astype(np.float64)
    return comparisons(a, b, siblings, hierarchy.edges), observed


def _passing(hierarchy: Hierarchy, judged: Judged, policy: Policy) -> IntArray:
    """Places of the pairs whose excess is large and no chance, the deepest first."""
    large = judged.observed >= policy.excess_ratio.value * judged.expected
    sure = judged.q_value <= policy.false_discovery_rate.value
    passing = np.flatnonzero(large & sure & (judged.expected > 0))
    depth, given = hierarchy.depth, judged.given[passing]
    return passing[np.lexsort((given.b, given.a, -(depth[given.a] + depth[given.b])))]


def _folded(
    hierarchy: Hierarchy, ratios: Ratios, flagged: Judged, policy: Policy
) -> dict[int, tuple[int, ...]]:
    """For each pair that others explain those pairs, as places in ``flagged``."""
    without, given = ratios.without(flagged), flagged.given
    above = pairs_above(given.a, given.b, hierarchy.closure)

    def holds(place: int, below: Sequence[int]) -> bool:
        ratio = without(place, topmost(below, above))
        low, _ = ratio_bounds(ratio.value, ratio.spread, LEVEL)
        return low >= policy.excess_ratio.value

    return fold(range(len(flagged)), above, holds, lambda place: holds(place, ()))


def _intervals(
    ratios: Ratios, judged: Judged, standing: IntArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the ratios of what is reported; NaN elsewhere."""
    low, high = np.full((2, len(judged)), np.nan)
    spreads = ratios.spreads(judged[standing])
    for place, spread in zip(standing.tolist(), spreads, strict=True):
        ratio = float(judged.observed[place] / judged.expected[place])
        low[place], high[place] = ratio_bounds(ratio, spread, level)
    return low, high


def _found(
    hierarchy: Hierarchy,
    support: IntArray,
    flagged: Judged,
    folded: Mapping[int, tuple[int, ...]],
    lines: IntArray,
) -> pl.DataFrame:
    """The pairs that pass, with their lines, and the lines of those that explain them."""
    named = (
        sorted(most_specific(node, support, hierarchy.child_matrix) for node in pair)
        for pair in flagged.given.pairs()
    )
    rows = [
        (
            int(lines[place]),
            *ends,
            int(flagged.observed[place]),
            [int(lines[other]) for other in folded.get(place, ())],
        )
        for place, ends in enumerate(named)
    ]
    return pl.DataFrame(rows, schema=_FOUND, orient="row")


def _columns(
    judged: Judged, low: FloatArray, high: FloatArray, lines: IntArray, height: int
) -> list[pl.Series]:
    """The columns of `JUDGED` for the whole table."""
    ratio = np.divide(
        judged.observed,
        judged.expected,
        out=np.full(len(lines), np.nan),
        where=judged.expected > 0,
    )
    values = (judged.expected, ratio, low, high, judged.p_value, judged.q_value)
    columns = []
    for name, of_lines in zip(JUDGED, values, strict=True):
        column = np.full(height, np.nan)
        column[lines] = of_lines
        columns.append(pl.Series(name, column, nan_to_null=True))
    return columns
