"""Waivers: findings that somebody accepts responsibility for, until a day."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

import polars as pl

from audit.checks.check import WaiverUse
from audit.policy.statements import ANY_CHECK, Waiver
from audit.results.findings import CheckResult, Finding, Waived


class Waivers:
    """The waivers of a policy, applied on a day to findings on a hierarchy.

    Args:
        stated: Waivers in the policy's order; the first that covers a finding applies, those
            that name the finding alone before all others.
        today: The day that decides whether a waiver has expired.
        edges: ``child, parent`` of the hierarchy.
    """

    def __init__(self, stated: tuple[Waiver, ...], today: date, edges: pl.DataFrame) -> None:
        self._stated, self._today = stated, today
        children: dict[str, list[str]] = {}
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
