"""Findings are true: what is planted is found, and next to nothing else is told."""

from __future__ import annotations

import pytest

from validation.answer_truth import ANSWER_GUARDS
from validation.answer_worlds import WORLDS as ANSWER_WORLDS
from validation.answer_worlds import told
from validation.pair_guards import GUARDS, Guard
from validation.pair_scores import outcome
from validation.pair_truth import under_its_own_name
from validation.scene_guards import SCENE_GUARDS, SceneGuard, without
from validation.scenes import SCENES, seen
from validation.shares import Share
from validation.suspect_worlds import WORLDS as SUSPECT_WORLDS
from validation.suspect_worlds import World as SuspectWorld
from validation.suspect_worlds import told as suspects_told
from validation.truth_measure import RECALL, measure
from validation.truth_planted import KINDS, KINDS_OF_ICD10

RELEASES = 6
"""Of each sort; docs/truth.md has more."""
LONG = ("lost_zero", "model_habit", "unspecific_beside_specific")
"""Checks whose scenes take seconds."""
GUARDED = {guard.scene for guard in SCENE_GUARDS}
"""Scenes that the tests of their guards run."""
SHORT = [one.name for one in SCENES if one.check not in LONG and one.name not in GUARDED]
AT_WORK = {
    "length of records": ("null DAG, unequal lengths", 0),
    "factor between branches": ("facets, null", 0),
    "explaining what lies below": ("two parents", 0),
    "leaving out what one label explains": ("parents that share labels, null", 0),
    "design effect of groups": ("copied records, null", 2),
}
"""Guards, each with a world and the number of a release that has false findings without it."""
QUICK = "several labels, a model too sure"
"""World of scores whose releases `make test` draws too."""


@pytest.mark.slow
def test_what_is_planted_is_found_and_next_to_nothing_else() -> None:
    measured = measure(RELEASES, 0, scenes=0, scene_guards=0, answers=0, processes=2)
    recall = measured.recall()
    every = sum(recall.values(), Share(0, 0))

    assert measured.missed_goals() == []
    assert len(recall) >= 0.8 * len({kind.name for kind in (*KINDS, *KINDS_OF_ICD10)})
    assert every.n > 40
    assert every.value >= RECALL


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_a_scene_is_told_as_it_was_drawn(name: str) -> None:
    told, scored = seen(name, 0), next(one.scored for one in SCENES if one.name == name)

    assert all(told.facts)
    assert bool(told.false) is not scored


@pytest.mark.slow
@pytest.mark.parametrize("guard", SCENE_GUARDS, ids=lambda guard: guard.name)
def test_each_guard_of_a_check_is_at_work(guard: SceneGuard) -> None:
    """In its first release, or in one of eight where chance decides what it has to do."""

    def is_at_work(number: int) -> bool:
        on, off = seen(guard.scene, number), without(guard, number)
        assert all(on.facts)
        assert not on.false
        return bool(off.false) or sum(off.facts) < sum(on.facts)

    by_chance = next(one.by_chance for one in SCENES if one.name == guard.scene)
    assert any(is_at_work(number) for number in range(8 if by_chance else 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.name for one in ANSWER_WORLDS])
def test_answers_that_a_model_leans_to_are_told_and_no_others(name: str) -> None:
    found = told(name, 0)

    assert not found.false_leanings
    if next(one.scored for one in ANSWER_WORLDS if one.name == name):
        assert not found.false_answers
        assert len((found.leanings | found.answers) & found.planted) >= 0.8 * len(found.planted)


@pytest.mark.slow
@pytest.mark.parametrize("guard", ANSWER_GUARDS, ids=lambda guard: guard.name)
def test_each_guard_of_the_rule_on_answers_is_at_work(guard: Guard) -> None:
    """In one of the first releases, as chance decides what it has to do."""

    def false(number: int) -> int:
        found = told(guard.world, number)
        return len(found.false_leanings | found.false_answers)

    assert not any(false(number) for number in range(4))
    with guard.off():
        assert any(false(number) for number in range(4))


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


def _guard(name: str) -> Guard:
    return next(guard for guard in GUARDS if guard.name == name)


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_WORK)
def test_each_guard_holds_false_findings_back(name: str) -> None:
    on = outcome(*AT_WORK[name])
    with _guard(name).off():
        off = outcome(*AT_WORK[name])

    assert sum(told.false for told in off.told) > sum(told.false for told in on.told) + 2


def test_a_pair_is_named_by_the_lowest_nodes_that_hold_its_records() -> None:
    guard = _guard("naming")
    on = outcome(guard.world, 0)
    with guard.off():
        off = outcome(guard.world, 0)

    assert under_its_own_name([on]).value > 0.7
    assert under_its_own_name([off]).value < 0.3


@pytest.mark.slow
def test_what_was_found_explains_the_pairs_above_it() -> None:
    guard = _guard("explaining what lies above")
    on = outcome(guard.world, 0)
    with guard.off():
        off = outcome(guard.world, 0)

    assert off.found == on.found
    assert len(off.told) > 2 * len(on.told)
