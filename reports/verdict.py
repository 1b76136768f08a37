"""The report's first sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports.parts import Badge, Verdict
from reports.words import TONE, counted, listed

_WORD = {
    "error": "Incomplete",
    "fail": "Fails",
    "warn": "Passes with warnings",
    "note": "Passes with notes",
    "pass": "Passes",
    "not_applicable": "Not judged",
}
_FOUND = (("error", "crashed"), ("fail", "found errors"), ("warn", "gave warnings"))


def verdict(shared: Mapping[str, Any]) -> Verdict:
    """What the audit says in one sentence, with what it looked at."""
    status = shared["status"]
    return Verdict(Badge(_WORD[status], TONE.get(status, "plain")), _sentence(shared))


def _sentence(shared: Mapping[str, Any]) -> str:
    checks = shared["checks"]
    applied = [check for check in checks if check["status"] != "not_applicable"]
    instances = counted(shared["ledger"]["instances"], "instance")
    if not applied:
        return f"No check could be applied to the {instances} read."
    findings = sum(check["total"] - check["folded"] for check in applied)
    what = _outcomes(applied) or "found nothing"
    return (
        f"Of {counted(len(applied), 'check')} that could be applied to {instances}, {what}: "
        f"{counted(findings, 'finding')} in all."
    )


def _outcomes(applied: Sequence[Mapping[str, Any]]) -> str:
    statuses = [check["status"] for check in applied]
    found = (*_FOUND, ("note", "gave notes"), ("pass", "found nothing"))
    counts = [(statuses.count(status), text) for status, text in found]
    return listed([f"{n:,} {text}" for n, text in counts if n])
