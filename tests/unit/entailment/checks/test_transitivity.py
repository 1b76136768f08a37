"""transitivity: a denied edge that follows from two valid ones is told, and nothing else."""

from __future__ import annotations

from audit.entailment.analysis import Entailment
from audit.entailment.checks.graph_checks import TRANSITIVITY as CHECK
from audit.entailment.dataset import HYPERNYM, NOUN
from fixtures.entailed_release import measured_tuples, stated
from fixtures.entailment_world.faults import transitivity
from fixtures.entailment_world.world import clean_world

CLEAN = clean_world(7)


def test_a_clean_world_passes_though_its_chains_are_open() -> None:
    result = CHECK.run(measured_tuples(CLEAN))

    assert result.status == "pass"
    assert result.denominator > 0


def test_a_planted_violation_is_told_and_no_other_check_tells_anything() -> None:
    planted = transitivity(CLEAN)
    measured = measured_tuples(planted.dataset)
    (finding,) = [f for check in Entailment.checks for f in check.run(measured).findings]

    assert (finding.check, finding.severity) == ("transitivity", "note")
    assert " → ".join(f"“{word}”" for word in planted.words) in finding.statement
    assert finding.evidence["edges"].value == 1


def test_its_cases_are_the_tuples_of_the_three_edges() -> None:
    planted = transitivity(CLEAN)
    measured = measured_tuples(planted.dataset)
    (finding,) = CHECK.run(measured).findings
    a, b, c = planted.words
    expected = sorted(
        row["id"]
        for row in planted.dataset.tuples.filter(relation=NOUN).to_dicts()
        if (row["instance"], row["concept"]) in {(a, b), (b, c), (a, c)}
    )
    assert CHECK.cases is not None
    ids = measured.loaded.dataset.instances["instance"]

    assert ids.gather(CHECK.cases(measured, finding)).to_list() == expected
    assert finding.touched == len(expected)


def test_under_one_head_it_is_a_warning_that_counts_what_is_open() -> None:
    edges = [("a", "b", True), ("b", "c", True), ("a", "c", False), ("c", "d", True)]
    rows = [("h", NOUN, a, b, valid) for a, b, valid in edges]
    (finding,) = CHECK.run(measured_tuples(stated(rows))).findings

    assert finding.severity == "warning"
    assert "(under “h”)" in finding.statement
    assert (finding.evidence["chains"].value, finding.evidence["open"].value) == (2, 1)


def test_an_edge_that_is_stated_as_valid_too_is_no_violation() -> None:
    edges = [("a", "b", True), ("b", "c", True), ("a", "c", False), ("a", "c", True)]
    measured = measured_tuples(stated((a, HYPERNYM, a, b, valid) for a, b, valid in edges))

    assert CHECK.run(measured).findings == ()


def test_without_chains_it_does_not_apply() -> None:
    result = CHECK.run(measured_tuples(stated([("a", HYPERNYM, "a", "b", True)])))

    assert result.not_applicable == "no valid edge begins where another ends"
