"""concept_entangled: two labels that look alike are told once, with what layers and answers say."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from audit.checks.concepts.concept_entangled import CHECK
from fixtures.represented_releases import measured_with


def test_two_labels_that_look_alike_are_told_once() -> None:
    (finding,) = CHECK.run(measured_with(entangled=("a0", "a3"))).findings
    assert set(finding.nodes) == {"a0", "a3"}
    assert finding.evidence["separable"].value < 0.75
    assert "No layer separates them" in finding.statement
    assert "The model’s answers" not in finding.statement


def test_a_layer_that_separates_them_is_named() -> None:
    measured = measured_with(entangled=("a0", "a3"))
    nodes = measured.tested.nodes.with_columns(
        best_layer=pl.lit("first"), best_separable=pl.lit(0.97)
    )
    better = replace(measured, concepts=replace(measured.tested, nodes=nodes))
    (finding,) = CHECK.run(better).findings
    assert "The layer first separates them: {best_separable}." in finding.statement


def test_answers_that_take_one_for_the_other_are_told() -> None:
    (finding,) = CHECK.run(measured_with(entangled=("a0", "a1"), unused="a0")).findings
    taken = {finding.evidence[name].value for name in ("taken_for_sibling", "sibling_taken_for_it")}
    assert taken == {40, 0}
    assert "{taken_for_sibling} instances" in finding.statement


def test_of_a_model_that_holds_every_concept_nothing_is_told() -> None:
    result = CHECK.run(measured_with())
    assert (result.findings, result.status) == ((), "pass")
