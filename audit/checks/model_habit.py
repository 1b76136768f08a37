"""model_habit: habits of those who label that the model has learned."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from audit.checks.check import Check
from audit.disclosure import Quantity, count, derived
from audit.engine.below import LabelsBelow, labels_below
from audit.measure import Measurements, residual_share
from audit.measure_model import ModelMeasurements
from audit.result import CheckResult, Finding

_NAME = "model_habit"
_TITLE = "Has the model learned to use catch-all nodes as the data does?"


def run(measured: Measurements) -> CheckResult:
    """Report parents whose residual share is high in the data and in the predictions alike.

    The data's share is judged as `residual_overuse` judges it, and the model's beside it on the
    instances that are predicted to have a label below the parent.
    """
    high = _high_in_data(measured)
    model = measured.model
    findings = () if model is None else tuple(_findings(measured, model, high))
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=len(high),
        denominator_unit="parents with a high residual share in the data",
        findings=findings,
        not_applicable=_why_not(model, high),
    )


def _why_not(model: ModelMeasurements | None, high: pl.DataFrame) -> str:
    if model is None:
        return "no predictions were given"
    return "" if len(high) else "no parent has a high residual share in the data"


def _high_in_data(measured: Measurements) -> pl.DataFrame:
    policy = measured.policy
    return measured.residuals.filter(
        (pl.col("residual") == "all")
        & (pl.col("n") >= policy.residual_instances.value)
        & (pl.col("low") > policy.residual_share.value)
    )


def _findings(
    measured: Measurements, model: ModelMeasurements, high: pl.DataFrame
) -> Iterator[Finding]:
    residual = np.array(sorted(measured.residual), np.int64)
    below = labels_below(model.decided, measured.hierarchy.strict_closure, residual)
    for row in high.iter_rows(named=True):
        finding = _finding(measured, model, below, row)
        if finding is not None:
            yield finding


def _finding(
    measured: Measurements, model: ModelMeasurements, below: LabelsBelow, row: dict[str, float]
) -> Finding | None:
    hierarchy, policy = measured.hierarchy, measured.policy
    parent = hierarchy.index(str(row["parent"]))
    predicted, only = below.labelled(parent), below.only_residual(parent)
    groups = measured.group_of
    of_model = None if groups is None else groups[model.predictions.rows]
    share, low, high = residual_share(predicted, only, of_model)
    if len(predicted) < policy.residual_instances.value or low <= policy.residual_share.value:
        return None
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(hierarchy.nodes[parent],),
        statement=f"Below {hierarchy.describe(parent)}, the model predicts only residual nodes on "
        "{instances} of {of} instances ({share}); the data labels so {data_share}. The model has "
        "learned the data's habit.",
        evidence={
            "instances": count(len(only), len(predicted)),
            "of": count(len(predicted), len(model.predictions)),
            "share": derived(share, "instances", "of"),
            "low": derived(low, "instances", "of"),
            "high": derived(high, "instances", "of"),
            "limit": Quantity(policy.residual_share.value),
            "data_instances": count(int(row["k"]), int(row["n"])),
            "data_of": count(int(row["n"]), len(measured.dataset)),
            "data_share": derived(row["share"], "data_instances", "data_of"),
        },
        curator="Mend the labels before the next model is trained: it repeats what they say.",
        data_user="Do not read a residual prediction as evidence against the specific nodes.",
        touched=len(only),
    )


CHECK = Check(_NAME, _TITLE, run)
