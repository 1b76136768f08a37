"""One audit from end to end: measure, check, and hold the result together."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from audit.checks import CHECKS
from audit.checks.check import Check
from audit.dataset import LabelDataset
from audit.files import sha256_of
from audit.measure import Measurements, described, measure
from audit.policy import Policy, policy_for
from audit.result import AuditResult, CheckResult

DISTRIBUTION = "hierarchy-audit"


def run_audit(dataset: LabelDataset, policy: Policy | None = None) -> AuditResult:
    """Audit a dataset: propagate its labels, count every pair, apply every check.

    Args:
        dataset: Labels mapped to a hierarchy.
        policy: What to judge by; what it does not state, the hierarchy's built-in policy decides.

    Returns:
        The result. A check that fails to run has status ``error`` and loses nothing else.

    Time and memory grow with the sum over instances of (nodes per instance)^2.
    """
    policy = policy_for(dataset.hierarchy.name, policy)
    measured = measure(dataset, policy)
    return AuditResult(
        identity=_identity(dataset, policy),
        ledger=_ledger(dataset),
        policy=_policy_as_applied(measured),
        checks=tuple(_applied(check, measured) for check in CHECKS),
        nodes=measured.nodes,
        edges=dataset.hierarchy.edge_frame(),
        pairs=described(measured.pairs, len(dataset)),
        residuals=measured.residuals,
        inputs=tuple(
            input_record(role, path)
            for role, paths in (("data", dataset.sources), ("titles", dataset.titles))
            for path in paths
        ),
    )


def input_record(role: str, path: Path) -> dict[str, str]:
    """What the manifest says about a file that was read."""
    return {"role": role, "path": str(path), "sha256": sha256_of(path)}


def _applied(check: Check, measured: Measurements) -> CheckResult:
    try:
        return check.run(measured)
    except Exception as error:  # one broken check must not lose the others
        return CheckResult(
            name=check.name,
            title=check.title,
            denominator=0,
            denominator_unit="",
            crashed=f"{type(error).__name__}: {error}",
        )


def _identity(dataset: LabelDataset, policy: Policy) -> dict[str, Any]:
    hierarchy = dataset.hierarchy
    return {
        "data": {
            "sha256": _data_digest(dataset),
            "format": dataset.format,
            "title": policy.title,
        },
        "hierarchy": {
            "name": hierarchy.name,
            "sha256": hierarchy.sha256,
            "nodes": len(hierarchy),
            "depth": int(hierarchy.depth.max()),
        },
        "normaliser": hierarchy.coding.name if hierarchy.coding else None,
        "policy": {"name": policy.name, "sha256": policy.sha256},
        "tool": {"name": DISTRIBUTION, "version": version(DISTRIBUTION)},
    }


def _data_digest(dataset: LabelDataset) -> str:
    """Digest of the files' contents in order; of the mapped labels where there are no files."""
    digest = hashlib.sha256()
    for source in dataset.sources:
        digest.update(bytes.fromhex(sha256_of(source)))
    if not dataset.sources:
        for frame in (dataset.instances, dataset.assertions):
            digest.update(frame.write_csv().encode())
    return digest.hexdigest()


def _ledger(dataset: LabelDataset) -> dict[str, Any]:
    ledger = dataset.ledger
    per_instance = pl.Series(dataset.direct.sum(axis=1))
    return {
        "rows_read": ledger.rows_read,
        "rows_mapped": ledger.rows_mapped,
        "refused": dict(ledger.refused),
        "instances": ledger.instances,
        "instances_without_labels": ledger.instances_without_labels,
        "groups": ledger.groups,
        "repeated_edges": dataset.hierarchy.repeated_edges,
        "labels_per_instance": {
            "median": per_instance.median(),
            "p90": per_instance.quantile(0.9, "nearest"),
        },
    }


def _policy_as_applied(measured: Measurements) -> Mapping[str, Any]:
    policy = measured.policy
    return {
        "name": policy.name,
        "title": policy.title,
        "min_cell": policy.min_cell_for(measured.dataset.persons),
        "max_findings": policy.max_findings,
        "labelled_ancestors": measured.labelled_ancestors,
        "thresholds": list(policy.thresholds()),
        "branch_rules": [
            {"a": rule.branches[0], "b": rule.branches[1], "rule": rule.rule, "reason": rule.reason}
            for rule in policy.branch_rules
        ],
    }
