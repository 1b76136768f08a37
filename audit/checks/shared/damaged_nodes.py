"""Nodes whose rows may be other codes, as zeros were lost, and the remark on findings of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import polars as pl

from audit.base.errors import first_cases
from audit.checks.shared.written_labels import (
    LEAST_HEADINGS,
    LOST,
    LOST_ZERO,
    READ,
    ZEROS_BEFORE,
    integrity_of,
    reader,
    rows_of,
    written_labels,
)
from audit.measure.measure import Measurements, once
from audit.results.finding_lines import line_count
from audit.results.findings import Finding, Part

MOSTLY = 0.5
"""Share of damaged rows at or below a node above which the node counts as damaged."""
PLAIN = 0.01
"""Share of the rows of a code set that are codes only with zeros put back, from which its zeros are
lost, if no row begins with 0."""


@once
def damaged_nodes(measured: Measurements) -> frozenset[str]:
    """Nodes of which more than half of the rows at or below may be other codes, as zeros were lost.

    These are rows that `lost_zero` reports; and where a code set has lost its zeros, all rows of
    each label that may be another code of the set, whether or not it is a code or a heading as it
    stands.
    """
    integrity, hierarchy = integrity_of(measured), measured.hierarchy
    if not integrity.zero_tables:
        return frozenset()
    labels = written_labels(measured).filter(READ)
    sets = {one for one in integrity.zero_tables if _without_zeros(measured, labels, one)}
    readings = reader(measured).other_codes() if sets else [()] * len(labels)
    others = [not sets.isdisjoint(map(integrity.table_of, codes)) for codes in readings]
    damaged = pl.Series(others, dtype=pl.Boolean) | LOST_ZERO
    known = labels.with_columns(damaged=damaged).drop_nulls("node")
    places = [hierarchy.index(node) for node in known["node"]]
    rows, n = known["rows"].to_numpy(), len(hierarchy)
    lost = hierarchy.below @ np.bincount(places, rows * known["damaged"].to_numpy(), n)
    mostly = lost > MOSTLY * (hierarchy.below @ np.bincount(places, rows, n))
    return frozenset(hierarchy.nodes[node] for node in np.flatnonzero(mostly).tolist())


def _without_zeros(measured: Measurements, labels: pl.DataFrame, table: str) -> bool:
    """Whether a code set has lost its zeros."""
    policy = measured.policy
    own = labels.filter((pl.col("code_set") == table) & ~pl.col("several_sets"))
    rows, lost = rows_of(own), rows_of(own.filter(LOST_ZERO))
    expected, least = policy.leading_zero_share.value * rows, policy.leading_zero_rows.value
    headings = rows_of(own.filter(ZEROS_BEFORE)) >= max(least, LEAST_HEADINGS * rows)
    many = expected >= least or lost >= PLAIN * rows or headings
    return bool(rows and many and not own["label"].str.contains(r"^\s*0[0-9]").any())


def with_damage_named(measured: Measurements, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings, with those that name a damaged node marked as such and, where most of what they
    count is damaged, ranked below all others."""
    findings = tuple(findings)
    if all(finding.check == LOST for finding in findings):
        return findings
    damaged = damaged_nodes(measured)
    return tuple(_with_damage(finding, damaged) for finding in findings) if damaged else findings


def _with_damage(finding: Finding, damaged: frozenset[str]) -> Finding:
    """The finding with the remark.

    One whose nodes are those of its parts is of all its parts; another is of its nodes, and of
    parts that are most of it.
    """
    parts = [part for part in finding.parts if damaged.intersection(part.nodes)]
    most = _instances(parts) > MOSTLY * _instances(finding.parts)
    listed = {part.nodes[0] for part in finding.parts}.issuperset(finding.nodes)
    named = finding.nodes if damaged.intersection(finding.nodes) else ()
    for part in parts if most and not named else ():
        named = (*named, *part.nodes)
    said = sorted(damaged.intersection(named), key=named.index)
    if not said:
        return finding
    remark = f" Most rows of {first_cases(said)} may be other codes, since zeros were lost"
    return replace(
        finding,
        statement=f"{finding.statement}{remark}: read the findings of {LOST} first.",
        aside=most if listed else True,
    )


def _instances(parts: Iterable[Part]) -> int:
    counts = (line_count(part.evidence) for part in parts)
    return sum(int(one or 0) for one in counts)
