"""Findings are true: what is planted is found, and next to nothing else is told."""

from __future__ import annotations

import pytest

from fixtures.suspect_worlds import WORLDS as SUSPECT_WORLDS
from fixtures.suspect_worlds import World as SuspectWorld
from fixtures.suspect_worlds import told as suspects_told
from validation.answer_worlds import WORLDS as ANSWER_WORLDS
from validation.answer_worlds import World as AnswerWorld
from validation.answer_worlds import told
from validation.shares import NONE
from validation.truth_measure import RECALL, Faults
from validation.truth_null import null_release
from validation.truth_planted import KINDS, planted_release

RELEASES = 6
"""Of each sort; docs/truth.md has more."""
QUICK = "several labels, a model too sure"
"""World of scores whose releases `make test` draws too."""


@pytest.mark.slow
def test_what_is_planted_is_found_and_next_to_nothing_else() -> None:
    numbers = range(RELEASES)
    faults = Faults([*map(planted_release, numbers)], [*map(null_release, numbers)])
    recall = faults.recall()
    every = sum(recall.values(), NONE)

    assert faults.missed_goals() == []
    assert len(recall) >= 0.8 * len(KINDS)
    assert every.n > 40
    assert every.value >= RECALL


@pytest.mark.slow
@pytest.mark.parametrize("world", ANSWER_WORLDS, ids=lambda world: world.name)
def test_answers_that_a_model_leans_to_are_told_and_no_others(world: AnswerWorld) -> None:
    found = told(world.name, 0)

    assert not found.false_leanings
    assert not found.false_answers
    assert len((found.leanings | found.answers) & found.planted) >= 0.8 * len(found.planted)


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(one, id=one.name, marks=[] if one.name == QUICK else pytest.mark.slow)
        for one in SUSPECT_WORLDS
    ],
)
def test_suspects_are_told_where_labels_do_not_follow_the_scores(world: SuspectWorld) -> None:
    found = [one.nodes for one in suspects_told(world.name, 0).findings]

    assert len(found) >= 8 if world.wrong else not found
