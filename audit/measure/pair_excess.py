"""The pair scan: pairs that records carry together more often than record length explains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.progress import Progress, silent
from audit.counting.counts import PairRecords
from audit.engine.pairs.margins import Strata
from audit.engine.pairs.meets import Meets
from audit.engine.pairs.scan import Rules, Scan, Surprising
from audit.engine.statistics.expectation import Expectation, expectation, label_pairs
from audit.engine.statistics.fdr import threshold
from audit.engine.statistics.grouped import GroupTest
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.branch_map import branch_map
from audit.measure.pair_verdicts import Excesses, Family, Verdicts, excesses, family
from audit.measure.reported_pairs import Finds, reported_pairs, that_matter
from audit.measure.rule_book import associations, first_association
from audit.policy.policy import Policy


@dataclass(frozen=True, eq=False)
class Excess:
    """Result of the pair scan: which pairs were tested, and which are surprisingly frequent.

    Args:
        family: Number of pairs tested, those without a joint record included.
        left_out: Number of pairs not tested because one label explains too much of them.
        records: Number of records that take part.
        cuts: Greatest number of labels in each length stratum except the last.
        threshold: Largest p value of a surprising pair.
        found: The reported pairs, the strongest first: `audit.measure.reported_pairs.FOUND`.
        as_expected: Number of pairs not reported because they are expected, by index of the
            association
            that expects them in `audit.measure.rule_book.associations`.
        branches: The map of branches, columns `audit.measure.branch_map.BRANCHES`.
        why_not: Why no pair could be tested; empty if some could.
    """

    family: int
    left_out: int
    records: int
    cuts: tuple[int, ...]
    threshold: float
    found: pl.DataFrame
    as_expected: tuple[int, ...]
    branches: pl.DataFrame
    why_not: str = ""


def judge_pairs(
    hierarchy: Hierarchy,
    records: PairRecords,
    blocks: Iterable[tuple[int, pl.DataFrame]],
    policy: Policy,
    *,
    progress: Progress = silent,
) -> tuple[Verdicts, Excess]:
    """Test the pairs of a pair table, and select those to report.

    Args:
        hierarchy: The hierarchy.
        records: Margins and strata of the records.
        blocks: The pair table with ``joint_entailed`` in blocks of lines, each with the number of
            its first line. Only pairs with a joint record need to be there.
        policy: Its ``least_joint, excess_ratio, false_discovery_rate, expected`` and
            ``companions`` are used.
        progress: Progress callback.

    Returns:
        The verdicts on the pairs, and the scan's result. Memory grows with the number of pairs that
        occur more often than expected.
    """
    progress("judging pairs")
    strata, least = records.strata, policy.least_joint.value
    known = family(strata, records.entailed, records.alone, hierarchy.closure, least)
    labels = label_pairs(strata, hierarchy.first_branch)
    expected = expectation(strata, hierarchy.first_branch, labels)
    rules = Rules(0.0, least, policy.excess_ratio.value)
    more = _excesses(blocks, known, expected, rules, progress)
    rate = policy.false_discovery_rate.value
    if records.grouped is not None:
        more = _between_groups(more, GroupTest(records.grouped, expected), known, rate)
    rules = replace(rules, threshold=threshold(more.p_value, known.size, rate))
    progress("scanning pairs")
    chosen = np.flatnonzero(more.p_value <= rules.threshold)
    scan = _scan(hierarchy, strata, more[chosen], expected, rules)
    found = scan.run()
    finds = Finds(scan, found, np.arange(len(found.pair)))
    finds = finds[that_matter(finds, strata, rules)]
    known_pairs = associations(hierarchy, policy)
    in_use = strata.labelled.sum(axis=0) > 0
    association = first_association(hierarchy, known_pairs, in_use, *finds.ends)
    reported = finds[np.flatnonzero(association < 0)]
    verdicts = _verdicts(known, expected, more, chosen, reported)
    lines = chosen[reported.places]
    return verdicts, Excess(
        family=known.size,
        left_out=len(known.left_out),
        records=strata.records,
        cuts=tuple(strata.cuts.tolist()),
        threshold=rules.threshold,
        found=reported_pairs(
            reported, hierarchy, known, more.p_value[lines], verdicts.q_value[lines]
        ),
        as_expected=tuple(int((association == i).sum()) for i in range(len(known_pairs))),
        branches=branch_map(reported, labels, hierarchy.first_branch),
        why_not=_why_not(strata, known),
    )


def _why_not(strata: Strata, known: Family) -> str:
    if not strata.records:
        return "no record has two labels, so that no two nodes can meet through different ones"
    if not known.size:
        return "no two nodes are frequent enough to be judged: the scan has no power here"
    return ""


def _excesses(
    blocks: Iterable[tuple[int, pl.DataFrame]],
    known: Family,
    expected: Expectation,
    rules: Rules,
    progress: Progress,
) -> Excesses:
    parts, done = [], 0
    for start, pairs in blocks:
        parts.append(excesses(pairs, start, known, expected, rules))
        done += len(pairs)
        progress("judging pairs", done, None, "pairs")
    return Excesses.joined(parts)


def _between_groups(more: Excesses, test: GroupTest, known: Family, rate: float) -> Excesses:
    """Excesses with the larger p value, with groups or without, where they pass without."""
    passing = np.flatnonzero(more.p_value <= threshold(more.p_value, known.size, rate))
    p_value = more.p_value.copy()
    among_groups = test.p_values(more.a[passing], more.b[passing])
    p_value[passing] = np.maximum(p_value[passing], among_groups)
    return replace(more, p_value=p_value)


def _scan(
    hierarchy: Hierarchy, strata: Strata, pairs: Excesses, expected: Expectation, rules: Rules
) -> Scan:
    above = np.diff(hierarchy.closure.indptr)
    surprising = Surprising(
        pairs.a, pairs.b, pairs.observed, pairs.expected, above[pairs.a] + above[pairs.b]
    )
    return Scan(surprising, Meets(hierarchy.closure, strata.support), expected.joint, rules)


def _verdicts(
    known: Family, expected: Expectation, more: Excesses, chosen: IntArray, reported: Finds
) -> Verdicts:
    explained, rank = np.full(len(more.lines), np.nan), np.zeros(len(more.lines), np.int64)
    explained[chosen] = reported.scan.explained
    rank[chosen[reported.places]] = np.arange(1, len(reported) + 1)
    return Verdicts(known, expected, more, explained, rank)
