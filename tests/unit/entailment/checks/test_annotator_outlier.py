"""annotator_outlier: annotators who agree with the others less than all others do."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from audit.entailment.checks.vote_checks import ANNOTATOR_OUTLIER as CHECK
from audit.entailment.dataset import VOTES
from fixtures.entailed_release import measured_tuples
from fixtures.entailment_world.faults import annotator_outlier
from fixtures.entailment_world.world import clean_world

CLEAN = clean_world(7)


def test_the_planted_annotator_is_told_with_their_tuples() -> None:
    planted = annotator_outlier(CLEAN)
    measured = measured_tuples(planted.dataset)
    result = CHECK.run(measured)
    (finding,) = result.findings
    assert CHECK.cases is not None
    ids = measured.loaded.dataset.instances["instance"]

    assert (finding.key, finding.severity) == (planted.words, "warning")
    assert result.denominator == finding.evidence["family"].value == 20
    assert planted.ids <= set(ids.gather(CHECK.cases(measured, finding)))
    assert finding.touched == len(CHECK.cases(measured, finding))
    difference = finding.evidence["difference_high"].value
    assert isinstance(difference, float)
    assert difference < 0


def test_a_sound_world_passes() -> None:
    assert CHECK.run(measured_tuples(CLEAN)).status == "pass"


def test_where_voters_are_not_known_it_does_not_apply() -> None:
    counts = replace(CLEAN, votes=pl.DataFrame(schema=VOTES))
    result = CHECK.run(measured_tuples(counts))
    assert result.not_applicable == "it is not known who voted"


def test_few_votes_are_not_enough() -> None:
    few = clean_world(3)
    result = CHECK.run(measured_tuples(replace(few, votes=few.votes.head(100))))
    assert result.not_applicable.startswith("fewer than four annotators have 20 votes")
