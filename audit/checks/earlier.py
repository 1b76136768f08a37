"""What a run keeps of the reference that it was compared with."""

from __future__ import annotations

from dataclasses import replace

from audit.results.mended import Mended
from audit.results.result import AuditResult
from audit.results.since import Remembered, kept_check


def told_with(reference: AuditResult, min_cell: int) -> AuditResult:
    """A reference whose numbers are told as those of a run, or as its own if these say less."""
    least = max(min_cell, reference.min_cell)
    if least == reference.min_cell:
        return reference
    return replace(reference, policy={**reference.policy, "min_cell": least})


def remembered(reference: AuditResult) -> Remembered:
    """What is kept of a reference, as it is told."""
    shared = reference.shared()
    views = {check["name"]: check for check in shared["checks"]}
    return {
        "instances": shared["ledger"]["instances"],
        "status": shared["status"],
        "hierarchy": reference.identity["hierarchy"]["sha256"],
        "depths": shared["overview"]["coverage"]["depths"],
        "mended": sorted(mended_in(reference, reference.reference)),
        "checks": [kept_check(check, views[check.name]) for check in reference.told.checks],
    }


def mended_in(run: AuditResult, before: Remembered | None) -> frozenset[str]:
    """Findings that were mended as a whole, in the data of a run or in those of earlier ones."""
    own = run.part(Mended)
    earlier = frozenset[str]() if before is None else frozenset(before["mended"])
    return earlier if own is None else earlier | own.wholly
