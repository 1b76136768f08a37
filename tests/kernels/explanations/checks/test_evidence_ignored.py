"""evidence_ignored: the branch that was planted, the deepest or the widest that explains it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from audit.analyses.explanations.by_node import LEAST_CONCORDANCE
from audit.analyses.explanations.checks import EVIDENCE_IGNORED as CHECK
from audit.measure.measure import Measurements
from audit.results.findings import CheckResult, Finding
from fixtures.explained_releases import explained_release, measured_release, thirty_nodes

BODY = thirty_nodes()


@cache
def measured(seed: int, ignored: str = "", instances: int = 240) -> Measurements:
    attributions, dataset = explained_release(
        seed, hierarchy=BODY, ignored=ignored, instances=instances
    )
    return measured_release(attributions, dataset)


def standing(result: CheckResult) -> list[tuple[str, ...]]:
    return [finding.nodes for finding in result.standing]


@pytest.mark.parametrize("ignored", ["b", "d", "upper"])
def test_the_planted_branch_is_found_and_nothing_else(ignored: str) -> None:
    assert standing(CHECK.run(measured(1, ignored))) == [(ignored,)]


@pytest.mark.slow
def test_a_model_that_looks_at_all_evidence_has_no_finding() -> None:
    told = sum(bool(CHECK.run(measured(seed)).findings) for seed in range(20))
    assert told <= 1


def test_a_node_that_its_labels_explain_folds_them() -> None:
    result = CHECK.run(measured(1, "b", 480))
    folded = {finding.nodes[0]: finding.folded_into for finding in result.findings}
    assert folded.pop("b") == ()
    assert folded
    assert set(folded.values()) == {("evidence_ignored:m:b",)}


def finding() -> Finding:
    return CHECK.run(measured(1, "b")).standing[0]


def test_the_evidence_tells_the_effect_its_interval_and_what_could_be_seen() -> None:
    evidence = finding().evidence
    high = evidence["concordance_difference_high"]
    assert isinstance(high, float)
    assert high <= -LEAST_CONCORDANCE
    assert evidence["concordance"] < evidence["concordance_elsewhere"]
    methods = {part.nodes[0]: part.evidence["concordance"] for part in finding().parts}
    assert methods.keys() == {"first", "second"}


def test_the_cases_are_the_explained_instances_below_the_node() -> None:
    given = measured(1, "b")
    assert CHECK.cases is not None
    cases = CHECK.cases(given, finding())
    dataset = given.loaded.dataset
    below = {BODY.index(node) for node in BODY.descendants("b", with_self=True)}
    with_label = {
        int(instance)
        for instance, node in dataset.assertions.select("instance", "node").iter_rows()
        if node in below
    }
    assert set(cases.tolist()) <= with_label
    assert len(cases) == finding().evidence["instances"]


def test_without_evidence_it_does_not_apply() -> None:
    attributions, dataset = explained_release(1, hierarchy=BODY, instances=30)
    result = CHECK.run(measured_release(replace(attributions, evidence=None), dataset))
    assert result.not_applicable == "no human evidence was given"
