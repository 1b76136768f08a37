"""Nodes that mostly hold damaged codes, and the remark on findings that name them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from audit.base.dag import BoolArray
from audit.checks.shared.labels_as_written import LOST_ZERO, integrity_of, read_again
from audit.measure.measure import Measurements
from audit.results.findings import Finding

MOSTLY = 0.5
"""Share of damaged rows at or below a node above which the node counts as damaged."""


def damaged_nodes(measured: Measurements) -> BoolArray:
    """Whether more than half of the rows at or below a node have lost zeros, shape (n_nodes,).

    Damaged rows are those that `lost_zero` reports. Time grows with the number of different labels.
    """
    hierarchy = measured.hierarchy
    integrity = integrity_of(measured)
    if integrity is None or not integrity.zero_tables:
        return np.zeros(len(hierarchy), np.bool_)
    labels = read_again(measured, integrity).drop_nulls("node")
    lost = labels.filter(LOST_ZERO)
    if lost.is_empty():
        return np.zeros(len(hierarchy), np.bool_)
    damaged, rows = (np.zeros(len(hierarchy)) for _ in range(2))
    for found, counts in ((lost, damaged), (labels, rows)):
        places = [hierarchy.index(node) for node in found["node"]]
        np.add.at(counts, places, found["rows"].to_numpy())
    below = hierarchy.below
    return np.asarray(below @ damaged > MOSTLY * (below @ rows))


def with_damage_named(measured: Measurements, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings, with those that name a damaged node marked as such and ranked below all others."""
    findings = tuple(findings)
    damaged = damaged_nodes(measured) if findings else np.zeros(0, np.bool_)
    if not damaged.any():
        return findings
    names = {measured.hierarchy.nodes[node] for node in np.flatnonzero(damaged).tolist()}
    weights = [finding.touched * finding.strength for finding in findings]
    lower = 1 + max(weights) - min(weights)
    return tuple(
        _with_damage(finding, [node for node in finding.nodes if node in names], lower)
        for finding in findings
    )


def _with_damage(finding: Finding, damaged: list[str], lower: float) -> Finding:
    if not damaged:
        return finding
    left = f" Most rows of {' and '.join(damaged)} are what is left of codes that lost zeros"
    return replace(
        finding,
        statement=f"{finding.statement}{left}: read the findings of lost_zero first.",
        strength=finding.strength - lower / max(finding.touched, 1),
    )
