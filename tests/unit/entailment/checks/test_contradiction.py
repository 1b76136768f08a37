"""contradiction: an edge with two answers is told, and nothing else."""

from __future__ import annotations

from audit.base.plurals import filled
from audit.entailment.analysis import Entailment
from audit.entailment.checks.graph_checks import CONTRADICTION as CHECK
from audit.entailment.dataset import HYPERNYM, NOUN
from fixtures.entailed_release import measured_tuples, stated
from fixtures.entailment_world.faults import contradiction
from fixtures.entailment_world.world import clean_world

CLEAN = clean_world(7)


def test_a_clean_world_passes() -> None:
    assert CHECK.run(measured_tuples(CLEAN)).status == "pass"


def test_a_planted_contradiction_is_told_and_no_other_check_tells_anything() -> None:
    planted = contradiction(CLEAN)
    measured = measured_tuples(planted.dataset)
    (finding,) = [f for check in Entailment.checks for f in check.run(measured).findings]

    assert (finding.check, finding.severity) == ("contradiction", "warning")
    assert finding.nodes == (NOUN,)
    assert " → ".join(f"“{word}”" for word in planted.words) in finding.statement
    assert finding.evidence["edges"].value == 1


def test_its_cases_are_all_tuples_that_state_the_edge() -> None:
    planted = contradiction(CLEAN)
    measured = measured_tuples(planted.dataset)
    (finding,) = CHECK.run(measured).findings
    child, parent = planted.words
    edge = planted.dataset.tuples.filter(relation=NOUN, instance=child, concept=parent)
    assert CHECK.cases is not None
    ids = measured.loaded.dataset.instances["instance"]

    assert ids.gather(CHECK.cases(measured, finding)).to_list() == edge["id"].sort().to_list()


def test_answers_under_different_heads_are_a_note() -> None:
    rows = [("g", NOUN, "a", "b", True), ("h", NOUN, "a", "b", False), ("h", NOUN, "a", "c", True)]
    (finding,) = CHECK.run(measured_tuples(stated(rows))).findings
    shown = filled(finding.statement, {k: v.value for k, v in finding.evidence.items()})

    assert finding.severity == "note"
    assert shown.startswith(
        "1 of 2 edges of Noun-Entail (50.0%) has answers that contradict each other"
    )
    assert "under different heads" in shown


def test_one_head_and_several_are_told_apart() -> None:
    rows = [
        ("h", NOUN, "a", "b", True), ("h", NOUN, "a", "b", False),
        ("g", NOUN, "c", "d", True), ("h", NOUN, "c", "d", False),
    ]  # fmt: skip
    findings = CHECK.run(measured_tuples(stated(rows))).findings

    assert [(f.severity, f.key[1], f.touched) for f in findings] == [
        ("warning", "one context", 2),
        ("note", "across contexts", 2),
    ]


def test_an_edge_that_is_denied_within_a_cycle_is_one() -> None:
    edges = [("a", "b", True), ("b", "c", True), ("c", "a", True), ("a", "c", False)]
    (finding,) = CHECK.run(
        measured_tuples(stated((a, HYPERNYM, a, b, valid) for a, b, valid in edges))
    ).findings

    assert "“a” → “c” is invalid, though both lie on a cycle of valid edges" in finding.statement


def test_without_edges_it_does_not_apply() -> None:
    result = CHECK.run(measured_tuples(stated([("a", HYPERNYM, "a", "a", True)])))

    assert result.not_applicable == "no tuple states an edge"
