"""The pair scan: pairs that records carry together more often than record length explains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from audit.base.dag import FloatArray, IntArray
from audit.base.progress import Progress, silent
from audit.counting.counts import PairRecords
from audit.counting.pair_verdicts import Verdicts
from audit.engine.pairs.scan import Finds, Meets, Rules, Scan, Surprising
from audit.engine.statistics.association import poisson_p_value
from audit.engine.statistics.expectation import (
    Expectation,
    LabelPairs,
    expectation,
    label_pairs,
    pairs_found,
)
from audit.engine.statistics.fdr import Family, family, threshold
from audit.engine.statistics.grouped import Alike, Scales
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.reported_pairs import (
    Candidates,
    Excesses,
    candidates,
    reported_pairs,
    that_matter,
    verdicts,
)
from audit.measure.rule_book import associations, first_association
from audit.policy.policy import Policy

MOST_ROUNDS = 10
"""Largest number of times that pairs are judged and scanned."""
LARGE_FIND = 1.5
"""Least observed over explained of a find that is taken out of what is expected of others; less
may be an error of the expectation.
"""


@dataclass(frozen=True, eq=False)
class Excess:
    """Result of the pair scan: which pairs were tested, and which are surprisingly frequent.

    Args:
        family: Number of pairs tested, those without a joint record included.
        left_out: Number of pairs not tested because one label explains too much of them.
        found: The reported pairs, the strongest first: `audit.measure.reported_pairs.FOUND`.
        as_expected: Number of pairs not reported because they are expected, by index of the
            association that expects them in `audit.measure.rule_book.associations`, and last of
            those that the hierarchy's own file relates.
        alike: How much records of a group resemble each other; None without groups.
    """

    family: int
    left_out: int
    records: int
    threshold: float
    found: pl.DataFrame
    as_expected: tuple[int, ...]
    alike: Alike | None = None


def judge_pairs(
    hierarchy: Hierarchy,
    records: PairRecords,
    blocks: Iterable[pl.DataFrame],
    policy: Policy,
    *,
    progress: Progress = silent,
) -> tuple[Verdicts, Excess]:
    """Test the pairs of a pair table, and select those to report.

    Args:
        blocks: The counted columns of the pair table in blocks of rows.
        policy: Its ``least_joint, excess_ratio, false_discovery_rate, expected`` and
            ``companions`` are used.

    Returns:
        The verdicts on the pairs, and the scan's result. Memory grows with the number of pairs that
        can occur more often than expected.
    """
    progress("judging pairs")
    strata, weighed, least = records.strata, records.weighed, policy.least_joint.value
    known = family(strata, records.entailed, records.alone, hierarchy.closure, least)
    labels = label_pairs(weighed, hierarchy.first_branch)
    rules = Rules(0.0, least, policy.excess_ratio.value)
    least_expected = expectation(weighed, hierarchy.first_branch, replace(labels, found=np.inf))
    chosen = _candidates(blocks, known, least_expected, rules, progress)
    progress("scanning pairs")
    rate = policy.false_discovery_rate.value
    judged = _Rounds(hierarchy, records, known, chosen, rules, rate).settled(labels)
    finds = judged.finds[that_matter(judged.finds, records, rules)]
    known_pairs = associations(hierarchy, policy)
    in_use = strata.labelled.sum(axis=0) > 0
    association = first_association(hierarchy, known_pairs, in_use, *finds.ends)
    reported = finds[np.flatnonzero(association < 0)]
    kept, q_value = _verdicts(known, judged, reported)
    lines = judged.chosen[reported.places]
    return kept, Excess(
        family=known.size,
        left_out=len(known.left_out),
        records=strata.records,
        threshold=judged.threshold,
        found=reported_pairs(reported, hierarchy, known, judged.excesses[lines], q_value[lines]),
        as_expected=tuple(int((association == i).sum()) for i in range(len(known_pairs) + 1)),
        alike=None if records.grouped is None else records.grouped.alike,
    )


def _candidates(
    blocks: Iterable[pl.DataFrame],
    known: Family,
    least: Expectation,
    rules: Rules,
    progress: Progress,
) -> Candidates:
    parts, done = [], 0
    for pairs in blocks:
        parts.append(candidates(pairs, known, least, rules))
        done += len(pairs)
        progress("judging pairs", done, None, "pairs")
    return Candidates.joined(parts)


@dataclass(frozen=True, eq=False)
class _Judged:
    """What one round says of the candidates.

    Args:
        expected: The expectation from record length.
        excesses: The candidates, judged by it.
        chosen: Positions of the surprising pairs.
    """

    expected: Expectation
    excesses: Excesses
    threshold: float
    chosen: IntArray
    finds: Finds


@dataclass(frozen=True, eq=False)
class _Rounds:
    """Judges and scans the candidates in rounds, until no other large finds are made.

    Each round but the first takes the large finds of the one before out of what is expected of
    all pairs.
    """

    hierarchy: Hierarchy
    records: PairRecords
    known: Family
    candidates: Candidates
    rules: Rules
    rate: float

    def settled(self, labels: LabelPairs) -> _Judged:
        """What the last round says; ``labels`` are those of the first, without finds."""
        strata, hierarchy = self.records.weighed, self.hierarchy
        facet = labels.facets.of(hierarchy.first_branch)
        meets = Meets(hierarchy.closure, self.records.strata.support)
        known = np.empty(0, np.int64)
        for _ in range(MOST_ROUNDS):
            judged = self._judged(labels, meets)
            finds = judged.finds
            finds = finds[np.flatnonzero(finds.observed >= LARGE_FIND * finds.explained)]
            places = np.sort(judged.chosen[finds.places])
            if np.array_equal(places, known):
                break
            found = pairs_found(strata, facet, hierarchy.below, (*finds.ends, finds.delta))
            known, labels = places, replace(labels, found=found)
        return judged

    def _judged(self, labels: LabelPairs, meets: Meets) -> _Judged:
        expected = expectation(self.records.weighed, self.hierarchy.first_branch, labels)
        more = self._scaled(self.candidates.judged(expected, self.rules))
        rules = replace(self.rules, threshold=threshold(more.p_value, self.known.size, self.rate))
        chosen = np.flatnonzero(more.p_value <= rules.threshold)
        scan = Scan(self._surprising(more[chosen]), meets, expected.joint, rules)
        found = scan.run()
        finds = Finds(scan, found, np.arange(len(found.pair)))
        return _Judged(expected, more, rules.threshold, chosen, finds)

    def _scaled(self, more: Excesses) -> Excesses:
        """Excesses with their scale, and their p value by it, where any scale could let them pass.

        No scale makes more of a pair than its records, so that the others are judged by these.
        """
        if self._scales is None:
            return replace(more, scale=np.broadcast_to(1.0, len(more.a)))
        passing = np.flatnonzero(
            more.p_value <= threshold(more.p_value, self.known.size, self.rate)
        )
        own = more[passing]
        p_value = more.p_value
        scale, groups, squares = more.scale.copy(), more.groups.copy(), more.squares.copy()
        measured = self._scales.of(own.a, own.b, own.expected)
        scale[passing], groups[passing], squares[passing] = measured
        effective = own.observed / scale[passing]
        few = np.minimum(effective, groups[passing]) < self.rules.least_joint
        judged = poisson_p_value(effective, own.expected / scale[passing])
        p_value[passing] = np.where(few, 1.0, judged)
        return replace(more, scale=scale, groups=groups, squares=squares)

    @cached_property
    def _scales(self) -> Scales | None:
        return None if self.records.grouped is None else Scales(self.records.grouped)

    def _surprising(self, pairs: Excesses) -> Surprising:
        above = np.diff(self.hierarchy.closure.indptr)
        ancestors = above[pairs.a] + above[pairs.b]
        return Surprising(pairs.a, pairs.b, pairs.observed, pairs.expected, ancestors, pairs.scale)


def _verdicts(known: Family, judged: _Judged, reported: Finds) -> tuple[Verdicts, FloatArray]:
    more, chosen = judged.excesses, judged.chosen
    explained, rank = np.full(len(more.a), np.nan), np.zeros(len(more.a), np.int64)
    explained[chosen] = reported.scan.explained
    rank[chosen[reported.places]] = np.arange(1, len(reported) + 1)
    return verdicts(known, judged.expected, more, explained, rank)
