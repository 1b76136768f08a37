"""What a run keeps of earlier releases, and which of them it is protected beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from audit.disclosure import Quantity, Shown
from audit.results.drift_lines import kept_values
from audit.results.findings import CheckResult, Finding
from audit.results.mended import Mended
from audit.results.parts import DriftPart, ValueCells
from audit.results.reference_changes import Remembered, effect, kept_depths
from audit.results.result import AuditResult


def remembered(reference: AuditResult, min_cell: int) -> Remembered:
    """The reference's findings, suppressed for sharing.

    Args:
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
        "labels": int(reference.nodes["direct"].sum()),
        "tree": {
            row["node"]: row["instances"]
            for row in own["overview"]["tree"]
            if isinstance(row["instances"], int)
        },
        "drift": kept_values(
            own["overview"]["coverage"]["drift"],
            reference.part(DriftPart),
            reference.part(ValueCells),
        ),
        "depths": kept_depths(*(view["overview"]["coverage"]["depths"] for view in (own, shared))),
        "mended": sorted(mended_in(reference, reference.reference)),
        "checks": [
            _kept_check(check, *(by_name[check.name] for by_name in views))
            for check in reference.checks
        ],
    }


def mended_in(run: AuditResult, before: Remembered | None) -> frozenset[str]:
    """Findings that were mended as a whole, in the data of a run or in those of earlier ones."""
    own = run.part(Mended)
    earlier = frozenset[str]() if before is None else frozenset(before["mended"])
    return earlier if own is None else earlier | own.wholly


def _kept_check(
    check: CheckResult, own: Mapping[str, Any], shared: Mapping[str, Any]
) -> dict[str, Any]:
    standing = {finding.id: finding for finding in check.standing}
    there = [finding.id for finding in check.findings if not finding.judgement.dropped]
    firsts = {finding["id"]: finding for finding in own["findings"]}
    return {
        "name": check.name,
        "status": check.status,
        "standing": list(standing),
        "folded": [id_ for id_ in there if id_ not in standing],
        "findings": [
            _finding(standing[one["id"]], one, firsts.get(one["id"], _NOT_SHOWN))
            for one in shared["findings"]
        ],
    }


_NOT_SHOWN: Mapping[str, Any] = {"evidence": {}, "parts": ()}


def _in_both(own: Mapping[str, Any], finding: Mapping[str, Any]) -> dict[str, Shown]:
    """Evidence that both views give alike; null where one withholds it."""
    return {
        name: value if own["evidence"].get(name) == value else None
        for name, value in finding["evidence"].items()
    }


def _finding(found: Finding, shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    counts, evidence = _counts(found.evidence), _in_both(own, shared)
    of_parts = {part.nodes: _counts(part.evidence) for part in found.parts}
    told = ((tuple(node["id"] for node in one["nodes"]), one["evidence"]) for one in own["parts"])
    return {
        **{key: shared[key] for key in ("id", "severity", "nodes")},
        "counts": {name: value for name, value in evidence.items() if name in counts},
        "beside": {
            name: value
            for name, value in evidence.items()
            if name not in counts and isinstance(value, int)
        },
        "parts": [
            {"nodes": [*nodes], "counts": {name: numbers[name] for name in of_parts[nodes]}}
            for nodes, numbers in told
        ],
        **dict(zip(("effect", "value"), effect(evidence), strict=True)),
    }


def _counts(evidence: Mapping[str, Quantity]) -> set[str]:
    return {name for name, quantity in evidence.items() if quantity.kind == "count"}


def beside_earlier(result: AuditResult, runs: Sequence[AuditResult]) -> AuditResult:
    """A result that its shared view protects beside earlier releases, and all before these too."""
    known, kept = list(result.known.earlier), [result.reference, *result.before]
    for run in runs:
        known += [one for one in run.view.as_earlier_of(result.view) if one not in known]
        of_run = (remembered(run, result.min_cell), run.reference, *run.before)
        kept += [one for one in of_run if one not in kept]
    before = tuple(one for one in kept[1:] if one is not None)
    return replace(result, known=replace(result.known, earlier=tuple(known)), before=before)
