"""Verdicts of accuracies, against what their words say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.concepts.verdicts import (
    CAUSAL,
    LIMIT,
    MARGIN,
    MODULAR,
    TOKEN,
    Estimate,
    Part,
    Pooled,
    Requirement,
    Verdict,
    by_interval,
    by_threshold,
    conjunction,
    estimate,
    requirement_of,
)

SLICES = np.repeat(np.arange(6), 3)
CONCEPTS = np.tile(np.arange(3), 6)
REQUIREMENTS: tuple[Requirement, ...] = ("above_limit", "at_or_below_chance", "at_chance")


def estimated(shares: np.ndarray, judged: int = 50) -> Estimate:  # type: ignore[type-arg]
    counts = np.full((1, 18), float(judged))
    pooled = Pooled(np.array([0]), np.round(shares[None] * judged), counts, float("nan"))
    return estimate(pooled, CONCEPTS, SLICES, np.full(18, judged))


def test_a_constant_answer_is_at_chance_however_much_classes_differ() -> None:
    constant = estimated((CONCEPTS == 0).astype(np.float64))

    assert constant.accuracy == pytest.approx(1 / 3)
    assert constant.chance == pytest.approx(1 / 3)
    assert by_interval("at_chance", constant) == "pass"
    assert by_interval("above_limit", constant) == "fail"


def test_slices_that_disagree_leave_chance_undecided() -> None:
    shares = np.repeat([0.0, 0.0, 0.0, 0.0, 1.0, 1.0], 3)

    assert by_threshold("at_chance", 1 / 3, 1 / 3) == "pass"
    assert by_interval("at_chance", estimated(shares)) == "undecided"


def test_chance_is_the_majority_of_what_was_judged() -> None:
    counts = np.where(CONCEPTS == 1, 30.0, 10.0)[None]
    pooled = Pooled(np.array([0]), counts / 2, counts, float("nan"))

    assert estimate(pooled, CONCEPTS, SLICES, np.full(18, 30)).chance == pytest.approx(0.6)


def test_below_chance_passes_one_and_fails_the_other() -> None:
    below = estimated(np.zeros(18))

    assert by_threshold("at_or_below_chance", 0.0, 1 / 3) == "pass"
    assert by_threshold("at_chance", 0.0, 1 / 3) == "fail"
    assert by_interval("at_chance", estimated(np.full(18, 0.1))) == "fail"
    assert below.p_above_chance == 1.0


@pytest.mark.parametrize("repeats", [1, 13])
def test_answers_of_several_probes_for_one_instance_count_once(repeats: int) -> None:
    shares = np.full(18, 0.8)
    counts = np.full((1, 18), 50.0 * repeats)
    pooled = Pooled(np.array([0]), shares[None] * counts, counts, float("nan"))
    found = estimate(pooled, CONCEPTS, SLICES, np.full(18, 50))

    assert found.low == pytest.approx(estimated(shares).low)


@given(st.lists(st.floats(0, 1), min_size=18, max_size=18), st.sampled_from(REQUIREMENTS))
def test_intervals_hold_the_accuracy_and_never_contradict_its_threshold(
    shares: list[float], requirement: Requirement
) -> None:
    found = estimated(np.array(shares))

    assert found.low <= found.accuracy <= found.high
    assert found.low_90 <= found.accuracy <= found.high_90
    verdict = by_interval(requirement, found)
    if verdict != "undecided":
        assert verdict == by_threshold(requirement, found.accuracy, found.chance)


@given(st.lists(st.sampled_from(["pass", "fail", "undecided"])))
def test_a_conjunction_passes_only_where_all_do(verdicts: list[Verdict]) -> None:
    found = conjunction(verdicts)

    assert (found == "pass") == all(one == "pass" for one in verdicts)
    assert (found == "fail") == ("fail" in verdicts)


def test_only_what_was_removed_is_to_be_at_chance() -> None:
    assert requirement_of(Part(MODULAR, 0, None, None, None, 0)) == "at_or_below_chance"
    assert requirement_of(Part(CAUSAL, 0, None, None, None, 0)) == "at_chance"
    for test in (MODULAR, CAUSAL):
        assert requirement_of(Part(test, 0, None, None, None, 1)) == "above_limit"
    assert requirement_of(Part(TOKEN, 0, None, None, None, 0)) == "above_limit"
    assert (LIMIT, MARGIN) == (0.75, 0.05)
