"""Pairs that meet more often than their parents, or the length of records, explain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from audit.batched import batched
from audit.dag import FloatArray, IntArray, Sparse
from audit.engine.entailed import count_entailed, sole_labels
from audit.engine.fdr import benjamini_hochberg, family_size, selected_level
from audit.engine.folding import fold, most_specific, pairs_above, topmost
from audit.engine.intervals import LEVEL
from audit.engine.judgement import Judged
from audit.engine.ratios import ratio_bounds
from audit.engine.records import records
from audit.engine.remeasured import CountRatios, InstanceRatios, Ratios
from audit.engine.strata import LEAST_LABELS, length_cuts, length_histogram, strata_of
from audit.engine.stratified import Stratified, stratify
from audit.hierarchy import Hierarchy
from audit.policy import Policy
from audit.progress import Progress, silent
from audit.verdicts import (
    Grouped,
    Verdicts,
    Weighed,
    ends_of,
    judged_columns,
    weigh,
    with_verdicts,
)

PAIRS_AT_ONCE = 2_000_000
"""Pairs of a count that are judged together."""


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
            ends of their chains, in node order), ``siblings``, ``observed``, ``folded_into``
            (lines), and the columns of `JUDGED`; a row a pair that passes, the deepest first.
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
    "siblings": pl.Boolean,
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
    family = _family(hierarchy, counted, policy)
    grouped = None if labelled.group_of is None else Grouped(own, family)
    lines = pairs.with_row_index("line")[: len(pairs) if family else 0]
    weighed = weigh(hierarchy, strata, lines, policy, len(lengths), grouped)
    ratios = InstanceRatios(strata, own, labelled.units, seed, progress)
    verdicts, excess = _judged(hierarchy, counted, weighed, policy, family, ratios)
    return with_verdicts(pairs, verdicts), excess


def judge_counted_pairs(
    hierarchy: Hierarchy,
    counted: CountedPairs,
    pairs: Iterable[pl.DataFrame],
    policy: Policy,
    *,
    progress: Progress = silent,
) -> tuple[Verdicts, Excess]:
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
        pairs: Pairs with a joint instance, from `pair_table`, with ``joint_entailed`` and the
            ``line`` of each in the whole table; in order, some at a time. Those that
            `audit.engine.fdr.in_family` leaves out may be missing.
        policy: As for `judge_pairs`.
        progress: What is told that pairs are judged.

    Returns:
        How the pairs were judged, for `with_verdicts`, and what was found.

    Memory grows with the pairs judged, some 60 bytes each.
    """
    progress("judging pairs")
    family = _family(hierarchy, counted, policy)
    weighed = Weighed.joined(
        list(_weighed(hierarchy, counted, pairs if family else (), policy, progress))
    )
    return _judged(hierarchy, counted, weighed, policy, family, CountRatios())


def _weighed(
    hierarchy: Hierarchy,
    counted: CountedPairs,
    pairs: Iterable[pl.DataFrame],
    policy: Policy,
    progress: Progress,
) -> Iterator[Weighed]:
    done, n = 0, int(counted.lengths.sum())
    for some in batched(pairs, PAIRS_AT_ONCE):
        yield weigh(hierarchy, counted.strata, some, policy, n)
        done += len(some)
        progress("judging pairs", done, None, "pairs")


def _family(hierarchy: Hierarchy, counted: CountedPairs, policy: Policy) -> int:
    """Pairs to judge, those without a joint instance included."""
    if _why_not(counted.lengths):
        return 0
    limit, n = policy.expected_support.value, int(counted.lengths.sum())
    return family_size(counted.support, hierarchy.closure, limit, n)


def _judged(
    hierarchy: Hierarchy,
    counted: CountedPairs,
    weighed: Weighed,
    policy: Policy,
    family: int,
    ratios: Ratios,
) -> tuple[Verdicts, Excess]:
    """The verdicts, and what was found."""
    rate = policy.false_discovery_rate.value
    q_value = benjamini_hochberg(weighed.p_value, family)
    passing = _passing(hierarchy, weighed, q_value, rate)
    places, flagged = weighed.places[passing], weighed.judged[passing]
    folded = _folded(hierarchy, ratios, flagged, policy)
    standing = np.array([i for i in range(len(passing)) if i not in folded], np.int64)
    level = selected_level(rate, len(passing), family)
    lines = weighed.lines[places]
    reported = judged_columns(
        flagged.observed,
        flagged.expected,
        _intervals(ratios, flagged, standing, level),
        flagged.p_value,
        q_value[places],
    )
    found = _found(hierarchy, counted.support, flagged, folded, lines.tolist())
    bounds = reported.select("ratio_low", "ratio_high").insert_column(0, found["line"])
    verdicts = Verdicts(
        weighed.lines, weighed.expected, weighed.p_value, q_value, bounds.sort("line")
    )
    told = pl.concat([found, reported], how="horizontal")
    why_not = _why_not(counted.lengths)
    return verdicts, Excess(family, tuple(counted.cuts.tolist()), level, told, why_not)


def _entailed(pairs: pl.DataFrame, sole: Sparse) -> pl.Series:
    """Joint instances of each line that one label alone explains."""
    counts = count_entailed(sole).tocoo()
    entailed = np.zeros(len(pairs), np.int64)
    a, b = ends_of(pairs)
    keys, n = a * sole.shape[1] + b, np.int64(sole.shape[1])
    entailed[np.searchsorted(keys, counts.row.astype(np.int64) * n + counts.col)] = counts.data
    return pl.Series("joint_entailed", entailed)


def _why_not(lengths: IntArray) -> str:
    if not lengths[LEAST_LABELS:].any():
        return "no instance has two labels, so no two nodes can meet through different ones"
    return ""


def _passing(hierarchy: Hierarchy, weighed: Weighed, q_value: FloatArray, rate: float) -> IntArray:
    """Which of those that may pass do, the deepest first."""
    passing = np.flatnonzero(q_value[weighed.places] <= rate)
    depth, given = hierarchy.depth, weighed.judged.given[passing]
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
    ratios: Ratios, flagged: Judged, standing: IntArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the ratios of what is reported; NaN elsewhere."""
    low, high = np.full((2, len(flagged)), np.nan)
    spreads = ratios.spreads(flagged[standing])
    for place, spread in zip(standing.tolist(), spreads, strict=True):
        ratio = float(flagged.observed[place] / flagged.expected[place])
        low[place], high[place] = ratio_bounds(ratio, spread, level)
    return low, high


def _found(
    hierarchy: Hierarchy,
    support: IntArray,
    flagged: Judged,
    folded: Mapping[int, tuple[int, ...]],
    lines: list[int],
) -> pl.DataFrame:
    """The pairs that pass, with their lines, and the lines of those that explain them."""
    named = (
        sorted(most_specific(node, support, hierarchy.child_matrix) for node in pair)
        for pair in flagged.given.pairs()
    )
    siblings, observed = flagged.given.by_length.tolist(), flagged.observed.tolist()
    rows = [
        (
            lines[place],
            *ends,
            siblings[place],
            int(observed[place]),
            [lines[other] for other in folded.get(place, ())],
        )
        for place, ends in enumerate(named)
    ]
    return pl.DataFrame(rows, schema=_FOUND, orient="row")
