"""The pair scan: pairs that records carry together more often than record length explains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from audit.base.dag import FloatArray, IntArray
from audit.base.declared import schema
from audit.base.progress import Progress, silent
from audit.counting.counts import PairRecords
from audit.counting.pair_verdicts import Verdicts, ends_of
from audit.engine.pairs.scan import Meets, Rules, Scan
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
from audit.measure.reported_pairs import reported_pairs, that_matter, verdicts
from audit.measure.rule_book import associations, first_association
from audit.policy.policy import Policy

MOST_ROUNDS = 10
"""Largest number of times that pairs are judged and scanned."""
LARGE_FIND = 1.5
"""Least observed over explained of a find that is taken out of what is expected of others; less may
be an error of the expectation."""
CANDIDATES = schema(("a b", pl.Int64), ("instances observed", pl.Float64))
"""Tested pairs that can be in excess, in order, with what no expectation changes: the joint records
without a label below both, and what these weigh; their number without groups."""


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
    strata, least = records.strata, policy.least_joint.value
    known = family(strata, records.entailed, records.alone, hierarchy.closure, least)
    labels = label_pairs(records.weighed, hierarchy.first_branch)
    rules = Rules(0.0, least, policy.excess_ratio.value)
    lowest = expectation(records.weighed, hierarchy.first_branch, replace(labels, found=np.inf))
    parts, done = [pl.DataFrame(schema=CANDIDATES)], 0
    for pairs in blocks:
        parts.append(_candidates(pairs, known, lowest, rules))
        done += len(pairs)
        progress("judging pairs", done, None, "pairs")
    progress("scanning pairs")
    rate = policy.false_discovery_rate.value
    judged = _Rounds(hierarchy, records, known, pl.concat(parts), rules, rate).settled(labels)
    finds = that_matter(judged.found, records, rules)
    known_pairs = associations(hierarchy, policy)
    in_use = strata.labelled.sum(axis=0) > 0
    association = first_association(hierarchy, known_pairs, in_use, *ends_of(finds))
    reported = finds.filter(pl.Series(association < 0))
    places = judged.chosen[reported["pair"].to_numpy()]
    explained, rank = (
        np.full(len(judged.excesses), np.nan),
        np.zeros(len(judged.excesses), np.int64),
    )
    explained[judged.chosen] = judged.scan.explained
    rank[places] = np.arange(1, len(reported) + 1)
    kept, own = verdicts(known, judged.expected, judged.excesses, explained, rank)
    return kept, Excess(
        family=known.size,
        left_out=len(known.left_out),
        records=strata.records,
        threshold=judged.scan.rules.threshold,
        found=reported_pairs(reported, judged.found, judged.scan, hierarchy, known, own[places]),
        as_expected=tuple(int((association == i).sum()) for i in range(len(known_pairs) + 1)),
        alike=None if records.grouped is None else records.grouped.alike,
    )


def _candidates(
    pairs: pl.DataFrame, known: Family, lowest: Expectation, rules: Rules
) -> pl.DataFrame:
    """`CANDIDATES` of a block of the pair table; no expectation to judge by is below the lowest."""
    a, b = ends_of(pairs)
    apart = (pl.col("joint") - pl.col("joint_entailed")).cast(pl.Float64)
    weighed = pl.col("observed") if "observed" in pairs.columns else apart
    both = pairs.select(a=pl.Series(a), b=pl.Series(b), instances=apart, observed=weighed)
    both = both[known.members(a, b)].filter(pl.col("instances") >= rules.least_joint)
    joint = rules.factor * lowest.joint(*ends_of(both))
    return both.filter(pl.Series(both["observed"].to_numpy() >= joint))


@dataclass(frozen=True, eq=False)
class _Judged:
    """What one round says of the candidates.

    Args:
        expected: The expectation from record length.
        excesses: The candidates, judged by it, as `_Rounds` says.
        chosen: Positions of the surprising pairs.
        scan: The scan of these.
        found: What it found.
    """

    expected: Expectation
    excesses: pl.DataFrame
    chosen: IntArray
    scan: Scan
    found: pl.DataFrame


@dataclass(frozen=True, eq=False)
class _Rounds:
    """Judges and scans the candidates in rounds, until no other large finds are made.

    Each round but the first takes the large finds of the one before out of what is expected of
    all pairs. A judged candidate has ``expected``, by weight; the one-sided ``p_value`` of its
    excess; its ``scale``, NaN if not measured, with the number of ``groups`` that carry it and the
    sum over groups of the squared share of a group's records that do, ``squares``, 0 if not.
    """

    hierarchy: Hierarchy
    records: PairRecords
    known: Family
    candidates: pl.DataFrame
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
            finds = judged.found.filter(pl.col("observed") >= LARGE_FIND * pl.col("explained"))
            places = np.sort(judged.chosen[finds["pair"].to_numpy()])
            if np.array_equal(places, known):
                break
            large = (*ends_of(finds), finds["delta"].to_numpy())
            found = pairs_found(strata, facet, hierarchy.below, large)
            known, labels = places, replace(labels, found=found)
        return judged

    def _judged(self, labels: LabelPairs, meets: Meets) -> _Judged:
        """One round: judge the candidates by these labels, and scan the surprising ones."""
        expected = expectation(self.records.weighed, self.hierarchy.first_branch, labels)
        more = self._scaled(expected.joint(*ends_of(self.candidates)))
        limit = threshold(more["p_value"].to_numpy(), self.known.size, self.rate)
        chosen = np.flatnonzero(more["p_value"].to_numpy() <= limit)
        above, surprising = np.diff(self.hierarchy.closure.indptr), more[chosen]
        a, b = ends_of(surprising)
        surprising = surprising.with_columns(ancestors=pl.Series(above[a] + above[b]))
        scan = Scan(surprising, meets, expected.joint, replace(self.rules, threshold=limit))
        return _Judged(expected, more, chosen, scan, scan.run())

    def _scaled(self, joint: FloatArray) -> pl.DataFrame:
        """The candidates, judged by the joint records expected of each, shape (n_candidates,).

        p is that of all instances as they are, which is the least that any scale can give, and
        with groups of those that pass that of their scale. 1 where there is no excess.
        """
        instances, observed = (self.candidates[name].to_numpy() for name in [*CANDIDATES][2:])
        more, n = np.flatnonzero(observed >= self.rules.factor * joint), len(joint)
        p_value, groups, squares = np.ones(n), np.zeros(n, np.int64), np.zeros(n)
        share = instances[more] / observed[more]
        p_value[more] = poisson_p_value(instances[more], joint[more] * share)
        scale = np.full(n, 1.0 if self._scales is None else np.nan)
        if self._scales is not None:
            some = np.flatnonzero(p_value <= threshold(p_value, self.known.size, self.rate))
            own = *ends_of(self.candidates[some]), joint[some]
            scale[some], groups[some], squares[some] = self._scales.of(*own)
            effective = observed[some] / scale[some]
            judged = poisson_p_value(effective, joint[some] / scale[some])
            few = np.minimum(effective, groups[some]) < self.rules.least_joint
            p_value[some] = np.where(few, 1.0, judged)
        each = {"p_value": p_value, "scale": scale, "groups": groups, "squares": squares}
        columns = {name: pl.Series(values) for name, values in each.items()}
        return self.candidates.with_columns(expected=pl.Series(joint), **columns)

    @cached_property
    def _scales(self) -> Scales | None:
        return None if self.records.grouped is None else Scales(self.records.grouped)
