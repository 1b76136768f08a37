"""Pairs that meet more often than their parents, or the length of records, explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from audit.dag import FloatArray, IntArray, Sparse
from audit.engine.entailed import count_entailed, sole_labels
from audit.engine.expectation import (
    Comparisons,
    Margins,
    Stratified,
    comparisons,
    margins,
    stratify,
)
from audit.engine.fdr import family_size, in_family, selected_level
from audit.engine.folding import fold, most_specific, pairs_above
from audit.engine.intervals import LEVEL
from audit.engine.judgement import Judged, judge
from audit.engine.ratios import (
    ratio_bounds,
    ratio_without,
    resampled_spread,
    resamples,
)
from audit.engine.records import Records, records
from audit.engine.resampling import poisson_weights, unit_keys
from audit.engine.strata import LEAST_LABELS, length_cuts, length_histogram, strata_of
from audit.hierarchy import Hierarchy
from audit.pair_table import JUDGED
from audit.policy import Policy
from audit.progress import Progress, blocks, silent


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
    cuts = length_cuts(length_histogram(lengths))
    why_not = _why_not(lengths)
    limit, n = policy.expected_support.value, len(lengths)
    family = 0 if why_not else family_size(labelled.support, hierarchy.closure, limit, n)
    number = strata_of(lengths, cuts, labelled.categories)
    release = _Release(
        hierarchy,
        labelled,
        stratify(labelled.direct, sole, number),
        records(sole, number, labelled.group_of),
    )
    lines = _members(pairs, n, limit) if family else np.empty(0, np.int64)
    judged = _judged(release, *_asked(release, pairs, lines), family, policy)
    passing = _passing(release, judged, policy)
    folded = _folded(release, judged.given[passing], policy)
    standing = passing[[place for place in range(len(passing)) if place not in folded]]
    level = selected_level(policy.false_discovery_rate.value, len(passing), family)
    low, high = _intervals(release, judged, standing, level, seed, progress)
    found = _found(release, judged, passing, folded, lines)
    columns = _columns(judged, low, high, lines, len(pairs))
    return pairs.with_columns(columns), Excess(family, tuple(cuts.tolist()), level, found, why_not)


@dataclass(frozen=True, eq=False)
class _Release:
    """A dataset in the forms that its pairs are judged in."""

    hierarchy: Hierarchy
    labelled: Labelled
    strata: Stratified
    records: Records


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
    if lengths.max(initial=0) < LEAST_LABELS:
        return "no instance has two labels, so no two nodes can meet through different ones"
    return ""


def _members(pairs: pl.DataFrame, instances: int, limit: float) -> IntArray:
    """Lines of the table that belong to the family."""
    support_a, support_b = (pairs[name].to_numpy() for name in ("support_a", "support_b"))
    apart = (pairs["relation"] != "ancestor").to_numpy()
    return np.flatnonzero(apart & in_family(support_a, support_b, instances, limit))


def _asked(
    release: _Release, pairs: pl.DataFrame, lines: IntArray
) -> tuple[Comparisons, FloatArray]:
    """The comparisons of some lines, and the joint instances that no one label explains."""
    members = pairs.select("a", "b", "relation", "joint", "joint_entailed")[lines]
    a, b = _ends(members)
    siblings = (members["relation"] == "sibling").to_numpy()
    observed = (members["joint"] - members["joint_entailed"]).to_numpy().astype(np.float64)
    return comparisons(a, b, siblings, release.hierarchy.edges), observed


def _judged(
    release: _Release, asked: Comparisons, observed: FloatArray, family: int, policy: Policy
) -> Judged:
    return judge(
        release.strata,
        asked,
        observed,
        family,
        grouped=None if release.labelled.group_of is None else release.records,
        rate=policy.false_discovery_rate.value,
    )


def _passing(release: _Release, judged: Judged, policy: Policy) -> IntArray:
    """Places of the pairs whose excess is large and no chance, the deepest first."""
    large = judged.observed >= policy.excess_ratio.value * judged.expected
    sure = judged.q_value <= policy.false_discovery_rate.value
    passing = np.flatnonzero(large & sure & (judged.expected > 0))
    depth, given = release.hierarchy.depth, judged.given[passing]
    return passing[np.lexsort((given.b, given.a, -(depth[given.a] + depth[given.b])))]


def _folded(release: _Release, given: Comparisons, policy: Policy) -> dict[int, tuple[int, ...]]:
    """For each pair that others explain those pairs, as places in ``given``."""
    tables = margins(release.strata, given)
    joint = [release.records.joint(*pair) for pair in _pairs(given)]
    nothing = np.empty(0, np.int64)

    def holds(place: int, left_out: IntArray) -> bool:
        ratio = ratio_without(
            release.strata,
            release.records,
            Margins(*(m[:, place] for m in (tables.n, tables.first, tables.second))),
            by_length=bool(given.by_length[place]),
            joint=joint[place],
            left_out=left_out,
        )
        low, _ = ratio_bounds(ratio.value, ratio.spread, LEVEL)
        return low >= policy.excess_ratio.value

    def without(place: int, below: Sequence[int]) -> bool:
        return holds(place, np.unique(np.concatenate([joint[other] for other in below])))

    above = pairs_above(given.a, given.b, release.hierarchy.closure)
    return fold(range(len(given)), above, without, lambda place: holds(place, nothing))


def _pairs(given: Comparisons) -> list[tuple[int, int]]:
    return list(zip(given.a.tolist(), given.b.tolist(), strict=True))


def _intervals(
    release: _Release,
    judged: Judged,
    standing: IntArray,
    level: float,
    seed: int,
    progress: Progress,
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the ratios of what is reported, by resampling groups; NaN elsewhere."""
    low, high = np.full((2, len(judged.observed)), np.nan)
    if len(standing):
        instances = release.records.instance.tolist()
        keys = unit_keys([release.labelled.units[i] for i in instances], seed)
        drawn = resamples(release.strata, release.records, poisson_weights(keys))
        for number in blocks(progress, "resampling pairs", range(len(standing)), "pairs"):
            place = int(standing[number])
            one = judged.given[np.array([place])]
            spread = resampled_spread(release.strata, release.records, one, drawn)
            ratio = float(judged.observed[place] / judged.expected[place])
            low[place], high[place] = ratio_bounds(ratio, spread, level)
    return low, high


def _found(
    release: _Release,
    judged: Judged,
    passing: IntArray,
    folded: Mapping[int, tuple[int, ...]],
    lines: IntArray,
) -> pl.DataFrame:
    support, children = release.labelled.support, release.hierarchy.child_matrix
    rows = [
        (
            int(lines[place]),
            *sorted(most_specific(node, support, children) for node in pair),
            int(judged.observed[place]),
            [int(lines[passing[other]]) for other in folded.get(number, ())],
        )
        for number, (place, pair) in enumerate(
            zip(passing.tolist(), _pairs(judged.given[passing]), strict=True)
        )
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
