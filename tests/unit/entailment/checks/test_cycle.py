"""cycle: a planted cycle is told with a shortest one, and nothing else."""

from __future__ import annotations

import pytest

from audit.entailment.analysis import Entailment
from audit.entailment.checks.graph_checks import CYCLE as CHECK
from audit.entailment.dataset import HYPERNYM, NOUN
from fixtures.entailed_release import measured_tuples, stated
from fixtures.entailment_world.faults import cycle
from fixtures.entailment_world.world import clean_world

CLEAN = clean_world(7)


def test_a_clean_world_passes() -> None:
    result = CHECK.run(measured_tuples(CLEAN))

    assert (result.status, result.findings) == ("pass", ())
    assert result.denominator > 0


def test_a_planted_cycle_is_told_across_heads_and_no_other_check_tells_anything() -> None:
    planted = cycle(CLEAN)
    measured = measured_tuples(planted.dataset)
    (finding,) = [f for check in Entailment.checks for f in check.run(measured).findings]

    assert finding.check == "cycle"
    assert finding.severity == "note"
    assert finding.key == (NOUN, min(planted.words))
    assert all(f"“{word}”" in finding.statement for word in planted.words)
    assert "under different heads" in finding.statement


def test_its_cases_are_the_valid_tuples_between_its_texts() -> None:
    planted = cycle(CLEAN)
    measured = measured_tuples(planted.dataset)
    (finding,) = CHECK.run(measured).findings
    tuples = planted.dataset.tuples
    expected = [
        row["id"]
        for row in tuples.filter(relation=NOUN, valid=True).to_dicts()
        if {row["instance"], row["concept"]} <= set(planted.words)
    ]
    assert CHECK.cases is not None
    ids = measured.loaded.dataset.instances["instance"]

    assert ids.gather(CHECK.cases(measured, finding)).to_list() == sorted(expected)
    assert finding.touched == len(expected)
    assert planted.ids <= set(expected)


def test_synonyms_are_a_note_of_their_own_words() -> None:
    planted = cycle(CLEAN, length=2)
    (finding,) = CHECK.run(measured_tuples(planted.dataset)).findings

    assert finding.severity == "note"
    assert "stated to be synonyms" in finding.statement


def test_several_synonyms_are_one_note() -> None:
    pairs = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]
    measured = measured_tuples(stated((a, HYPERNYM, a, b, True) for a, b in pairs))
    (finding,) = CHECK.run(measured).findings

    assert (finding.severity, finding.evidence["texts"].value) == ("note", 3)
    assert "valid in both directions" in finding.statement


@pytest.mark.parametrize("heads", [("h", "h", "h"), ("h", "h", "g")])
def test_a_cycle_under_one_head_is_a_warning_that_names_it(heads: tuple[str, ...]) -> None:
    edges = zip(heads, [("a", "b"), ("b", "c"), ("c", "a")], strict=True)
    measured = measured_tuples(stated((head, NOUN, a, b, True) for head, (a, b) in edges))
    (finding,) = CHECK.run(measured).findings
    one = len(set(heads)) == 1

    assert finding.severity == ("warning" if one else "note")
    assert ("under the same head" in finding.statement) == one
    assert ("(under “h”)" in finding.statement) == one


def test_texts_are_told_as_they_are_whatever_characters_they_have() -> None:
    texts = ["{edges}", "[b]", "x" * 500]
    rows = [(a, HYPERNYM, a, b, True) for a, b in zip(texts, [*texts[1:], texts[0]], strict=True)]
    (finding,) = CHECK.run(measured_tuples(stated(rows))).findings

    assert "“(edges)”" in finding.statement
    assert "“(b)”" in finding.statement
    assert len(finding.statement) < 400


def test_invalid_tuples_and_texts_that_are_their_own_concepts_are_no_cases() -> None:
    edges = [("a", "b", True), ("b", "a", True), ("a", "a", True), ("a", "b", False)]
    measured = measured_tuples(stated((a, HYPERNYM, a, b, valid) for a, b, valid in edges))
    (finding,) = CHECK.run(measured).findings
    assert CHECK.cases is not None

    assert finding.touched == 2
    assert CHECK.cases(measured, finding).tolist() == [0, 1]


def test_without_a_valid_edge_it_does_not_apply() -> None:
    result = CHECK.run(measured_tuples(stated([("a", HYPERNYM, "a", "b", False)])))

    assert result.not_applicable == "no tuple states a valid edge"
