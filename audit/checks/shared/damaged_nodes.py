"""Nodes whose rows may be other codes, as zeros were lost, and the remark on findings of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from audit.base.errors import first_cases
from audit.checks.shared.labels_as_written import (
    LOST_ZERO,
    read_again,
    read_otherwise,
)
from audit.hierarchies.coding import Integrity
from audit.measure.measure import Measurements, once
from audit.results.finding_lines import line_count
from audit.results.findings import Finding, Part

LOST = "lost_zero"
"""Name of the check that finds the damage."""
MOSTLY = 0.5
"""Share of damaged rows at or below a node above which the node counts as damaged."""
PLAIN = 0.01
"""Share of the rows of a code set that are codes only with zeros put back, from which its zeros are
lost, if no row begins with 0."""


@once
def damaged_nodes(measured: Measurements) -> frozenset[str]:
    """Nodes of which more than half of the rows at or below may be other codes, as zeros were lost.

    These are rows that `lost_zero` reports, unless they were read with their zeros; and where a
    code set has lost its zeros, all rows of each label that may be another code of the set, whether
    or not it is a code or a heading as it stands.
    """
    integrity, hierarchy = measured.hierarchy.integrity, measured.hierarchy
    if integrity is None or not integrity.zero_tables:
        return frozenset()
    labels = read_again(measured)
    sets = set(_without_zeros(measured, labels, integrity))
    readings = read_otherwise(measured) if sets else [()] * len(labels)
    others = [any(map(sets.__contains__, map(integrity.table_of, codes))) for codes in readings]
    known = labels.with_columns(
        damaged=pl.Series(others, dtype=pl.Boolean)
        | (LOST_ZERO & ~pl.col("with_zeros").list.contains(pl.col("node")))
    ).drop_nulls("node")
    if not known["damaged"].any():
        return frozenset()
    damaged, rows = (np.zeros(len(hierarchy)) for _ in range(2))
    for found, counts in ((known.filter("damaged"), damaged), (known, rows)):
        places = [hierarchy.index(node) for node in found["node"]]
        np.add.at(counts, places, found["rows"].to_numpy())
    mostly = hierarchy.below @ damaged > MOSTLY * (hierarchy.below @ rows)
    return frozenset(hierarchy.nodes[node] for node in np.flatnonzero(mostly).tolist())


def _without_zeros(
    measured: Measurements, labels: pl.DataFrame, integrity: Integrity
) -> Iterator[str]:
    """The code sets that have lost their zeros."""
    policy = measured.policy
    for table in integrity.zero_tables:
        own = labels.filter((pl.col("code_set") == table) & ~pl.col("several_sets"))
        rows, lost = int(own["rows"].sum()), int(own.filter(LOST_ZERO)["rows"].sum())
        expected = policy.leading_zero_share.value * rows
        many = expected >= policy.leading_zero_rows.value or lost >= PLAIN * rows
        if rows and many and not own["label"].str.contains(r"^\s*0[0-9]").any():
            yield table


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
