"""Records of findings and of the results of checks, and the wording of their statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from audit.base.declared import Columns

Evidence: TypeAlias = Mapping[str, Any]
"""Numbers, texts and nulls by name."""
Severity: TypeAlias = Literal["error", "warning", "note"]
Status: TypeAlias = Literal["error", "fail", "warn", "note", "pass", "not_applicable"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
_STATUSES: Mapping[Severity, Status] = {"error": "fail", "warning": "warn", "note": "note"}


@dataclass(frozen=True, slots=True)
class Part:
    """One line of a finding's breakdown: its nodes or codes, and its own evidence."""

    nodes: tuple[str, ...]
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Waived:
    """Who answers for a finding, why, and until which day (as an ISO date).

    ``decision`` is ``waived``, ``accepted`` (right as it is) or ``to_fix``.
    """

    owner: str
    reason: str
    expires: str
    decision: str = "waived"

    @property
    def to_fix(self) -> bool:
        """Whether the finding is to be fixed, and counts until it is."""
        return self.decision == "to_fix"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A policy's judgement of a finding; the finding itself is unchanged.

    Args:
        severity: The severity set by the policy; None to keep the check's own.
        waiver: The waiver that covers the finding; it does not count unless it is to be fixed.
        known: Whether the reference run has it too, and it has not become worse.
        unasked: Whether the reference run could not have it: its check did not run there, the
            hierarchy there lacks one of its nodes, or the policy there its rule.
        excused: Whether it counts as a note because it is known.
        restates: Whether another check says the same of the same nodes, more severely or before it.
    """

    severity: Severity | None = None
    waiver: Waived | None = None
    known: bool = False
    unasked: bool = False
    excused: bool = False
    restates: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule, with its evidence and what to do about it.

    Args:
        check: Name of the check that found it.
        severity: Severity given by the check.
        nodes: Ids of the nodes concerned, the most specific first; codes if no node exists.
        statement: One sentence; `audit.base.plurals.filled` puts the evidence into it.
        evidence: Numbers by name.
        curator: Advice for the publisher of the data.
        data_user: Advice for users of the data.
        touched: Number of instances concerned.
        strength: Strength of the evidence per instance: findings of one severity and check are
            ordered by ``touched * strength``, the largest first, those that stand ``aside`` last.
        parts: Breakdown of the finding, the largest part first.
        key: Distinguishes it from other findings of the check; empty if its nodes do.
        folded_into: Ids of the findings of the check that explain it; empty if none does.
        judgement: The policy's judgement.
        beyond: How many times its own limit the cautious end of its effect is, by `times_limit`: 1
            just at the limit. The estimate where there is no interval; 1 where a check has no
            limit. Findings of different checks are ordered by ``touched * beyond``.
        aside: Whether it stands below all others of its severity: another finding says that what
            it counts may be something else, or the policy calls it usual.
        more_parts: Whether further parts are left out.
        asks: Whether it only asks whoever knows the field if anything is wrong: it stands above
            those aside and below all others of its severity, and is none to act on first.
        about: The nodes whose instances it counts, where they are fewer than ``nodes``.
        written: What of ``nodes`` and parts are refused labels as written, no nodes.

    >>> import audit
    >>> labels = audit.load_labels([["cat"], ["dog", "dog"]], {"pet": {"cat": {}, "dog": {}}})
    >>> checks = audit.run_audit(labels).checks
    >>> finding = next(one for check in checks for one in check.findings)
    >>> finding.id, finding.severity, finding.nodes, finding.evidence["instances"]
    ('duplicates:labels', 'note', ('dog',), 1)
    """

    check: str
    severity: Severity
    nodes: tuple[str, ...]
    statement: str
    evidence: Evidence
    curator: str
    data_user: str
    touched: int = 0
    strength: float = 1.0
    parts: tuple[Part, ...] = ()
    key: tuple[str, ...] = ()
    folded_into: tuple[str, ...] = ()
    judgement: Judgement = Judgement()
    beyond: float = 1.0
    aside: bool = False
    about: tuple[str, ...] = ()
    asks: bool = False
    more_parts: bool = False
    written: tuple[str, ...] = ()

    @property
    def judged_severity(self) -> Severity:
        """Severity given by the policy, else by the check."""
        return self.judgement.severity or self.severity

    @property
    def counts_as(self) -> Severity | None:
        """The severity with which it counts for the status; None if it does not count."""
        waiver = self.judgement.waiver
        if waiver is not None and not waiver.to_fix:
            return None
        return "note" if self.judgement.excused else self.judged_severity

    def titles(self, of_nodes: Mapping[str, str | None]) -> Mapping[str, str | None]:
        """Titles of its nodes and of those of its parts; a refused label that is written like a
        node of another table has none."""
        every = chain(self.nodes, *(part.nodes for part in self.parts))
        return {one: of_nodes.get(one) for one in every if one not in self.written}

    @property
    def id(self) -> str:
        """Stable across releases: the check and its key or nodes, each part percent-encoded."""
        return finding_id(self.check, *(self.key or self.nodes))


def share_evidence(instances: int, of: int) -> dict[str, Any]:
    """``instances, of`` and ``share`` of a finding: those that it is about, and that could be."""
    return {"instances": instances, "of": of, "share": instances / of}


