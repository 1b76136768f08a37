"""Records of findings and of the results of checks, and the wording of their statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias, TypeVar
from urllib.parse import quote

from audit.base.plurals import title_and_code
from audit.disclosure import Quantity, Shown, count, derived, least
from audit.results.reference_changes import Ids

_Told = TypeVar("_Told")

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
    """One line of a finding's breakdown: its nodes or codes, and its own evidence."""

    nodes: tuple[str, ...]
    evidence: Mapping[str, Quantity]


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
        excused: Whether it counts as a note because it is known.
        restates: Whether another check says the same of the same nodes, more severely or before it.
        dropped: Whether a limit stricter than the run's own excludes it.
    """

    severity: Severity | None = None
    waiver: Waived | None = None
    known: bool = False
    excused: bool = False
    restates: bool = False
    dropped: bool = False


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
        beside: Other pairs of nodes whose counts some of its numbers depend on.
        beyond: How many times its own limit the cautious end of its effect is, by `times_limit`: 1
            just at the limit. The estimate where there is no interval; 1 where a check has no
            limit. Findings of different checks are ordered by ``touched * beyond``; not in the
            shared view, as it may tell a number that is withheld.
        aside: Whether it stands below all others of its severity: another finding says that what
            it counts may be something else, or the policy calls it usual.
        asks: Whether it only asks whoever knows the field if anything is wrong: it stands above
            those aside and below all others of its severity.
        about: The nodes whose instances it counts, where they are fewer than ``nodes``.

    >>> import audit
    >>> labels = audit.load_labels([["cat"], ["dog", "dog"]], {"pet": {"cat": {}, "dog": {}}})
    >>> checks = audit.run_audit(labels).checks
    >>> finding = next(one for check in checks for one in check.findings)
    >>> finding.id, finding.severity, finding.nodes, finding.evidence["instances"].value
    ('duplicate_label:labels', 'note', ('dog',), 1)
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
    beyond: float = 1.0
    aside: bool = False
    about: tuple[str, ...] = ()
    asks: bool = False

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

    @property
    def id(self) -> str:
        """Stable across releases: the check and its key or nodes, each part percent-encoded."""
        return finding_id(self.check, *(self.key or self.nodes))


def values_of(evidence: Mapping[str, Quantity]) -> dict[str, Any]:
    """The numbers of evidence as they are, whether or not they may be shown, by name."""
    return {name: quantity.value for name, quantity in evidence.items()}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table of a check's findings, by the names of the evidence that it shows.

    Args:
        heading: Its heading.
        shows: The evidence; of several names, divided by spaces, the first that a finding has.
            ``node`` and ``other`` are the finding's nodes, for which its sentence stands where it
            has not as many.
        of: What the evidence is a part of.
        over: What it is divided by.
        low: Lower end of its interval, of the same estimate.
        high: Upper end.
        limit: The limit that it is beyond.
    """

    heading: str
    shows: str
    of: str = ""
    over: str = ""
    low: str = ""
    high: str = ""
    limit: str = ""


NODE, OTHER = Column("Node", "node"), Column("With", "other")
INSTANCES = Column("Instances", "instances", of="of")
SHARE = Column("Share", "share", low="low", high="high", limit="limit")
"""Columns that several checks declare."""


def share_evidence(
    instances: int, of: int, *totals: int, among: tuple[int, ...] = ()
) -> dict[str, Quantity]:
    """``instances, of`` and ``share`` of a finding.

    Args:
        instances: Number of instances that it is about.
        of: Number of those that could be.
        totals: What else contains the former.
        among: What contains the latter; without it, their number is told by the release anyway.
    """
    return {
        "instances": count(instances, of, *totals),
        "of": count(of, *among) if among else Quantity(of),
        "share": derived(instances / of, "instances", *(("of",) if among else ())),
    }


LINES = ("labels", "pairs", "codes")
"""Names of evidence for the total number of lines, of which the parts are the first."""


def mostly(
    finding: Finding,
    evidence: Mapping[str, Shown],
    parts: Sequence[tuple[Part, Mapping[str, Shown]]],
    titles: Mapping[str, str | None],
) -> str | None:
    """What makes up most of a finding by what is shown: of a pair, the first pair below it.

    Of a finding that counts its lines, these are examples where none is much of it.
    """
    lines = [one for one in parts if finding.key or one[0].nodes != finding.nodes]
    if not lines:
        return None
    n, *others = [_counted_in(one, evidence) for _, one in lines]
    of, pairs = evidence.get("instances"), len(lines[0][0].nodes) > 1
    alone = not others and "labelled" in lines[0][1]
    named = [
        " and ".join(
            title_and_code(node, titles.get(node))
            for node in part.nodes
            if finding.key or node not in finding.nodes
        )
        for part, _ in lines
    ]
    every = next((evidence[name] for name in LINES if name in evidence), None)
    few = " and ".join(named[: 1 if pairs else EXAMPLES])
    if every == len(named) <= (1 if pairs else EXAMPLES):
        return few
    if isinstance(n, int) and isinstance(of, int):
        if alone or (n >= of and (pairs or not others)):
            return f"always {named[0]}"
        if 2 * n > of:
            return f"mostly {named[0]}"
        ties = sum(least(other) >= n for other in others)
        if pairs and LEAST_TOLD * n >= of and ties < 2:
            return f"most often {' or '.join(named[: 1 + ties])}"
    return None if every is None else f"such as {few}"


