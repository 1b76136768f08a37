"""redundant_edge: an edge that follows from others is told as a note, and nothing else."""

from __future__ import annotations

from audit.base.plurals import filled
from audit.entailment.analysis import Entailment
from audit.entailment.checks.graph_checks import REDUNDANT_EDGE as CHECK
from audit.entailment.dataset import HYPERNYM, NOUN
from fixtures.entailed_release import measured_tuples, stated
from fixtures.entailment_world.faults import redundant_edge
from fixtures.entailment_world.world import clean_world

CLEAN = clean_world(7)


def test_a_clean_world_passes() -> None:
    assert CHECK.run(measured_tuples(CLEAN)).status == "pass"


def test_a_planted_edge_is_told_and_no_other_check_tells_anything() -> None:
    planted = redundant_edge(CLEAN)
    measured = measured_tuples(planted.dataset)
    (finding,) = [f for check in Entailment.checks for f in check.run(measured).findings]
    a, b, c = planted.words
    assert CHECK.cases is not None
    ids = measured.loaded.dataset.instances["instance"]

    assert (finding.check, finding.severity, finding.key) == ("redundant_edge", "note", (NOUN,))
    assert f"“{a}” → “{c}” by way of “{b}”" in finding.statement
    assert set(ids.gather(CHECK.cases(measured, finding))) == planted.ids


def test_all_edges_of_a_relation_are_one_finding_with_their_share() -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("a", "d"), ("b", "d")]
    measured = measured_tuples(stated((a, HYPERNYM, a, b, True) for a, b in edges))
    (finding,) = CHECK.run(measured).findings
    shown = filled(finding.statement, {k: v.value for k, v in finding.evidence.items()})

    assert shown.startswith("3 of 6 valid edges of Hypernym (50.0%) follow from others")
    assert finding.touched == 3


def test_without_a_valid_edge_it_does_not_apply() -> None:
    result = CHECK.run(measured_tuples(stated([("a", HYPERNYM, "a", "b", False)])))

    assert result.not_applicable == "no tuple states a valid edge"
