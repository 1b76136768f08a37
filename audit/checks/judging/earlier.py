"""What a run keeps of earlier releases, and what it is protected beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    views = [{one["name"]: one for one in view["checks"]} for view in (own, shared)]
    return {
        "instances": shared["ledger"]["instances"],
        "status": shared["status"],
        "min_cell": min_cell,
        "hierarchy": reference.identity["hierarchy"]["sha256"],
        "depths": kept_depths(*(view["overview"]["coverage"]["depths"] for view in (own, shared))),
        "checks": [
            _kept_check(check, *(by_name[check.name] for by_name in views))
            for check in reference.checks
        ],
    }


def _kept_check(
    check: CheckResult, own: Mapping[str, Any], shared: Mapping[str, Any]
) -> dict[str, Any]:
    standing = {finding.id: finding for finding in check.standing}
    there = [finding.id for finding in check.findings if not finding.judgement.dropped]
    firsts = {finding["id"]: finding["evidence"] for finding in own["findings"]}
    return {
        "name": check.name,
        "status": check.status,
        "standing": list(standing),
        "folded": [id_ for id_ in there if id_ not in standing],
        "findings": [
            _finding(standing[one["id"]], one, _in_both(firsts.get(one["id"], {}), one))
            for one in shared["findings"]
        ],
    }


def _in_both(own: Mapping[str, Shown], finding: Mapping[str, Any]) -> dict[str, Shown]:
    """Evidence that both views give alike; null where one withholds it."""
    return {
        name: value if own.get(name) == value else None
        for name, value in finding["evidence"].items()
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


def beside_earlier(result: AuditResult, runs: Sequence[AuditResult]) -> AuditResult:
    """A result that its shared view protects beside earlier releases, and all before these too.

    Args:
        result: The result, with what it is protected beside already.
        runs: Runs of earlier releases.
    """
    known, kept = list(result.known.earlier), [result.reference, *result.before]
    for run in runs:
        known += [one for one in run.view.as_earlier_of(result.view) if one not in known]
        of_run = (remembered(run, result.min_cell), run.reference, *run.before)
        kept += [one for one in of_run if one not in kept]
    before = tuple(one for one in kept[1:] if one is not None)
    return replace(result, known=replace(result.known, earlier=tuple(known)), before=before)
