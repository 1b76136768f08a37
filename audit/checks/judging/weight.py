"""Severity by share: an error that concerns few rows counts as a warning."""

from __future__ import annotations

from audit.checks.judging.ratchet import number
from audit.policy.policy import Policy
from audit.policy.rules import Severity
from audit.results.findings import Finding


def severity_of(finding: Finding, policy: Policy, min_cell: int) -> Severity | None:
    """The severity that the policy gives a finding; None to keep the check's own.

    This is the policy's ``severities`` entry for the check; else ``warning`` for an error that
    concerns less than ``error_share`` of the rows or instances examined. An error without a share
    stays an error.

    Args:
        finding: The finding as made by the check.
        policy: The policy as applied.
        min_cell: Smallest count shown. Smaller counts are judged as 1, so that the severity does
            not disclose them.
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
