"""Pairs and exchanges of a model, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from audit.alignment.measure import ModelMeasurements, measure_model
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from fixtures.labelled import labelled, repeated, tree
from fixtures.predicted import predicted

LABELS = {"a": ["dog"], "b": ["cow"], "c": ["tool"], "d": ["bird"], "e": []}


SCORES = {
    "a": {"dog": 0.75, "cow": 0.25},
    "b": {"cow": 0.5, "dog": 0.5},
    "c": {"tool": 1.0, "dog": 1e-7},
    "e": {"bird": 0.4},
}


def policy(**thresholds: float) -> Policy:
    return Policy(**{name: Threshold(value=v, reason="So.") for name, v in thresholds.items()})


def measured(
    hierarchy: Hierarchy, *, stated: Policy | None = None, seed: int = 0, **options: bool
) -> ModelMeasurements:
    dataset = labelled(hierarchy, LABELS)
    return measure_model(
        dataset, predicted(dataset, SCORES, **options), stated or Policy(), seed=seed
    )


def row(found: ModelMeasurements, a: str, b: str) -> dict[str, object]:
    rows = found.pairs.frame.filter((pl.col("a") == a) & (pl.col("b") == b)).collect()
    return rows.row(0, named=True) if len(rows) else {}


def test_a_pair_is_worked_out_by_hand(toy_hierarchy: Hierarchy) -> None:
    found = row(measured(toy_hierarchy), "cow", "dog")
    quarter = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))

    assert (found["joint"], found["support_a"], found["support_b"]) == (2, 2, 2)
    assert found["rate"] == 2 / 4
    assert found["confusion"] == pytest.approx((1 + quarter) / 4, rel=1e-12)
    assert found["co_predicted"] == 1


def test_gold_and_decisions_are_of_the_same_instances(toy_hierarchy: Hierarchy) -> None:
    found = measured(toy_hierarchy, single_label=True)
    nodes = np.array(toy_hierarchy.nodes)

    assert found.predictions.instances == ("a", "b", "c", "e")
    assert [nodes[line > 0].tolist() for line in found.gold.toarray()] == [
        ["dog"], ["cow"], ["tool"], [],
    ]  # fmt: skip
    assert [nodes[line > 0].tolist() for line in found.decided.toarray()] == [
        ["dog"], ["cow"], ["tool"], ["bird"],
    ]  # fmt: skip


def test_the_confusion_threshold_is_the_policy_s(toy_hierarchy: Hierarchy) -> None:
    low = measured(toy_hierarchy, stated=policy(confusion_threshold=1e-8))

    assert row(measured(toy_hierarchy), "dog", "tool") == {}
    assert row(low, "dog", "tool")["joint"] == 1
    assert row(low, "dog", "tool")["support_a"] == 3


def test_the_decision_threshold_is_the_policy_s(toy_hierarchy: Hierarchy) -> None:
    low = measured(toy_hierarchy, stated=policy(decision_threshold=0.25))

    assert row(low, "cow", "dog")["co_predicted"] == 2


SETS = {"a": {"dog": 1.0, "cow": 1.0}, "b": {"cow": 1.0}, "c": {"tool": 1.0, "dog": 1.0}}


def of_sets(hierarchy: Hierarchy) -> ModelMeasurements:
    dataset = labelled(hierarchy, LABELS)
    return measure_model(dataset, predicted(dataset, SETS, set_valued=True), Policy(), seed=0)


def test_of_sets_the_joint_count_is_what_is_predicted_together(toy_hierarchy: Hierarchy) -> None:
    pairs = of_sets(toy_hierarchy).pairs.frame.collect()

    assert pairs["joint"].to_list() == pairs["co_predicted"].to_list()
    assert row(of_sets(toy_hierarchy), "dog", "mammal")["joint"] == 2


def test_groups_are_resampled_as_a_whole(toy_hierarchy: Hierarchy) -> None:
    labels = repeated([(40, ["dog"]), (40, ["cow"])])
    scores = {name: {"dog": 1.0} for name in labels}
    widths = []
    for groups in (None, {name: str(number % 4) for number, name in enumerate(labels)}):
        dataset = labelled(toy_hierarchy, labels, groups=groups)
        model = predicted(dataset, scores)
        metrics = measure_model(dataset, model, Policy(), seed=0).metrics
        (top,) = [
            m for m in metrics
            if m["name"] == "accuracy" and m["scope"] == "all" and m["parameters"]["depth_to"] == 3
        ]  # fmt: skip
        widths.append(top["high"] - top["low"])

    assert widths[0] != widths[1]


WORLD = tree("animal plant tool < top", "cat dog < animal", "oak elm < plant", "saw < tool")


SAID = (
    (200, "cat", "cat"), (200, "oak", "oak"), (200, "saw", "saw"), (200, "dog", "dog"),
    (60, "cat", "oak"), (20, "elm", "dog"), (4, "saw", "dog"), (30, "saw", "elm"),
    (15, "cat", "dog"), (3, "elm", "oak"), (9, "saw", "oak"), (25, "oak", "saw"),
)  # fmt: skip


def audited(
    min_cell: int, said: tuple[tuple[int, str, str], ...] = SAID, *, one_answer: bool = False
) -> AuditResult:
    each = [(label, answer) for times, label, answer in said for _ in range(times)]
    dataset = labelled(WORLD, {f"i{n:04}": [label] for n, (label, _) in enumerate(each)})
    scores = {f"i{n:04}": {answer: 1.0} for n, (_, answer) in enumerate(each)}
    model = predicted(dataset, scores, single_label=one_answer)
    return run_audit(dataset, Policy(min_cell=min_cell), predictions=model)


def test_exchanges_are_listed_as_findings_tell_them() -> None:
    """The largest excess first."""
    shared = audited(1).shared()
    exact = shared["overview"]["exchanged_pairs"]
    findings = [
        finding
        for check in shared["checks"]
        if check["name"] == "model_confuses"
        for finding in check["findings"]
    ]
    by_pair = {(row["a"], row["b"]): row for row in exact}

    assert [row["excess"] for row in exact] == sorted((r["excess"] for r in exact), reverse=True)
    assert {row["counted"] for row in exact} == {60, 20, 4, 30, 15, 3, 34}
    assert {pair for pair, row in by_pair.items() if row["passes"]} == {
        tuple(node["id"] for node in finding["nodes"]) for finding in findings
    }
    for finding in findings:
        a, b = (node["id"] for node in finding["nodes"])
        assert by_pair[a, b]["counted"] == finding["evidence"]["instances"]
        assert by_pair[a, b]["expected"] == finding["evidence"]["expected_exchanges"]


def test_answers_given_falsely_are_listed() -> None:
    said = (*SAID, (40, "saw", "oak"), (40, "dog", "oak"))
    (exact,) = audited(1, said).shared()["overview"]["answers"]

    assert (exact["node"], exact["falsely"], exact["missed"]) == ("oak", 60 + 3 + 9 + 80, 25)
    assert (exact["hits"], exact["answers"], exact["labelled"]) == (200, 352, 225)
    assert exact["share"] == 152 / 352
