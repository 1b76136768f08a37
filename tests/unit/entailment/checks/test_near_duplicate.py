"""near_duplicate: heads of one split that are nearly those of another, and repeated tuples."""

from __future__ import annotations

import polars as pl

from audit.entailment.checks.dataset_checks import NEAR_DUPLICATE as CHECK
from audit.entailment.dataset import NOUN
from fixtures.entailed_release import measured_tuples, stated
from fixtures.entailment_world.faults import near_duplicate
from fixtures.entailment_world.world import clean_world, dataset_of

CLEAN = clean_world(7)


def test_planted_heads_are_told_with_what_they_repeat() -> None:
    planted = near_duplicate(CLEAN)
    measured = measured_tuples(planted.dataset)
    findings = {finding.key: finding for finding in CHECK.run(measured).findings}
    finding = findings["train", "test"]
    assert CHECK.cases is not None
    ids = measured.loaded.dataset.instances["instance"]

    assert finding.severity == "warning"
    assert (finding.evidence["heads"].value, finding.evidence["same_instance"].value) == (3, 3)
    assert set(ids.gather(CHECK.cases(measured, finding))) == planted.ids
    assert finding.evidence["similarity"].value == 0.8


def test_repeated_tuples_are_told_apart() -> None:
    rows = [("h", NOUN, "h", concept, True) for concept in "aba"]
    measured = measured_tuples(stated(rows))
    (finding,) = CHECK.run(measured).findings
    assert CHECK.cases is not None

    assert (finding.key, finding.severity) == (("repeated", NOUN), "warning")
    assert (finding.evidence["tuples"].value, finding.evidence["of"].value) == (1, 3)
    assert "“t2” repeats “t0”" in finding.statement
    assert CHECK.cases(measured, finding).tolist() == [2]


def test_repeats_in_another_split_are_an_error() -> None:
    made = stated(("h", NOUN, "h", "a", True) for _ in range(2))
    split = pl.Series("split", ["train", "test"])
    dataset = dataset_of(made.tuples.with_columns(split), made.votes)
    (finding,) = CHECK.run(measured_tuples(dataset)).findings

    assert finding.severity == "error"
    assert finding.evidence["across"].value == 1


def test_a_sound_world_passes() -> None:
    assert CHECK.run(measured_tuples(CLEAN)).status == "pass"
