"""Findings are true: what is planted is found, and next to nothing else is told."""

from __future__ import annotations

import pytest

from validation.answer_worlds import WORLDS as ANSWER_WORLDS
from validation.answer_worlds import World as AnswerWorld
from validation.answer_worlds import told
from validation.shares import NONE
from validation.truth_measure import RECALL, Faults
from validation.truth_null import null_release
from validation.truth_planted import KINDS, planted_release

RELEASES = 6
"""Of each sort; docs/truth.md has more."""


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

    assert len(found.false) <= (1 if world.pairs and found.planted else 0)
    assert len(found.found & found.planted) >= 0.8 * len(found.planted)
