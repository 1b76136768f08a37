"""Nodes in one state of their concept: what the three checks of concepts have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Outcome
from audit.checks.shared.carriers import carrying
from audit.concepts.measurements import ConceptMeasurements
from audit.measure.measure import Measurements
from audit.results.findings import Column, Finding, times_limit

CHANCE = 0.5
"""Area under the curve of an order by chance."""
UNIT = "nodes with ten instances below them, and ten elsewhere; ten groups where there are groups"


def rows_in_state(measured: Measurements, state: str, q_value: str) -> pl.DataFrame:
    """Nodes in a state at the policy's rate, one of each chain; the surest first."""
    rate = measured.policy.false_discovery_rate.value
    return (
        measured.of(ConceptMeasurements)
        .nodes.filter(
            (pl.col("state") == state) & (pl.col(q_value) <= rate) & pl.col("folded_into").is_null()
        )
        .sort(q_value, "node")
    )


def findings_in_state(
    measured: Measurements,
    state: str,
    q_value: str,
    finding: Callable[[Measurements, Mapping[str, Any]], Finding],
) -> tuple[Finding, ...]:
    """A finding of each node in a state."""
    rows = rows_in_state(measured, state, q_value).iter_rows(named=True)
    return tuple(finding(measured, row) for row in rows)


def outcome(measured: Measurements, findings: tuple[Finding, ...], lacking: str = "") -> Outcome:
    """The outcome of a check on nodes; not applicable where no node could be tested."""
    tested = measured.of(ConceptMeasurements).nodes
    reason = lacking if len(tested) else "no node has ten instances (and groups), and ten elsewhere"
    counts = [int((tested["state"] == state).sum()) for state in ("no_power", "too_few")]
    texts = [f"; {words.format(n)}" for words, n in zip(_BESIDE, counts, strict=True) if n]
    return Outcome(len(tested), UNIT + "".join(texts), findings, not_applicable=reason)


AREA, MADE_UP = "Area under the curve", Column("Made-up concepts read", "made_up", of="draws")
"""What several of the checks have columns of."""
_BESIDE = (
    "there is no power here for {}, of which no control is read",
    "{} are too few to call them absent if they were",
)
"""What nodes are that can be neither found nor said to be read."""


def above_chance(high: float, limit: float) -> float:
    """How far below its limit an area stays, both counted from that of chance, for ``beyond``."""
    return times_limit(high - CHANCE, limit - CHANCE, below=True)


def described(measured: Measurements, node: str) -> str:
    """Id and title of a node."""
    return measured.hierarchy.describe(measured.hierarchy.index(node))


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with a label at or below the first node of a finding."""
    return carrying(measured, finding.nodes[0])
