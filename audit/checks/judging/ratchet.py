"""The ratchet: whether a finding is known from an earlier run and has not become worse."""

from __future__ import annotations

from audit.engine.statistics.intervals import wilson
from audit.results.findings import SEVERITIES, Finding
from audit.results.reference_changes import SHALLOWER
from audit.results.result import AuditResult


def findings_by_id(reference: AuditResult | None) -> dict[str, Finding]:
    """The reference's findings by id; empty without one.

    Left out are those that its policy dropped, and that its labels are less deep than in a
    reference of its own: what is lost since then is lost once more.
    """
    if reference is None:
        return {}
    there = (f for check in reference.checks for f in check.findings if not f.judgement.dropped)
    return {f.id: f for f in there if (f.check, f.key) != SHALLOWER}


def no_worse(finding: Finding, before: Finding) -> bool:
    """Whether the main effect is at most the upper bound of the reference's interval."""
    if SEVERITIES.index(finding.severity) < SEVERITIES.index(before.severity):
        return False
    (name, effect, _), (name_before, _, bound) = main_effect(finding), main_effect(before)
    return name == name_before and effect <= bound


def main_effect(finding: Finding) -> tuple[str, float, float]:
    """Name of the main effect, its value, and the upper bound of its interval."""
    for name in ("share", "ratio"):
        value = number(finding, name)
        if value is not None:
            return name, value, _upper(finding, name, value)
    return "touched", finding.touched, finding.touched


def _upper(finding: Finding, name: str, value: float) -> float:
    """The interval's own bound; Wilson's for a share without one; else the value itself."""
    for bound in (f"{name}_high", "high"):
        high = number(finding, bound)
        if high is not None and high >= value:
            return high
    part = number(finding, "instances") or number(finding, "rows")
    whole = number(finding, "of")
    if name == "share" and part is not None and whole is not None:
        return max(wilson(part, whole)[1], value)
    return value


def number(finding: Finding, name: str) -> float | None:
    """Unsuppressed evidence of a name; None if it is missing or not a number."""
    value = finding.evidence[name].value if name in finding.evidence else None
    return float(value) if isinstance(value, int | float) else None
