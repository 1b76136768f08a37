"""weak_label: labels that fewer than four of five votes carry."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from audit.entailment.checks.vote_checks import WEAK_LABEL as CHECK
from audit.entailment.dataset import NOUN, VERB
from fixtures.entailed_release import measured_tuples, stated
from fixtures.entailment_world.faults import weak_label
from fixtures.entailment_world.world import clean_world


def test_planted_labels_are_told_with_their_votes() -> None:
    planted = weak_label(clean_world(7))
    measured = measured_tuples(planted.dataset)
    (finding,) = CHECK.run(measured).findings
    assert CHECK.cases is not None
    ids = measured.loaded.dataset.instances["instance"]

    assert (finding.key, finding.severity) == ((NOUN,), "warning")
    assert finding.evidence["tuples"].value == len(planted.ids)
    assert set(ids.gather(CHECK.cases(measured, finding))) == planted.ids
    assert "by 3 of 5 votes" in finding.statement


def test_ties_and_labels_against_the_votes_are_counted_apart() -> None:
    labels = [(NOUN, True, 2), (NOUN, True, 1), (NOUN, False, 4), (NOUN, True, 4), (VERB, True, 4)]
    made = stated((f"h{n}", one[0], "h", f"c{n}", one[1]) for n, one in enumerate(labels))
    votes = pl.Series("votes_valid", [one[2] for one in labels])
    tuples = made.tuples.with_columns(votes, votes=pl.lit(4, pl.Int64))
    (finding,) = CHECK.run(measured_tuples(replace(made, tuples=tuples))).findings

    evidence = {name: quantity.value for name, quantity in finding.evidence.items()}
    assert finding.severity == "error"
    assert (evidence["tuples"], evidence["of"]) == (3, 4)
    assert (evidence["ties"], evidence["against"]) == (1, 2)
    assert "c2” is invalid by 0 of 4 votes; " in finding.statement


def test_without_votes_it_does_not_apply() -> None:
    result = CHECK.run(measured_tuples(stated([("h", NOUN, "h", "c", True)])))
    assert result.not_applicable == "no tuple has votes"
