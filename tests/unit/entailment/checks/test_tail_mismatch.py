"""tail_mismatch: tuples whose elements do not fit each other."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from audit.entailment.checks.dataset_checks import TAIL_MISMATCH as CHECK
from audit.entailment.dataset import EVENT, NOUN
from fixtures.entailed_release import measured_tuples, stated
from fixtures.entailment_world.faults import tail_mismatch
from fixtures.entailment_world.world import clean_world


def test_planted_tails_are_told_with_what_would_fit() -> None:
    planted = tail_mismatch(clean_world(7))
    measured = measured_tuples(planted.dataset)
    (finding,) = CHECK.run(measured).findings
    assert CHECK.cases is not None
    ids = measured.loaded.dataset.instances["instance"]

    assert (finding.key, finding.severity) == ((NOUN, "tail_differs"), "warning")
    assert finding.evidence["tuples"].value == len(planted.ids)
    assert set(ids.gather(CHECK.cases(measured, finding))) == planted.ids
    assert "and not “PersonX feeds the pet in the barn" in finding.statement


def test_each_relation_and_fault_is_a_finding_of_its_own() -> None:
    made = stated(
        [
            ("a {dog} barks", NOUN, "{dog}", "pet", True),
            ("a cat naps", NOUN, "whale", "pet", True),
            ("a cat naps", NOUN, "cat", "pet", True),
            ("a cat naps", EVENT, "a cat", "rest", True),
        ]
    )
    tails = pl.Series("tail", ["x", "a pet naps", "a cat naps", "rest"])
    dataset = replace(made, tuples=made.tuples.with_columns(tails))

    findings = {finding.key: finding for finding in CHECK.run(measured_tuples(dataset)).findings}

    assert {key: finding.evidence["of"].value for key, finding in findings.items()} == {
        (NOUN, "head_lacks_instance"): 3, (NOUN, "tail_repeats_head"): 3,
        (NOUN, "tail_differs"): 3, (EVENT, "instance_not_head"): 1,
    }  # fmt: skip
    assert "“whale” in “a cat naps”" in findings[NOUN, "head_lacks_instance"].statement


def test_of_long_texts_what_sets_them_apart_is_quoted() -> None:
    head = "PersonX shows the dog around in the old house behind the station to"
    made = stated([(f"{head} PersonY", NOUN, "dog", "pet", True)])
    tail = pl.lit(head.replace("dog", "pet"))
    dataset = replace(made, tuples=made.tuples.with_columns(tail=tail))

    (finding,) = CHECK.run(measured_tuples(dataset)).findings

    assert "“…behind the station to” and not “…behind the station to PersonY”" in finding.statement


def test_a_sound_world_passes() -> None:
    result = CHECK.run(measured_tuples(clean_world(5)))
    assert (result.status, result.denominator) == ("pass", clean_world(5).tuples.height)
