"""What is measured of a model: pairs, behaviours, and what becomes of instances without scores."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from audit.alignment.measure import ModelMeasurements, measure_model
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.results.metric_list import METRICS
from fixtures.labelled import labelled, repeated
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


def test_pairs_have_the_columns_of_the_data_s_pairs_and_co_predicted(
    toy_hierarchy: Hierarchy,
) -> None:
    schema = measured(toy_hierarchy).pairs.frame.collect_schema()

    text, whole, real = pl.String(), pl.Int64(), pl.Float64()
    assert list(schema.items()) == [
        ("a", text), ("b", text), ("support_a", whole), ("support_b", whole), ("joint", whole),
        ("joint_entailed", whole), ("rate", real), ("confusion", real), ("expected", real),
        ("lift", real), ("observed", real), ("expected_length", real), ("ratio", real),
        ("p_value", real), ("q_value", real), ("explained", real), ("effective", real),
        ("shrunk_ratio", real), ("ratio_low", real), ("ratio_high", real), ("groups", whole),
        ("found_rank", whole), ("group_sum", real), ("group_squares", real),
        ("relation", text), ("lca", text), ("co_predicted", whole),
        ("confusion_low", real), ("confusion_high", real),
    ]  # fmt: skip


def test_a_pair_is_worked_out_by_hand(toy_hierarchy: Hierarchy) -> None:
    found = row(measured(toy_hierarchy), "cow", "dog")
    quarter = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))

    assert (found["joint"], found["support_a"], found["support_b"]) == (2, 2, 2)
    assert found["rate"] == 2 / 4
    assert found["confusion"] == pytest.approx((1 + quarter) / 4, rel=1e-12)
    assert found["co_predicted"] == 1


def test_scores_are_aggregated_before_they_are_confused(toy_hierarchy: Hierarchy) -> None:
    found = row(measured(toy_hierarchy), "mammal", "pet")
    total = 1 + 0.75

    assert found["joint"] == 2
    expected = [0.75 / total, 0.5 / 1.5]
    bits = sum(-(p * math.log2(p) + (1 - p) * math.log2(1 - p)) for p in expected)
    assert found["confusion"] == pytest.approx(bits / 4, rel=1e-12)


def test_the_number_of_instances_is_that_of_the_predictions(toy_hierarchy: Hierarchy) -> None:
    found = measured(toy_hierarchy)

    assert found.gold.shape == found.decided.shape == (4, len(toy_hierarchy))
    assert row(found, "object", "tool")["rate"] == 1 / 4


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


def test_measuring_leaves_the_predictions_as_they_are(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, LABELS)
    predictions = predicted(dataset, SCORES)
    before = predictions.scores.toarray()
    measure_model(dataset, predictions, Policy(), seed=0)

    assert (predictions.scores.toarray() == before).all()


def test_the_confusion_threshold_is_the_policy_s(toy_hierarchy: Hierarchy) -> None:
    low = measured(toy_hierarchy, stated=policy(confusion_threshold=1e-8))

    assert row(measured(toy_hierarchy), "dog", "tool") == {}
    assert row(low, "dog", "tool")["joint"] == 1
    assert row(low, "dog", "tool")["support_a"] == 3


def test_the_decision_threshold_is_the_policy_s(toy_hierarchy: Hierarchy) -> None:
    low = measured(toy_hierarchy, stated=policy(decision_threshold=0.25))

    assert row(low, "cow", "dog")["co_predicted"] == 2


def test_one_answer_puts_no_two_leaves_together(toy_hierarchy: Hierarchy) -> None:
    found = measured(toy_hierarchy, single_label=True)

    assert row(found, "cow", "dog")["co_predicted"] == 0
    assert row(found, "dog", "pet")["co_predicted"] == 1


SETS = {"a": {"dog": 1.0, "cow": 1.0}, "b": {"cow": 1.0}, "c": {"tool": 1.0, "dog": 1.0}}


def of_sets(hierarchy: Hierarchy) -> ModelMeasurements:
    dataset = labelled(hierarchy, LABELS)
    return measure_model(dataset, predicted(dataset, SETS, set_valued=True), Policy(), seed=0)


def test_of_sets_the_joint_count_is_what_is_predicted_together(toy_hierarchy: Hierarchy) -> None:
    pairs = of_sets(toy_hierarchy).pairs.frame.collect()

    assert pairs["joint"].to_list() == pairs["co_predicted"].to_list()
    assert row(of_sets(toy_hierarchy), "dog", "mammal")["joint"] == 2


def test_of_sets_what_needs_scores_is_absent_with_its_reason(toy_hierarchy: Hierarchy) -> None:
    found = of_sets(toy_hierarchy)
    absent = {line["name"]: line["reason"] for line in found.metrics_absent}

    assert found.behaviours == ()
    assert {"uncertainty_alignment", "abstraction_match", "accuracy"} <= set(absent)
    assert all(absent.values())
    assert {metric["name"] for metric in found.metrics}.isdisjoint(absent)


def test_a_metric_is_measured_or_absent(toy_hierarchy: Hierarchy) -> None:
    found = measured(toy_hierarchy, single_label=True)
    names = {m["name"] for m in found.metrics} | {m["name"] for m in found.metrics_absent}

    assert names == {metric.name for metric in METRICS}


def test_behaviours_count_instances(toy_hierarchy: Hierarchy) -> None:
    labels = repeated([(9, ["dog"])])
    dataset = labelled(toy_hierarchy, labels)
    scores = {instance: {"dog": 1.0} for instance in labels}
    found = measure_model(dataset, predicted(dataset, scores), Policy(), seed=0)
    told = {behaviour["name"]: behaviour for behaviour in found.behaviours}["confident"]

    assert (told["instances"], told["of"]) == (9, 9)
    assert 0.6 < told["low"] < told["high"] <= 1


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


def test_the_seed_moves_intervals_and_no_value(toy_hierarchy: Hierarchy) -> None:
    first, again, other = (
        measured(toy_hierarchy, seed=seed, single_label=True) for seed in (0, 0, 1)
    )

    assert first.metrics == again.metrics
    assert [m["value"] for m in other.metrics] == [m["value"] for m in first.metrics]
    assert [m["low"] for m in other.metrics] != [m["low"] for m in first.metrics]
