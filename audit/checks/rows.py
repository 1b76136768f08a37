"""Checks that are rows of a table: one function makes their findings, cases and proposals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Check, Outcome
from audit.checks.shared.proposals import PROPOSED
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.measure.measure import Measurements, once
from audit.results.findings import Evidence, Finding, Part, Severity, finding_id

Key = tuple[str, ...]
_Tested = TypeVar("_Tested")


@dataclass(frozen=True, eq=False, kw_only=True)
class Row:
    """A row of a check's table that is a finding, and the instances behind it.

    Args:
        sentence: The finding's statement; what fields without a word mean, `Finding` says.
        cases: Finds the instances behind it, ascending.
        proposes: Finds what would mend it; None if nothing in the labels would.
        nodes: Nodes that it is about; the root if there are none.
        touched: Number of instances concerned; None: as many instances, or rows, as it counts.
        folded_into: Keys of the rows that explain it.
    """

    sentence: str
    evidence: Evidence
    curator: str
    data_user: str
    cases: Callable[[], IntArray]
    proposes: Callable[[], pl.DataFrame] | None = None
    severity: Severity = "note"
    nodes: Key = ()
    key: Key = ()
    touched: int | None = None
    strength: float = 1.0
    beyond: float = 1.0
    parts: tuple[Part, ...] = ()
    folded_into: tuple[Key, ...] = ()
    asks: bool = False
    aside: bool = False
    about: Key = ()

    def finding(self, check: str, root: str) -> Finding:
        """The row as a finding of a check on a hierarchy with this root."""
        counted = self.evidence.get("instances", self.evidence.get("rows"))
        own = {one.name: getattr(self, one.name, None) for one in fields(Finding)}
        said = {
            "check": check,
            "statement": self.sentence,
            "nodes": self.nodes or (root,),
            "touched": int(counted or 0) if self.touched is None else self.touched,
            "folded_into": tuple(finding_id(check, *key) for key in self.folded_into),
        }
        return Finding(**{name: one for name, one in own.items() if one is not None} | said)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that are findings.

    Args:
        of: Number of things examined.
        unit: Their unit.
        rows: Each finding once.
        why_not: Why the check does not apply; empty if it does.
    """

    of: int
    unit: str
    rows: Iterable[Row] = ()
    why_not: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))

    @cached_property
    def by_key(self) -> dict[Key, Row]:
        """Rows by what distinguishes their findings."""
        return {one.key or one.nodes: one for one in self.rows}


def significant(
    measured: Measurements, tested: Sequence[_Tested], p_values: Iterable[float], family: int
) -> list[tuple[_Tested, float]]:
    """What is within the policy's false discovery rate of a family, each with its q value."""
    q_values = benjamini_hochberg(np.array([*p_values], np.float64), family).tolist()
    rate = measured.policy.false_discovery_rate.value
    return [(one, q) for one, q in zip(tested, q_values, strict=True) if q <= rate]


def check_of_rows(
    name: str,
    title: str,
    table: Callable[[Measurements], Rows],
    *,
    proposes: bool = False,
    **declared: Any,
) -> Check:
    """A check whose findings are rows of a table, which is made once.

    Args:
        proposes: Whether some rows propose what would mend them.
        declared: Further fields of `Check`.
    """
    made = once(table)

    @wraps(table)
    def rule(measured: Measurements) -> Outcome:
        found, root = made(measured), measured.hierarchy.nodes[measured.hierarchy.root]
        findings = tuple(one.finding(name, root) for one in found.rows)
        return Outcome(found.of, found.unit, findings, found.why_not)

    def row_of(measured: Measurements, finding: Finding) -> Row:
        return made(measured).by_key[finding.key or finding.nodes]

    def cases(measured: Measurements, finding: Finding) -> IntArray:
        return row_of(measured, finding).cases()

    def proposed(measured: Measurements, finding: Finding) -> pl.DataFrame:
        own = row_of(measured, finding).proposes
        return pl.DataFrame(schema=PROPOSED) if own is None else own()

    rest = {"cases": cases, "proposes": proposed if proposes else None, **declared}
    return Check(name, title, rule, **rest)
