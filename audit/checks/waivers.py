"""Waivers: findings that somebody answers for until a day, and the checks on waivers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import polars as pl

from audit.base.declared import NONE, Columns, count, exact
from audit.checks.check import Outcome
from audit.policy.statements import ANY_CHECK, Waiver
from audit.results.findings import CheckResult, Finding, Waived


@dataclass(frozen=True)
class WaiverUse:
    """A waiver of the policy, with its state on the day of judging.

    Args:
        waiver: As the policy states it.
        expired: Whether its last day has passed.
        findings: Number of findings that it covers, whether or not it is still valid.
    """

    waiver: Waiver
    expired: bool
    findings: int

    @property
    def named(self) -> str:
        """What the waiver covers and who answers for it, as part of a sentence."""
        if self.waiver.finding is not None:
            return f"of the finding {self.waiver.finding} by {self.waiver.owner}"
        kind = next(iter(self.waiver.place), "")
        preposition = {"node": " on ", "subtree": " below ", "pair": " on ", "": ""}[kind]
        check = "any check" if self.waiver.check == ANY_CHECK else self.waiver.check
        return f"of {check}{preposition}{' and '.join(self.waiver.nodes)} by {self.waiver.owner}"

    @property
    def listed(self) -> dict[str, Any]:
        """The waiver as listed in ``result.json``."""
        stated = self.waiver.model_dump(mode="json", exclude_none=True)
        day = stated.pop("expires")
        return {**stated, "expires": day, "expired": self.expired, "used": self.findings}

    def found(self, check: str, **said: Any) -> Finding:
        """A finding on the waiver."""
        waiver = self.waiver
        named = waiver.nodes if waiver.finding is None else (waiver.finding,)
        return Finding(
            check=check,
            nodes=waiver.nodes,
            evidence={"findings": self.findings},
            touched=self.findings,
            key=(waiver.check, *waiver.place, *named),
            **said,
        )


class Waivers:
    """The waivers of a policy, applied on a day to findings on a hierarchy.

    Args:
        stated: Waivers in the policy's order; the first that covers a finding applies, those
            that name the finding alone before all others.
        edges: ``child, parent`` of the hierarchy.
    """

    def __init__(self, stated: tuple[Waiver, ...], today: date, edges: pl.DataFrame) -> None:
        self._stated, self._today = stated, today
        self._root = {*edges["parent"]} - {*edges["child"]}
        self._below = {w.subtree: _below(w.subtree, edges) for w in stated if w.subtree}

    def of(self, finding: Finding) -> Waived | None:
        """Who answers for a finding on this day; None if no valid waiver covers it."""
        for waiver in sorted(self._stated, key=lambda one: one.finding is None):
            if not waiver.expired(self._today) and self._covers(waiver, finding):
                day = waiver.expires.isoformat()
                return Waived(waiver.owner, waiver.reason, day, waiver.decision)
        return None

    def uses(self, checks: Iterable[CheckResult]) -> tuple[WaiverUse, ...]:
        """Every waiver with the number of findings it covers, in the policy's order."""
        there = [finding for check in checks for finding in check.findings]
        return tuple(
            WaiverUse(one, one.expired(self._today), sum(self._covers(one, f) for f in there))
            for one in self._stated
        )

    def _covers(self, waiver: Waiver, finding: Finding) -> bool:
        """Whether its check, or any, fits, and the finding, pair, subtree or node that it names."""
        if waiver.check not in (ANY_CHECK, finding.check):
            return False
        if not waiver.place:
            return True
        if waiver.finding is not None:
            return waiver.finding == finding.id
        nodes = {*finding.nodes}
        examples = self._root.union(*(part.nodes for part in finding.parts))
        if nodes <= examples and not nodes <= {*(finding.key or finding.nodes)}:
            return False  # about a rule as a whole
        if waiver.pair is not None:
            return nodes == {*waiver.pair}
        return waiver.node in nodes if waiver.node else nodes <= self._below[waiver.subtree or ""]


def _below(node: str, edges: pl.DataFrame) -> set[str]:
    """The node and all below it."""
    found, new = {node}, {node}
    while new:
        new = {*edges.filter(pl.col("parent").is_in(new))["child"]} - found
        found |= new
    return found


@dataclass(frozen=True)
class WaiverCheck:
    """A check of the policy's waivers, applied after all other checks.

    Its findings are about the policy and have no cases; the instances concerned are the cases of
    the findings that the waiver covers.
    """

    name: str
    title: str
    rule: Callable[[Sequence[WaiverUse]], Outcome]
    evidence: Columns

    def run(self, uses: Sequence[WaiverUse]) -> CheckResult:
        """Apply the check to the waivers of a policy."""
        told = vars(self.rule(uses))
        return CheckResult(self.name, self.title, evidence=self.evidence, counts="whole", **told)


def _expired(uses: Sequence[WaiverUse]) -> Outcome:
    """Waivers of the policy that have expired, so that what they cover counts again.

    A [waiver](policy.md#waivers) holds on the day of its `expires` and not after. One is a finding
    where `expires` < the day of judging (UTC, or that of `SOURCE_DATE_EPOCH`): no other check
    depends on the day. Findings to be fixed, which counted all along, are overdue. `findings` is
    the number that it would cover.

    **Severity.** Warning.
    """
    findings = (
        use.found(
            EXPIRED.name,
            severity="warning",
            statement=_expired_sentence(use),
            curator="Correct what it covers, or agree on a new day and write it into the policy.",
            data_user="Read the findings that it covers: nobody answers for them any more.",
        )
        for use in uses
        if use.expired
    )
    return Outcome(
        len(uses), "waivers", tuple(findings), "" if uses else "the policy has no waiver"
    )


def _expired_sentence(use: WaiverUse) -> str:
    day = use.waiver.expires
    if use.waiver.decision == "to_fix":
        return (
            f"What the waiver {use.named} lists was to be fixed by {day}: {{findings}} of its "
            "findings {findings|is|are} still there."
        )
    if not use.findings:
        return f"The waiver {use.named} expired on {day}; it covers {{findings}} findings now."
    return f"The waiver {use.named} expired on {day}: {{findings}} findings of it count again."


def _unused(uses: Sequence[WaiverUse]) -> Outcome:
    """Waivers that hold and that cover no finding, folded ones included.

    Where two [waivers](policy.md#waivers) cover the same finding, both count as used. A waiver of a
    check that does not apply to this release is reported too.

    **Severity.** Note.
    """
    holding = [use for use in uses if not use.expired]
    findings = (
        use.found(
            UNUSED.name,
            severity="note",
            statement=f"The waiver {use.named} covers {{findings}} findings: the fault that it was "
            "agreed for is corrected, or has another name now.",
            curator="Take the waiver out of the policy, or name what it is meant to cover.",
            data_user="Nothing: the waiver set no finding aside.",
        )
        for use in holding
        if not use.findings
    )
    why_not = "" if holding else "the policy has no waiver that holds"
    return Outcome(len(holding), "waivers in force", tuple(findings), why_not)


EXPIRED = WaiverCheck(
    "waiver_expired",
    "Does every waiver of the policy still hold?",
    _expired,
    Columns(count("findings", of=NONE)),
)
UNUSED = WaiverCheck(
    "waiver_unused",
    "Does every waiver that holds cover a finding?",
    _unused,
    Columns(exact("findings", reason="none, which is what the finding says")),
)
