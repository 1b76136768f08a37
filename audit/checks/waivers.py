"""Waivers: findings that somebody answers for until a day, and the checks on waivers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import polars as pl

from audit.base.declared import NONE, Columns, count, exact
from audit.checks.check import Outcome, WaiverCheck, WaiverUse
from audit.policy.statements import ANY_CHECK, Waiver
from audit.results.findings import CheckResult, Finding, Waived


class Waivers:
    """The waivers of a policy, applied on a day to findings on a hierarchy.

    Args:
        stated: Waivers in the policy's order; the first that covers a finding applies, those
            that name the finding alone before all others.
    """

    def __init__(self, stated: tuple[Waiver, ...], today: date, edges: pl.DataFrame) -> None:
        self._stated, self._today = stated, today
        children: dict[str, list[str]] = {}
        if any(waiver.subtree for waiver in stated):
            for child, parent in edges.select("child", "parent").iter_rows():
                children.setdefault(parent, []).append(child)
        self._below = {w.subtree: _below(w.subtree, children) for w in stated if w.subtree}

    def of(self, finding: Finding) -> Waived | None:
        """Who answers for a finding on this day; None if no valid waiver covers it."""
        for waiver in sorted(self._stated, key=lambda one: one.finding is None):
            if not waiver.expired(self._today) and self._covers(waiver, finding):
                day = waiver.expires.isoformat()
                return Waived(waiver.owner, waiver.reason, day, waiver.decision)
        return None

    def uses(self, checks: Iterable[CheckResult]) -> tuple[WaiverUse, ...]:
        """Every waiver with the number of findings it covers, in the policy's order."""
        there = [f for check in checks for f in check.findings if not f.judgement.dropped]
        return tuple(
            WaiverUse(
                waiver,
                expired=waiver.expired(self._today),
                findings=sum(self._covers(waiver, finding) for finding in there),
            )
            for waiver in self._stated
        )

    def _covers(self, waiver: Waiver, finding: Finding) -> bool:
        if waiver.check not in (ANY_CHECK, finding.check):
            return False
        if not waiver.place:
            return True
        if waiver.finding is not None:
            return waiver.finding == finding.id
        if not set(finding.nodes) <= set(finding.key or finding.nodes):
            return False  # about a rule as a whole; its nodes are only examples
        if waiver.pair is not None:
            return sorted(finding.nodes) == sorted(waiver.pair)
        if waiver.node is not None:
            return waiver.node in finding.nodes
        return set(finding.nodes) <= self._below[waiver.subtree or ""]


def listed(use: WaiverUse) -> dict[str, Any]:
    """A waiver as listed in ``result.json``."""
    stated = use.waiver
    place = {k: list(v) if isinstance(v, tuple) else v for k, v in stated.place.items()}
    return {
        "check": stated.check,
        **place,
        "decision": stated.decision,
        "owner": stated.owner,
        "reason": stated.reason,
        **({} if stated.added is None else {"added": stated.added.isoformat()}),
        "expires": stated.expires.isoformat(),
        "expired": use.expired,
        "used": use.findings,
    }


def _below(node: str, children: dict[str, list[str]]) -> set[str]:
    """The node and all below it."""
    found, waiting = {node}, [node]
    while waiting:
        new = set(children.get(waiting.pop(), ())) - found
        found |= new
        waiting.extend(new)
    return found


def expired(uses: Sequence[WaiverUse]) -> Outcome:
    """Report each waiver that has expired, so that its findings count again."""
    return Outcome(
        denominator=len(uses),
        denominator_unit="waivers",
        findings=tuple(_expired(use) for use in uses if use.expired),
        not_applicable="" if uses else "the policy has no waiver",
    )


def _expired(use: WaiverUse) -> Finding:
    return Finding(
        check=EXPIRED.name,
        severity="warning",
        nodes=use.waiver.nodes,
        statement=_statement(use),
        evidence={"findings": use.findings},
        curator="Correct what it covers, or agree on a new day and write it into the policy.",
        data_user="Read the findings that it covers: nobody answers for them any more.",
        touched=use.findings,
        key=use.key,
    )


def _statement(use: WaiverUse) -> str:
    day = use.waiver.expires
    if use.waiver.decision == "to_fix":
        return (
            f"What the waiver {use.named} lists was to be fixed by {day}: {{findings}} of its "
            "findings {findings|is|are} still there."
        )
    if not use.findings:
        return f"The waiver {use.named} expired on {day}; it covers {{findings}} findings now."
    return f"The waiver {use.named} expired on {day}: {{findings}} findings of it count again."


def unused(uses: Sequence[WaiverUse]) -> Outcome:
    """Report each valid waiver that covers no finding."""
    holding = [use for use in uses if not use.expired]
    return Outcome(
        denominator=len(holding),
        denominator_unit="waivers in force",
        findings=tuple(_unused(use) for use in holding if not use.findings),
        not_applicable="" if holding else "the policy has no waiver that holds",
    )


def _unused(use: WaiverUse) -> Finding:
    return Finding(
        check=UNUSED.name,
        severity="note",
        nodes=use.waiver.nodes,
        statement=f"The waiver {use.named} covers {{findings}} findings: the fault that it was "
        "agreed for is corrected, or has another name now.",
        evidence={"findings": use.findings},
        curator="Take the waiver out of the policy, or name what it is meant to cover.",
        data_user="Nothing: the waiver set no finding aside.",
        key=use.key,
    )


EXPIRED = WaiverCheck(
    "waiver_expired",
    "Does every waiver of the policy still hold?",
    expired,
    Columns(count("findings", of=NONE)),
)
UNUSED = WaiverCheck(
    "waiver_unused",
    "Does every waiver that holds cover a finding?",
    unused,
    Columns(exact("findings", reason="none, which is what the finding says")),
)
