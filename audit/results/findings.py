"""Findings, and what a check found: the records that a result is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias
from urllib.parse import quote

from audit.results.changes_since import Ids
from audit.results.disclosure import (
    Quantity,
    Shown,
    least,
)

Severity: TypeAlias = Literal["error", "warning", "note"]
Status: TypeAlias = Literal["error", "fail", "warn", "note", "pass", "not_applicable"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
STATUS_OF_SEVERITY: Mapping[Severity, Status] = {
    "error": "fail",
    "warning": "warn",
    "note": "note",
}


@dataclass(frozen=True, slots=True)
class Part:
    """One line of a finding's breakdown: the nodes or codes it is about, and its own evidence."""

    nodes: tuple[str, ...]
    evidence: Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class Waived:
    """Who answers for a finding, why, and until which day (as an ISO date)."""

    owner: str
    reason: str
    expires: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a policy makes of a finding, without a change to what was found.

    Args:
        severity: The policy's, in place of the check's own; None: the check's own.
        waiver: Who answers for it, so that it does not count.
        known: Whether the reference run has it too, and no worse.
        excused: Whether a known finding counts as a note.
        dropped: Whether it lies within a limit that is stricter than the run's own.
    """

    severity: Severity | None = None
    waiver: Waived | None = None
    known: bool = False
    excused: bool = False
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule, with its evidence and what to do about it.

    Args:
        check: Name of the check that found it.
        severity: How much it matters, as the check says.
        nodes: Ids it is about, the most specific first; codes where no node exists.
        statement: One sentence; ``{name}`` stands for the evidence of that name, and
            ``{name|is|are}`` for what is said of one and of more.
        evidence: Numbers by name.
        curator: What who publishes the data should do.
        data_user: What who uses the data should do.
        touched: Instances it touches.
        strength: Of the evidence, for each instance touched: findings of one severity are ordered
            by the two multiplied, the largest first.
        parts: The sentence broken down, the largest part first.
        key: What tells it from other findings of the check; empty: its nodes do.
        folded_into: Ids of the findings of the check that explain it; empty: none does.
        judgement: What the policy makes of it.
        beside: Other pairs of nodes whose counts some of its numbers tell too.
    """

    check: str
    severity: Severity
    nodes: tuple[str, ...]
    statement: str
    evidence: Mapping[str, Quantity]
    curator: str
    data_user: str
    touched: int = 0
    strength: float = 1.0
    parts: tuple[Part, ...] = ()
    key: tuple[str, ...] = ()
    folded_into: tuple[str, ...] = ()
    judgement: Judgement = Judgement()
    beside: tuple[tuple[str, str], ...] = ()

    @property
    def judged_severity(self) -> Severity:
        """How much it matters, as the policy says, else the check."""
        return self.judgement.severity or self.severity

    @property
    def counts_as(self) -> Severity | None:
        """The severity with which it counts for the status; None: it does not count."""
        if self.judgement.waiver is not None:
            return None
        return "note" if self.judgement.excused else self.judged_severity

    @property
    def id(self) -> str:
        """Stable across releases: the check and its key or nodes, each part percent-encoded."""
        return finding_id(self.check, *(self.key or self.nodes))


def finding_id(check: str, *parts: str) -> str:
    """The id of a check's finding that these parts tell from others."""
    return ":".join(quote(part, safe="") for part in (check, *parts))


@dataclass(frozen=True)
class CheckResult:
    """What one check found.

    Args:
        name: The check.
        title: The question it answers, in one line.
        denominator: What it looked at, counted.
        denominator_unit: What that is a count of.
        findings: All of them, before folding and capping.
        not_applicable: Why it could not be asked; empty where it was.
        crashed: The error that stopped it; empty where none did.
    """

    name: str
    title: str
    denominator: int
    denominator_unit: str
    findings: tuple[Finding, ...] = ()
    not_applicable: str = ""
    crashed: str = ""

    @cached_property
    def standing(self) -> tuple[Finding, ...]:
        """Findings that no other explains, in report order: those that are shown and counted."""
        there = [finding for finding in self.in_order() if not finding.judgement.dropped]
        ids = {finding.id for finding in there}
        return tuple(finding for finding in there if ids.isdisjoint(finding.folded_into))

    @property
    def folded(self) -> int:
        """How many findings others explain."""
        there = sum(not finding.judgement.dropped for finding in self.findings)
        return there - len(self.standing)

    @property
    def ids(self) -> Ids:
        """Ids of the findings that the policy did not drop."""
        standing = self.standing
        ids = frozenset(finding.id for finding in standing)
        there = (finding.id for finding in self.findings if not finding.judgement.dropped)
        known = frozenset(finding.id for finding in standing if finding.judgement.known)
        return Ids(ids, known, frozenset(there) - ids)

    @property
    def status(self) -> Status:
        """Error, else the worst severity that counts, else pass; not_applicable stands apart."""
        if self.crashed:
            return "error"
        if self.not_applicable:
            return "not_applicable"
        for severity in SEVERITIES:
            if any(finding.counts_as == severity for finding in self.standing):
                return STATUS_OF_SEVERITY[severity]
        return "pass"

    def in_order(self) -> list[Finding]:
        """All findings by severity, instances times strength, then id; waived ones last."""
        return sorted(
            self.findings,
            key=lambda finding: _place(finding, finding.touched * finding.strength),
        )


Place: TypeAlias = tuple[bool, int, float, str]
"""Whether a finding does not count, its severity, its weight, and its id."""


def _place(finding: Finding, weight: float) -> Place:
    severity = finding.counts_as or finding.judged_severity
    return finding.counts_as is None, SEVERITIES.index(severity), -weight, finding.id


def shown_place(finding: Finding, evidence: Mapping[str, Shown]) -> Place:
    """Where a finding stands among others by what is shown of it alone.

    Where a number of it is withheld, its weight is the least that its first count can be.
    """
    if all(evidence[name] == quantity.value for name, quantity in finding.evidence.items()):
        return _place(finding, finding.touched * finding.strength)
    counts = (name for name, quantity in finding.evidence.items() if quantity.kind == "count")
    return _place(finding, float(least(evidence.get(next(counts, "")))))


EXCHANGES = "model_confuses"
"""The check whose findings count exchanges of two labels."""

OF_MODEL = (EXCHANGES, "model_habit")
"""The checks of a model."""

OF_WAIVERS = ("waiver_expired", "waiver_unused")
"""The checks of the policy's waivers, which look at no data."""
