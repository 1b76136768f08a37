"""model_habit: labelling habits of the data that the model has learned or amplified."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from audit.alignment.measure import ModelMeasurements
from audit.base.dag import IntArray
from audit.checks.check import TOP_PARTS, Check, Limit, Outcome
from audit.checks.rules.model_confuses import answers_leaned_to
from audit.checks.rules.residual_overuse import standing_parents
from audit.disclosure import Quantity, count, derived
from audit.engine.pairs.amplified import Together, representatives
from audit.engine.statistics.fdr import benjamini_hochberg, threshold
from audit.hierarchies.relations import RELATIONS, relate
from audit.measure.measure import Measurements
from audit.measure.residual_use import residual_share
from audit.results.findings import (
    INSTANCES,
    SHARE,
    Column,
    Finding,
    Part,
    finding_id,
    share_evidence,
    times_limit,
)

_NAME = "model_habit"


def run(measured: Measurements) -> Outcome:
    """Report catch-alls that the model overuses like the data, and co-labelling that it amplifies.

    A parent whose residual share is reported for the data is reported if the share in the
    predictions is above the limit too. A pair of nodes of different branches that is frequent
    enough in the data is reported if the model predicts both together more often on the same
    instances; related pairs are folded into the one that represents them, and those with an answer
    that the model leans to stand aside, since they follow from that.
    """
    model = measured.model
    if model is None:
        return _result(0, (), "no predictions were given")
    parents, pairs = standing_parents(measured), _pairs_together(measured, model)
    findings = (*_residual(measured, model, parents), *_stronger(measured, model, pairs))
    looked_at = len(parents) + len(pairs)
    return _result(looked_at, findings, "" if looked_at else "the data has no such habit")


def _result(looked_at: int, findings: tuple[Finding, ...], why_not: str) -> Outcome:
    return Outcome(
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
    groups = (
        None
        if measured.loaded.group_of is None
        else measured.loaded.group_of[model.predictions.rows]
    )
    share = residual_share(predicted, only, groups)
    low, high = share.interval()
    if len(predicted) < policy.residual_instances.value or low <= policy.residual_share.value:
        return None
    k, n = int(in_data["k"]), int(in_data["n"])
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(hierarchy.nodes[parent],),
        statement=f"{hierarchy.describe(parent)}: the model answers nothing more specific than "
        '"other" or "unspecified" on {instances} of {of} instances ({share}). In the data '
        "[{data_instances} of {data_of} {data_instances|has|have} nothing more specific "
        "({data_share}): the model copies the habit//the number is withheld].",
        evidence={
            "instances": count(len(only), len(predicted)),
            "of": count(len(predicted), len(model.predictions)),
            "share": derived(share.value, "instances", "of"),
            "low": derived(low, "instances", "of"),
            "high": derived(high, "instances", "of"),
            "limit": Quantity(policy.residual_share.value),
            "data_instances": count(k, n),
            "data_of": count(n, measured.n_instances),
            "data_share": derived(k / n, "data_instances", "data_of"),
        },
        curator="Correct the labels before the next model is trained: it will repeat what they "
        "say.",
        data_user="Do not read a residual prediction as evidence against the specific nodes.",
        touched=len(only),
        beyond=times_limit(low, policy.residual_share.value),
    )


def _pairs_together(measured: Measurements, model: ModelMeasurements) -> Together:
    """Pairs of nodes of different branches that the data has together often enough."""
    pairs = model.carried.together(measured.policy.residual_instances.value)
    relation, _ = relate(measured.hierarchy, pairs.a, pairs.b)
    return pairs[relation == RELATIONS.index("cross_branch")]


def _stronger(
    measured: Measurements, model: ModelMeasurements, pairs: Together
) -> Iterator[Finding]:
    """The pairs that the model has more often; those that another reports are folded into it."""
    policy, closure = measured.policy, measured.hierarchy.closure
    ratio, rate = policy.habit_ratio.value, policy.false_discovery_rate.value
    p_value = pairs.p_value(ratio)
    limit = threshold(p_value, len(pairs), rate)
    passing = np.flatnonzero((p_value <= limit) & (limit > 0))
    q_value = benjamini_hochberg(p_value, len(pairs))[passing]
    found = pairs[passing]
    leaning = answers_leaned_to(measured)
    by = representatives(model.carried, found, closure, ratio=ratio, p=limit)
    for place in range(len(found)):
        others = found[np.flatnonzero((by == place) & (np.arange(len(found)) != place))]
        yield _stronger_finding(
            measured,
            model,
            found[np.array([place])],
            q_value=float(q_value[place]),
            family=len(pairs),
            parts=_parts(measured, model, others),
            into=_id(measured, found, int(by[place])) if by[place] != place else "",
            leaning=leaning,
        )


def _id(measured: Measurements, pairs: Together, place: int) -> str:
    nodes = measured.hierarchy.nodes
    return finding_id(_NAME, nodes[pairs.a[place]], nodes[pairs.b[place]])


def _parts(measured: Measurements, model: ModelMeasurements, others: Together) -> tuple[Part, ...]:
    """The pairs that a finding reports in addition to its own, those predicted most often first."""
    names, n = measured.hierarchy.nodes, len(model.predictions)
    first = others[np.lexsort((others.b, others.a, -others.predicted))[:TOP_PARTS]]
    lines = zip(first.a.tolist(), first.b.tolist(), first.predicted.tolist(), strict=True)
    return tuple(Part((names[a], names[b]), {"instances": count(k, n)}) for a, b, k in lines)


def _stronger_finding(
    measured: Measurements,
    model: ModelMeasurements,
    pair: Together,
    *,
    q_value: float,
    family: int,
    parts: tuple[Part, ...],
    into: str,
    leaning: frozenset[int],
) -> Finding:
    hierarchy, n = measured.hierarchy, len(model.predictions)
    ends = int(pair.a[0]), int(pair.b[0])
    labelled, predicted = int(pair.labelled[0]), int(pair.predicted[0])
    supports = (int(measured.support[end]) for end in ends)
    a, b = (hierarchy.describe(end) for end in ends)
    # counts of all instances are those that other findings state of the two nodes
    in_data = "data_instances" if n == measured.n_instances else "matched_instances"
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(hierarchy.nodes[ends[0]], hierarchy.nodes[ends[1]]),
        statement=f"{a} and {b} are predicted together on {{instances}} of {{of}} instances "
        f"({{share}})[, {{ratio}} times as often as labelled together ({{{in_data}}})//; how often "
        "they are labelled together is withheld].",
        evidence={
            **share_evidence(predicted, n),
            in_data: count(labelled, n, *supports),
            "data_share": derived(labelled / n, in_data),
            "ratio": derived(predicted / labelled, "instances", in_data),
            "q_value": derived(q_value, "instances", in_data),
            "family": Quantity(family),
        },
        curator="Look at 20 of these instances (audit cases --sample 20): where both are "
        "right, the labels leave one out; where one is wrong, the model adds it by habit.",
        data_user="Do not read one of the two as evidence for the other.",
        touched=predicted,
        strength=float(pair.strength[0]) / predicted,
        beyond=times_limit(predicted / labelled, measured.policy.habit_ratio.value),
        parts=parts,
        folded_into=(into,) if into else (),
        aside=not leaning.isdisjoint(ends),
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances predicted only residual nodes below the parent, or both nodes of the pair."""
    if measured.model is None:
        return np.empty(0, np.int64)
    nodes = [measured.hierarchy.index(node) for node in finding.nodes]
    if len(nodes) == 1:
        predicted = measured.predicted_below.only_residual(*nodes)
    else:
        _, predicted = measured.model.carried.met(*nodes)
    return np.sort(measured.model.predictions.rows[predicted])


CHECK = Check(
    _NAME,
    "Does the model copy the data's habits of labelling?",
    run,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    counts_with=("residual_share", "residual_instances", "habit_ratio"),
    needs="instances",
    cases=cases,
    columns=(
        Column("Node", "node"),
        SHARE,
        Column("In the data", "data_share"),
        INSTANCES,
    ),
)
