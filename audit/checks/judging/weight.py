"""Severity by weight: an error that few rows carry counts as a warning."""

from __future__ import annotations

from audit.checks.judging.ratchet import number
from audit.policy.policy import Policy
from audit.policy.rules import Severity
from audit.results.findings import Finding


def severity_of(finding: Finding, policy: Policy, min_cell: int) -> Severity | None:
    """The policy's severity of a finding; None: the check's own.

    What `severities` says of its check; else ``warning`` for an error whose share of the rows, or
    instances, looked at is below `error_share`. An error without a share stays one.

    Args:
        finding: As the check made it.
        policy: As applied.
        min_cell: Smallest count shown. A smaller one is judged as 1: the severity does not tell it.
    """
    if finding.check in policy.severities or finding.severity != "error":
        return policy.severities.get(finding.check)
    share = _share(finding, min_cell)
    return "warning" if share is not None and share < policy.error_share.value else None


def _share(finding: Finding, min_cell: int) -> float | None:
    share = number(finding, "share")
    for name in ("rows", "instances"):
        part = finding.evidence.get(name)
        if share is not None and part is not None and part.kind == "count":
            counted = number(finding, name) or 0
            return share / counted if 0 < counted < min_cell else share
    return share
