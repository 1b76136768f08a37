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
from audit.errors import PolicyError, first_cases
from audit.files import sha256_of
from audit.hierarchy import Hierarchy
from audit.measure import Measurements, measure
from audit.measure_model import ModelMeasurements
from audit.pair_table import described
from audit.policy import Policy, policy_for
from audit.predictions import Predictions
from audit.result import AuditResult, CheckResult

DISTRIBUTION = "hierarchy-audit"


def run_audit(
    dataset: LabelDataset,
    policy: Policy | None = None,
    *,
    predictions: Predictions | None = None,
    seed: int = 0,
) -> AuditResult:
    """Audit a dataset, and a model: propagate, count every pair, measure, apply every check.

    Args:
        dataset: Labels mapped to a hierarchy.
        policy: What to judge by; what it does not state, the hierarchy's built-in policy decides.
        predictions: What a model predicts of the dataset's instances.
        seed: Of the resampling behind the intervals of the model's metrics.

    Returns:
        The result. A check that fails to run has status ``error`` and loses nothing else.

    Raises:
        PolicyError: If the policy names a node that the hierarchy lacks.

    Time and memory grow with the sum over instances of (nodes per instance)^2.
    """
    policy = policy_for(dataset.hierarchy.name, policy)
    _refuse_unknown_nodes(policy, dataset.hierarchy)
    measured = measure(dataset, policy, predictions, seed=seed)
    return AuditResult(
        identity=_identity(dataset, policy),
        ledger=_ledger(dataset) | {"predictions": _prediction_ledger(measured)},
        policy=_policy_as_applied(measured),
        checks=tuple(_applied(check, measured) for check in CHECKS),
        nodes=measured.nodes,
        edges=dataset.hierarchy.edge_frame(),
        pairs=described(measured.pairs, len(dataset)),
        residuals=measured.residuals,
        inputs=_inputs(dataset, predictions),
        **_of_model(measured.model),
    )


def _inputs(
    dataset: LabelDataset, predictions: Predictions | None
) -> tuple[Mapping[str, str], ...]:
    read = {
        "data": dataset.sources,
        "titles": dataset.titles,
        "predictions": () if predictions is None else predictions.sources,
    }
    return tuple(input_record(role, path) for role, paths in read.items() for path in paths)


def _of_model(model: ModelMeasurements | None) -> dict[str, Any]:
    if model is None:
        return {}
    return {
        "metrics": model.metrics,
        "metrics_absent": model.metrics_absent,
        "metrics_beside": model.metrics_beside,
        "behaviours": model.behaviours,
        "model_pairs": model.described(),
    }


def _refuse_unknown_nodes(policy: Policy, hierarchy: Hierarchy) -> None:
    unknown = [f"{key}: {node}" for key, node in policy.nodes_named() if node not in hierarchy]
    if unknown:
        raise PolicyError(
            f"every node that the policy names must be in {hierarchy.name}",
            found=first_cases(unknown),
            hint="a node's id is what `audit run` writes into restricted/nodes.parquet",
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


def _prediction_ledger(measured: Measurements) -> dict[str, Any] | None:
    if measured.model is None:
        return None
    predictions, policy = measured.model.predictions, measured.policy
    told = predictions.ledger
    return {
        "classes_read": told.classes_read,
        "classes_mapped": told.classes_mapped,
        "unknown_classes": len(told.unknown_classes),
        "instances_matched": told.instances_matched,
        "predictions_without_labels": told.instances_without_labels,
        "labels_without_predictions": told.instances_without_predictions,
        "set_valued": predictions.set_valued,
        "single_label": predictions.single_label,
        "confusion_threshold": policy.confusion_threshold.value,
        "decision_threshold": policy.decision_threshold.value,
    }


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
