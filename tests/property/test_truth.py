"""Findings are true: planted faults are found, and next to nothing else is."""

from __future__ import annotations

import pytest

from benchmarks.truth_guards import FLAT_WORLDS, GUARDS, WORLDS_OF_GUARDS, Found, guarded
from benchmarks.truth_measure import RECALL, Measured, Share, measure
from benchmarks.truth_planted import KINDS, KINDS_OF_ICD10

RELEASES = 8
"""Of each sort; docs/truth.md has 200."""
POISSON, FAMILY, GROUPS = "Poisson tail", "fixed family", "groups"
AT_WORK = dict(zip((FAMILY, POISSON, GROUPS), FLAT_WORLDS[:3], strict=True))
"""Guards, each with the world in which it has most to do."""


@pytest.fixture(scope="module")
def measured() -> Measured:
    return measure(RELEASES, 0, processes=2)


def test_goals_are_met(measured: Measured) -> None:
    assert measured.missed_goals() == []


def test_what_is_planted_is_found(measured: Measured) -> None:
    recall = measured.recall()
    every = sum(recall.values(), Share(0, 0))

    assert len(recall) >= 0.8 * len({kind.name for kind in (*KINDS, *KINDS_OF_ICD10)})
    assert every.n > 50
    assert every.value >= RECALL


@pytest.mark.parametrize("guard", AT_WORK)
def test_each_guard_holds_false_findings_back(guard: str) -> None:
    number = WORLDS_OF_GUARDS.index(AT_WORK[guard])
    found = {line.guard: line for line in guarded(number)}

    assert found[GUARDS[0]].large == 0
    assert found[guard].large > 10


def test_strata_hold_false_findings_back_and_hajek_expects_the_right_number() -> None:
    found: dict[str, Found] = {line.guard: line for line in guarded(len(WORLDS_OF_GUARDS) - 1)}

    assert found[GUARDS[0]].sure == 0
    assert found["strata"].sure > 10
    assert found[GUARDS[0]].siblings == pytest.approx(1, abs=0.05)
    assert found["Hajek's correction"].siblings < 0.95


def test_a_goal_that_is_missed_is_told(measured: Measured) -> None:
    blind = [
        type(outcome)(**{**vars(outcome), "found": dict.fromkeys(outcome.found, False)})
        for outcome in measured.planted
    ]

    assert "recall of all kinds together" in Measured(blind, [], [], []).missed_goals()