def times_limit(end: float, limit: float, *, below: bool = False) -> float:
    """1 plus the distance of ``end`` beyond the limit, in multiples of ``limit``; at least 0.

    Args:
        end: The end of the effect's interval that is nearer to the limit; the estimate without one.
        limit: The limit; if it is 0, the distance is counted as it is.
        below: Whether smaller effects are those beyond the limit.

    >>> times_limit(0.75, 0.5), times_limit(0.1, 0.25, below=True), times_limit(-3, 1)
    (1.5, 1.6, 0.0)
    """
    away = (limit - end if below else end - limit) / (abs(limit) or 1.0)
    return max(1.0 + away, 0.0)


@lru_cache(maxsize=1 << 16)
def finding_id(check: str, *parts: str) -> str:
    """The check and the parts that identify a finding, percent-encoded and joined by colons."""
    return ":".join(quote(part, safe="") for part in (check, *parts))


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids of a check's findings: those not folded, among them those that the reference has too and
    those that it could not have, and those folded."""

    standing: frozenset[str]
    known: frozenset[str]
    folded: frozenset[str]
    unasked: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    Args:
        name: The check.
        title: The question it answers, in one line.
        denominator: Number of things examined; None where it is not told.
        denominator_unit: Unit of the denominator.
        findings: All findings, folded ones included, before the list is capped: by severity, then
            by ``touched * strength``; waived ones are last.
        not_applicable: Why the check could not be applied; empty if it was.
        crashed: The error that stopped it; empty if there was none.
        nodes: Headings of the nodes of its findings, divided by ``|``, in a table with the numbers
            that have headings; empty where findings are told by their sentences.
        evidence: What each number of its findings is.
        of_parts: What each number of their parts is.
        counts: What the denominator counts, as `audit.checks.check.Check` says.
        held: The status, where some findings are not told; None to take it from the findings.
        not_told: Whether some findings are left out, since they count few.

    >>> import audit
    >>> labels = audit.load_labels([["cat"], ["dog", "dog"]], {"pet": {"cat": {}, "dog": {}}})
    >>> check = next(c for c in audit.run_audit(labels).checks if c.name == "duplicates")
    >>> check.status, len(check.findings), check.denominator, check.denominator_unit
    ('note', 1, 2, 'instances with labels')
    """

    name: str
    title: str
    denominator: int | None
    denominator_unit: str
    findings: tuple[Finding, ...] = ()
    not_applicable: str = ""
    crashed: str = ""
    nodes: str = ""
    evidence: Columns = field(default_factory=Columns)
    of_parts: Columns = field(default_factory=Columns)
    counts: str = "instances"
    held: Status | None = None
    not_told: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "findings", tuple(sorted(self.findings, key=self._sort_key)))

    @cached_property
    def standing(self) -> tuple[Finding, ...]:
        """Findings that are not folded into others, in report order: those shown and counted."""
        return tuple(one for one in self.findings if self._ids.isdisjoint(one.folded_into))

    @property
    def folded(self) -> int:
        """Number of findings folded into others."""
        return len(self.findings) - len(self.standing)

    @property
    def ids(self) -> Ids:
        """Ids of findings: standing, known, folded, and what the reference could not have."""
        standing = frozenset(one.id for one in self.standing)
        known = frozenset(one.id for one in self.standing if one.judgement.known)
        unasked = frozenset(one.id for one in self.standing if one.judgement.unasked)
        return Ids(standing, known, self._ids - standing, unasked)

    @property
    def ran(self) -> bool:
        """Whether it was applied, and did not crash."""
        return not (self.crashed or self.not_applicable)

    @property
    def status(self) -> Status:
        """Status of the check: not_applicable, error, the worst severity that counts, or pass."""
        if self.held is not None:
            return self.held
        if self.crashed:
            return "error"
        if self.not_applicable:
            return "not_applicable"
        found = {finding.counts_as for finding in self.standing}
        return next((_STATUSES[severity] for severity in SEVERITIES if severity in found), "pass")

    @cached_property
    def _ids(self) -> frozenset[str]:
        """Ids of all findings, folded ones included."""
        return frozenset(one.id for one in self.findings)

    def _sort_key(self, finding: Finding) -> Place:
        """Sort key of a finding among all of the check; a folded one stands aside."""
        folded = not self._ids.isdisjoint(finding.folded_into)
        return place_of(finding, finding.touched * finding.strength, aside=folded)


Place: TypeAlias = tuple[bool, int, int, float, str]
"""Sort key of a finding: whether it does not count, its severity, whether it only asks (1) or
stands aside (2), its weight, and its id."""


def place_of(finding: Finding, weight: float, *, aside: bool = False) -> Place:
    """Sort key of a finding: severity, whether it is ``aside`` or repeats another, and weight."""
    severity = SEVERITIES.index(finding.counts_as or finding.judged_severity)
    aside = aside or finding.aside or finding.judgement.restates
    below = 2 if aside else int(finding.asks)
    return finding.counts_as is None, severity, below, -weight, finding.id


EXCHANGES = "model_confuses"
"""Name of the check whose findings count exchanges of two labels."""
NO_PREDICTIONS = "no predictions were given"
"""Why a check of a model does not apply to labels alone."""
NEEDS_INSTANCES = "needs the instances one by one, which a count does not keep"
"""Why a check does not apply to data that were only counted."""
OF_MODEL = (EXCHANGES,)
"""Names of the checks of a model."""
OF_WAIVERS = ("waiver_expired", "waiver_unused")
"""Names of the checks of the policy's waivers, which read no data."""


def promise(finding: Mapping[str, Any]) -> Iterator[str]:
    """The sentence on who must fix a finding of ``result.json``, if somebody must."""
    if promised := finding.get("to_fix"):
        yield f"{promised['owner']} is to fix this by {promised['expires']}: {promised['reason']}"