def line_count(evidence: Mapping[str, _Told]) -> _Told | None:
    """What a line of a finding counts: of its instances, or all that are labelled with the node."""
    return evidence.get("instances", evidence.get("labelled"))


def _counted_in(line: Mapping[str, Shown], evidence: Mapping[str, Shown]) -> Shown:
    """How many of a finding's instances a line counts; at least, where it counts others too."""
    if "instances" in line:
        return line["instances"]
    labelled, of, own = line.get("labelled"), evidence.get("of"), evidence.get("instances")
    if isinstance(labelled, int) and isinstance(of, int) and isinstance(own, int):
        return labelled - (of - own)
    return None


EXAMPLES = 2
"""Number of nodes that a sentence names as examples."""
LEAST_TOLD = 5
"""The pair that is most often behind a finding is named from this part of it on: a fifth."""


def times_limit(end: float, limit: float, *, below: bool = False) -> float:
    """How far an effect is beyond its limit: 1 at the limit, 2 at twice the limit.

    Args:
        end: The end of the effect's interval that is nearer to the limit; the estimate without one.
        limit: The limit; distances from 0 are counted as they are.
        below: Whether an effect is what stays below the limit.

    >>> times_limit(0.75, 0.5), times_limit(0.1, 0.25, below=True), times_limit(-3, 1)
    (1.5, 1.6, 0.0)
    """
    away = (limit - end if below else end - limit) / (abs(limit) or 1.0)
    return max(1.0 + away, 0.0)


@lru_cache(maxsize=1 << 16)
def finding_id(check: str, *parts: str) -> str:
    """The id of a finding, from the name of its check and the parts that identify it."""
    return ":".join(quote(part, safe="") for part in (check, *parts))


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    Args:
        name: The check.
        title: The question it answers, in one line.
        denominator: Number of things examined.
        denominator_unit: Unit of the denominator.
        findings: All findings, folded ones included, before the list is capped: by severity, then
            by ``touched * strength``; waived ones are last.
        not_applicable: Why the check could not be applied; empty if it was.
        crashed: The error that stopped it; empty if there was none.
        columns: The table of its findings; empty for a sentence with its share and count.

    >>> import audit
    >>> labels = audit.load_labels([["cat"], ["dog", "dog"]], {"pet": {"cat": {}, "dog": {}}})
    >>> check = next(c for c in audit.run_audit(labels).checks if c.name == "duplicate_label")
    >>> check.status, len(check.findings), check.denominator, check.denominator_unit
    ('note', 1, 2, 'instances with labels')
    """

    name: str
    title: str
    denominator: int
    denominator_unit: str
    findings: tuple[Finding, ...] = ()
    not_applicable: str = ""
    crashed: str = ""
    columns: tuple[Column, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "findings", tuple(sorted(self.findings, key=self._place)))

    @cached_property
    def standing(self) -> tuple[Finding, ...]:
        """Findings that are not folded into others, in report order: those shown and counted."""
        there = [finding for finding in self.findings if not finding.judgement.dropped]
        return tuple(one for one in there if self._ids.isdisjoint(one.folded_into))

    @property
    def folded(self) -> int:
        """Number of findings folded into others."""
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
        """Status of the check: not_applicable, error, the worst severity that counts, or pass."""
        if self.crashed:
            return "error"
        if self.not_applicable:
            return "not_applicable"
        for severity in SEVERITIES:
            if any(finding.counts_as == severity for finding in self.standing):
                return STATUS_OF_SEVERITY[severity]
        return "pass"

    @cached_property
    def _ids(self) -> frozenset[str]:
        return frozenset(one.id for one in self.findings if not one.judgement.dropped)

    def _place(self, finding: Finding) -> Place:
        folded = not self._ids.isdisjoint(finding.folded_into)
        return place_of(finding, finding.touched * finding.strength, aside=folded)


Place: TypeAlias = tuple[bool, int, int, float, str]
"""Sort key of a finding: whether it does not count, its severity, whether it only asks (1) or
stands aside (2), its weight, and its id."""


def place_of(finding: Finding, weight: float, *, aside: bool = False) -> Place:
    """Sort key of a finding of a weight, and whether it stands aside or repeats another one."""
    severity = SEVERITIES.index(finding.counts_as or finding.judged_severity)
    aside = aside or finding.aside or finding.judgement.restates
    below = 2 if aside else int(finding.asks)
    return finding.counts_as is None, severity, below, -weight, finding.id


DRAWN = "shrunk_share"
"""Name of a share drawn toward those of other nodes; ``low`` and ``high`` beside it are its own."""
EXCHANGES = "model_confuses"
"""Name of the check whose findings count exchanges of two labels."""
NEEDS_INSTANCES = "needs the instances one by one, which a count does not keep"
"""Why a check does not apply to data that were only counted."""
SUSPECTS = "label_suspects"
"""Name of the check whose findings count labels that scores contradict."""

OF_MODEL = (EXCHANGES, SUSPECTS)
"""Names of the checks of a model."""

OF_WAIVERS = ("waiver_expired", "waiver_unused")
"""Names of the checks of the policy's waivers, which read no data."""


def promise(finding: Mapping[str, Any]) -> Iterator[str]:
    """The sentence on who must fix a finding of ``result.json``; empty where nobody must."""
    if promised := finding.get("to_fix"):
        yield f"{promised['owner']} is to fix this by {promised['expires']}: {promised['reason']}"
