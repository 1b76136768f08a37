"""model_habit: habits of those who label that the model has learned, or made stronger."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import coo_array, csc_array, csr_array, triu

from audit.checks.check import Check, Limit
from audit.checks.residual_overuse import standing_parents
from audit.dag import IntArray, Sparse
from audit.disclosure import Quantity, count, derived
from audit.hierarchy import RELATIONS
from audit.measure import Measurements
from audit.measure_model import ModelMeasurements
from audit.residual_use import residual_share
from audit.result import CheckResult, Finding

_NAME = "model_habit"
_TITLE = "Has the model learned the data's habits?"


def run(measured: Measurements) -> CheckResult:
    """Report catch-alls that the model uses as the data does, and co-labelling it makes stronger.

    A parent whose residual share is reported in the data is reported where the predictions' share
    is above the limit too. A pair of labels of different branches that the data has together often
    enough is reported where the model has it together more often, on the same instances.
    """
    model = measured.model
    if model is None:
        return _result(0, (), "no predictions were given")
    parents, pairs = standing_parents(measured), _pairs_together(measured, model)
    findings = (*_residual(measured, model, parents), *_stronger(measured, model, pairs))
    looked_at = len(parents) + len(pairs)
    return _result(looked_at, findings, "" if looked_at else "the data has no such habit")


def _result(looked_at: int, findings: tuple[Finding, ...], why_not: str) -> CheckResult:
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=looked_at,
        denominator_unit="parents with a high residual share, and pairs across branches, "
        "in the data",
        findings=findings,
        not_applicable=why_not,
    )


def _residual(
    measured: Measurements, model: ModelMeasurements, parents: dict[int, dict[str, Any]]
) -> Iterator[Finding]:
    for parent, in_data in parents.items():
        finding = _residual_finding(measured, model, parent, in_data)
        if finding is not None:
            yield finding


def _residual_finding(
    measured: Measurements,
    model: ModelMeasurements,
    parent: int,
    in_data: dict[str, Any],
) -> Finding | None:
    hierarchy, policy = measured.hierarchy, measured.policy
    below = measured.predicted_below
    predicted, only = below.labelled(parent), below.only_residual(parent)
    groups = None if measured.group_of is None else measured.group_of[model.predictions.rows]
    share = residual_share(predicted, only, groups)
    low, high = share.interval()
    if len(predicted) < policy.residual_instances.value or low <= policy.residual_share.value:
        return None
    k, n = int(in_data["k"]), int(in_data["n"])
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(hierarchy.nodes[parent],),
        statement=f"Below {hierarchy.describe(parent)}, the model predicts only residual nodes on "
        "{instances} of {of} instances ({share}); the data labels {data_instances} of {data_of} so "
        "({data_share}). The model has learned the data’s habit.",
        evidence={
            "instances": count(len(only), len(predicted)),
            "of": count(len(predicted), len(model.predictions)),
            "share": derived(share.value, "instances", "of"),
            "low": derived(low, "instances", "of"),
            "high": derived(high, "instances", "of"),
            "limit": Quantity(policy.residual_share.value),
            "data_instances": count(k, n),
            "data_of": count(n, len(measured.dataset)),
            "data_share": derived(k / n, "data_instances", "data_of"),
        },
        curator="Mend the labels before the next model is trained: it repeats what they say.",
        data_user="Do not read a residual prediction as evidence against the specific nodes.",
        touched=len(only),
    )


def _pairs_together(measured: Measurements, model: ModelMeasurements) -> pl.DataFrame:
    """``a, b`` (indices) and ``joint`` of labels of different branches, often enough together."""
    joint = _together(model.gold)
    enough = joint.data >= measured.policy.residual_instances.value
    a, b = joint.row[enough].astype(np.int64), joint.col[enough].astype(np.int64)
    relation, _ = measured.hierarchy.relate(a, b)
    across = relation == RELATIONS.index("cross_branch")
    return pl.DataFrame({"a": a[across], "b": b[across], "joint": joint.data[enough][across]})


def _together(labels: Sparse) -> coo_array:
    return coo_array(triu(csr_array(labels.T @ labels), k=1))


def _stronger(
    measured: Measurements, model: ModelMeasurements, pairs: pl.DataFrame
) -> Iterator[Finding]:
    """One-sided sign test on the instances where data and model differ about a pair."""
    from scipy.stats import binom, false_discovery_control

    if pairs.is_empty():
        return
    gold, decided = csc_array(model.gold), csc_array(model.decided)
    in_data = [_with_both(gold, a, b) for a, b in pairs.select("a", "b").iter_rows()]
    in_model = [_with_both(decided, a, b) for a, b in pairs.select("a", "b").iter_rows()]
    kept = np.array(
        [len(np.intersect1d(x, y)) for x, y in zip(in_data, in_model, strict=True)], np.int64
    )
    joint = np.array([len(x) for x in in_data], np.int64)
    predicted = np.array([len(y) for y in in_model], np.int64)
    added, dropped = predicted - kept, joint - kept
    p = np.where(added > 0, binom.sf(added - 1, added + dropped, 0.5), 1.0)
    q = false_discovery_control(p)
    policy = measured.policy
    stronger = (q <= policy.false_discovery_rate.value) & (
        predicted >= policy.habit_ratio.value * joint
    )
    for i in np.flatnonzero(stronger).tolist():
        a, b, _ = pairs.row(i)
        yield _stronger_finding(
            measured, model, (a, b), int(joint[i]), int(predicted[i]), float(q[i]), len(pairs)
        )


def _with_both(labels: csc_array, a: int, b: int) -> IntArray:
    first, second = (labels.indices[labels.indptr[i] : labels.indptr[i + 1]] for i in (a, b))
    return np.intersect1d(first, second).astype(np.int64)


def _stronger_finding(
    measured: Measurements,
    model: ModelMeasurements,
    pair: tuple[int, int],
    joint: int,
    predicted: int,
    q_value: float,
    family: int,
) -> Finding:
    hierarchy, n = measured.hierarchy, len(model.predictions)
    a, b = (hierarchy.describe(i) for i in pair)
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(hierarchy.nodes[pair[0]], hierarchy.nodes[pair[1]]),
        statement=f"{a} and {b}, of different branches, are predicted together on {{instances}} of "
        "{of} instances ({share}) and labelled together on {data_instances} ({data_share})[: the "
        "model has made the data’s habit {ratio} times as strong].",
        evidence={
            "instances": count(predicted, n),
            "of": Quantity(n),
            "share": derived(predicted / n, "instances"),
            "data_instances": count(joint, n),
            "data_share": derived(joint / n, "data_instances"),
            "ratio": derived(predicted / joint, "instances", "data_instances"),
            "q_value": derived(q_value, "instances", "data_instances"),
            "family": Quantity(family),
        },
        curator="Decide whether the two belong together, and label both or neither consistently.",
        data_user="Do not take one of the two as evidence for the other.",
        touched=predicted,
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances predicted only residual nodes below the parent, or both nodes of the pair."""
    if measured.model is None:
        return np.empty(0, np.int64)
    nodes = [measured.hierarchy.index(node) for node in finding.nodes]
    if len(nodes) == 1:
        predicted = measured.predicted_below.only_residual(*nodes)
    else:
        predicted = _with_both(csc_array(measured.model.decided), *nodes)
    return np.sort(measured.model.predictions.rows[predicted])


CHECK = Check(
    _NAME,
    _TITLE,
    run,
    limits=(
        Limit("ratio", ">=", "habit_ratio"),
        Limit("q_value", "<=", "false_discovery_rate"),
    ),
    counts_with=("residual_share", "residual_instances"),
    cases=cases,
)
