"""What a run keeps of the reference that it was judged beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from audit.result import AuditResult, CheckResult
from audit.since_reference import Remembered, effect


def remembered(reference: AuditResult, min_cell: int) -> Remembered:
    """The reference's findings as they may be shown.

    Args:
        reference: The earlier run.
        min_cell: Smallest count that the new run shows; the stricter one holds.
    """
    min_cell = max(min_cell, int(reference.policy["min_cell"]))
    shared = replace(reference, policy={**reference.policy, "min_cell": min_cell}).shared()
    return {
        "instances": shared["ledger"]["instances"],
        "status": shared["status"],
        "min_cell": min_cell,
        "checks": [
            _check(check, told)
            for check, told in zip(reference.checks, shared["checks"], strict=True)
        ],
    }


def _check(check: CheckResult, told: Mapping[str, Any]) -> dict[str, Any]:
    standing = {finding.id: finding for finding in check.standing}
    there = [finding.id for finding in check.in_order() if not finding.judgement.dropped]
    return {
        "name": check.name,
        "status": check.status,
        "standing": list(standing),
        "folded": [id_ for id_ in there if id_ not in standing],
        "findings": [
            {
                **{key: finding[key] for key in ("id", "severity", "nodes")},
                "counts": {
                    name: finding["evidence"][name]
                    for name, quantity in standing[finding["id"]].evidence.items()
                    if quantity.kind == "count"
                },
                **dict(zip(("effect", "value"), effect(finding["evidence"]), strict=True)),
            }
            for finding in told["findings"]
        ],
    }
