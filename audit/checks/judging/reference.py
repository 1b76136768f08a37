"""The part of the reference run that a run keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from audit.disclosure import Shown
from audit.results.findings import CheckResult, Finding
from audit.results.reference_changes import Remembered, effect, kept_depths
from audit.results.result import AuditResult


def remembered(reference: AuditResult, min_cell: int) -> Remembered:
    """The reference's findings, suppressed for sharing.

    Args:
        reference: The earlier run.
        min_cell: Smallest count that the new run shows; the larger one of both runs applies.
            Whatever the reference withholds stays withheld.
    """
    min_cell = max(min_cell, int(reference.policy["min_cell"]))
    own = reference.shared()
    policy = {**reference.policy, "min_cell": min_cell}
    shared = own if policy == reference.policy else replace(reference, policy=policy).shared()
    return {
        "instances": shared["ledger"]["instances"],
        "status": shared["status"],
        "min_cell": min_cell,
        "hierarchy": reference.identity["hierarchy"]["sha256"],
        "depths": kept_depths(*(view["overview"]["coverage"]["depths"] for view in (own, shared))),
        "checks": [
            _check(check, *views)
            for check, *views in zip(reference.checks, own["checks"], shared["checks"], strict=True)
        ],
    }


def _check(check: CheckResult, own: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    standing = {finding.id: finding for finding in check.standing}
    there = [finding.id for finding in check.in_order() if not finding.judgement.dropped]
    findings = zip(own["findings"], shared["findings"], strict=True)
    return {
        "name": check.name,
        "status": check.status,
        "standing": list(standing),
        "folded": [id_ for id_ in there if id_ not in standing],
        "findings": [
            _finding(standing[finding["id"]], finding, _in_both(first["evidence"], finding))
            for first, finding in findings
        ],
    }


def _in_both(own: Mapping[str, Shown], finding: Mapping[str, Any]) -> dict[str, Shown]:
    """Evidence that both views give alike; null where one withholds it."""
    return {
        name: value if own[name] == value else None for name, value in finding["evidence"].items()
    }


def _finding(
    found: Finding, shared: Mapping[str, Any], evidence: Mapping[str, Shown]
) -> dict[str, Any]:
    counts = {name for name, quantity in found.evidence.items() if quantity.kind == "count"}
    return {
        **{key: shared[key] for key in ("id", "severity", "nodes")},
        "counts": {name: value for name, value in evidence.items() if name in counts},
        "beside": {
            name: value
            for name, value in evidence.items()
            if name not in counts and isinstance(value, int)
        },
        **dict(zip(("effect", "value"), effect(evidence), strict=True)),
    }
