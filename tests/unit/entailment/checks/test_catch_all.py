"""catch_all: a concept that stands for nearly anything is told, and nothing else."""

from __future__ import annotations

from audit.entailment.analysis import Entailment
from audit.entailment.checks.graph_checks import CATCH_ALL as CHECK
from audit.entailment.dataset import EVENT, NOUN
from fixtures.entailed_release import measured_tuples, stated
from fixtures.entailment_world.faults import catch_all
from fixtures.entailment_world.world import clean_world

CLEAN = clean_world(11)


def test_in_a_clean_world_no_concept_is_large_enough_to_be_judged() -> None:
    result = CHECK.run(measured_tuples(CLEAN))

    assert result.not_applicable == "no concept has thirty valid edges"


def test_a_planted_catch_all_is_told_and_no_other_check_tells_anything() -> None:
    planted = catch_all(CLEAN)
    measured = measured_tuples(planted.dataset)
    (finding,) = [f for check in Entailment.checks for f in check.run(measured).findings]
    assert CHECK.cases is not None
    ids = measured.loaded.dataset.instances["instance"]

    assert (finding.check, finding.severity) == ("catch_all", "warning")
    assert finding.key == (EVENT, "activity")
    assert "name nothing in particular" in finding.statement
    assert set(ids.gather(CHECK.cases(measured, finding))) == planted.ids


def test_one_whose_words_name_something_is_a_note() -> None:
    rows = [(f"h{i}", NOUN, f"i{i}", "wild animal", True) for i in range(60)]
    rows += [(f"h{i}", NOUN, f"i{i}", f"k{i % 20}", True) for i in range(60)]
    (finding,) = CHECK.run(measured_tuples(stated(rows))).findings

    assert finding.severity == "note"
    assert finding.evidence["excess"].value == 20


def test_concepts_as_large_as_those_beside_them_pass() -> None:
    rows = [("h", NOUN, f"i{i}", concept, True) for i in range(60) for concept in ("a", "b")]
    result = CHECK.run(measured_tuples(stated(rows)))

    assert (result.status, result.denominator) == ("pass", 2)
