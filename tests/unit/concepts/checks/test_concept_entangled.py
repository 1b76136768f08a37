"""concept_entangled: two labels that look alike are told once, with what layers and answers say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pytest

from audit.alignment.measure import measure_model
from audit.checks.rules.model_confuses import CHECK as MODEL_CONFUSES
from audit.concepts.checks import ENTANGLED as CHECK
from audit.concepts.measurements import ConceptMeasurements
from audit.measure.measure import Measurements
from fixtures.predicted import predicted
from fixtures.represented_releases import measured_with

pytestmark = pytest.mark.slow


def test_two_labels_that_look_alike_are_told_once() -> None:
    (finding,) = CHECK.run(measured_with(entangled=("a0", "a3"))).findings
    assert set(finding.nodes) == {"a0", "a3"}
    assert finding.evidence["separable"].value < 0.75
    assert "No layer separates them" in finding.statement
    assert "The model’s answers" not in finding.statement


def test_a_layer_that_separates_them_is_named() -> None:
    measured = measured_with(entangled=("a0", "a3"))
    nodes = measured.of(ConceptMeasurements).nodes.with_columns(
        best_layer=pl.lit("first"), best_separable=pl.lit(0.97)
    )
    better = replace(measured, analyses=(replace(measured.of(ConceptMeasurements), nodes=nodes),))
    (finding,) = CHECK.run(better).findings
    assert "The layer “first” separates them[: {best_separable}]." in finding.statement


def test_answers_that_take_one_for_the_other_are_told() -> None:
    (finding,) = CHECK.run(measured_with(entangled=("a0", "a1"), unused="a0")).findings
    taken = {finding.evidence[name].value for name in ("taken_for_sibling", "sibling_taken_for_it")}
    assert taken == {40, 0}
    assert "as they come with the representations, have the second in" in finding.statement
    assert "{taken_for_sibling} instances" in finding.statement


def exchanging(measured: Measurements, pairs: Mapping[str, str]) -> Measurements:
    """With predictions of a run that exchange labels on half of their instances."""
    dataset, policy = measured.loaded.dataset, measured.policy
    scores: dict[str, dict[str, float]] = {}
    for place, one in enumerate(dataset.instances["instance"]):
        label = dataset.hierarchy.nodes[dataset.direct[[place]].indices[0]]
        other = pairs.get(label, label)
        # every eighth answer is any label, so that mistakes are among many of them
        strayed = f"{'abc'[place // 8 % 3]}{place // 24 % 4}" if place % 8 == 0 else label
        scores[one] = {other if place % 2 else strayed: 1.0}
    model = measure_model(dataset, predicted(dataset, scores), policy, seed=0)
    return replace(measured, model=model)


def test_the_pair_that_the_run_confuses_too_is_named() -> None:
    measured = exchanging(measured_with(entangled=("a0", "a3")), {"a0": "a3", "a3": "a0"})
    (finding,) = CHECK.run(measured).findings
    assert [one.nodes for one in MODEL_CONFUSES.run(measured).findings] == [("a0", "a3")]
    assert finding.statement.endswith(
        " At a false discovery rate of 0.05, the check model_confuses reports the same two: "
        "model_confuses:a0:a3."
    )
    assert finding.evidence["confused_pairs"].value == 1


@pytest.mark.parametrize(("node", "sibling"), [("a", "b"), ("b", "a")])
def test_of_nodes_with_labels_below_them_the_confused_labels_are_counted(
    node: str, sibling: str
) -> None:
    """The branches a and b are made to be entangled; two labels of each are exchanged."""
    swapped = {"a1": "b1", "b1": "a1", "a2": "b2", "b2": "a2", "c0": "c1", "c1": "c0"}
    measured = exchanging(measured_with(), swapped)
    row = pl.col("node") == node
    changed = {"sibling": sibling, "state": "entangled", "entangled_q": 0.001}
    nodes = measured.of(ConceptMeasurements).nodes.with_columns(
        pl.when(row).then(pl.lit(value)).otherwise(name).alias(name)
        for name, value in changed.items()
    )
    mixed = replace(measured, analyses=(replace(measured.of(ConceptMeasurements), nodes=nodes),))
    (finding,) = CHECK.run(mixed).findings
    reported = {finding.id for finding in MODEL_CONFUSES.run(measured).findings}
    assert reported == {"model_confuses:a1:b1", "model_confuses:a2:b2", "model_confuses:c0:c1"}
    assert finding.evidence["confused_pairs"].value == 2
    assert "reports {confused_pairs} pairs of labels below the two, first" in finding.statement
    assert "model_confuses:c0" not in finding.statement


def test_without_predictions_of_the_run_nothing_is_said_of_pairs() -> None:
    (finding,) = CHECK.run(measured_with(entangled=("a0", "a3"))).findings
    assert "confused_pairs" not in finding.evidence
    assert "model_confuses" not in finding.statement


def test_of_a_model_that_holds_every_concept_nothing_is_told() -> None:
    result = CHECK.run(measured_with())
    assert (result.findings, result.status) == ((), "pass")
