"""Verdicts of accuracies against what their words say; placements and areas beside plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.concepts.classes import Described, describe, draw_split
from audit.analyses.concepts.node_probes import OUT, area
from audit.analyses.concepts.probes import fit, placements, quiet_fits
from audit.analyses.concepts.tests_of_concepts import (
    CAUSAL,
    MODULAR,
    REST,
    TOKEN,
    TRANSFER,
    Part,
    Scene,
)
from audit.analyses.concepts.verdicts import (
    by_interval,
    by_threshold,
    estimate,
    requirement_of,
    tables_of,
)
from fixtures.examples import examples
from fixtures.made_up_encoders import LAYOUT, pure_noise, world_facets

REQUIREMENTS = ("above_limit", "at_or_below_chance", "at_chance")
READ = Part(TOKEN, "layout", REST, None, TRANSFER, "layout")
Floats = np.ndarray[Any, np.dtype[np.float64]]


@pytest.fixture(scope="module")
def described() -> Described:
    return describe(pure_noise(20).instances["labels"], world_facets())


def layouts(of: Described) -> Any:
    """The layout of each class, in the order of their numbers."""
    return of.class_codes[:, 0]


def estimated(of: Described, shares: Floats, judged: int = 50, repeats: int = 1) -> dict[str, Any]:
    counts = np.full(18, float(judged * repeats))
    right = np.round(shares * judged) * repeats
    return estimate(of, READ, right, counts, np.full(18, judged))


def test_a_constant_answer_is_at_chance_however_much_classes_differ(described: Described) -> None:
    constant = estimated(described, (layouts(described) == 0).astype(np.float64))

    assert constant["accuracy"] == constant["chance"] == pytest.approx(1 / 3)
    assert by_interval("at_chance", constant) == "pass"
    assert by_interval("above_limit", constant) == "fail"
    assert len(np.unique(LAYOUT)) == 3


def test_slices_that_disagree_leave_chance_undecided(described: Described) -> None:
    shares = np.zeros(18)
    for together in described.parts(0, 0)[:2]:
        shares[together] = 1

    assert by_threshold("at_chance", 1 / 3, 1 / 3) == "pass"
    assert by_interval("at_chance", estimated(described, shares)) == "undecided"


def test_chance_is_the_majority_of_what_was_judged(described: Described) -> None:
    counts = np.where(layouts(described) == 1, 30.0, 10.0)
    found = estimate(described, READ, counts / 2, counts, np.full(18, 30))

    assert found["chance"] == pytest.approx(0.6)
    assert (found["instances"], found["classes"]) == (300, 18)


@pytest.mark.parametrize(
    ("requirement", "accuracy", "verdict"),
    [
        *(("above_limit", 0.75, "fail"), ("above_limit", 0.7501, "pass")),
        *(("at_chance", 0.55, "pass"), ("at_chance", 0.5501, "fail")),
        *(("at_chance", 0.45, "pass"), ("at_chance", 0.4499, "fail")),
        *(("at_or_below_chance", 0.1, "pass"), ("at_or_below_chance", 0.56, "fail")),
    ],
)
def test_limits_are_those_of_the_paper(requirement: str, accuracy: float, verdict: str) -> None:
    assert by_threshold(requirement, accuracy, 0.5) == verdict


@pytest.mark.parametrize("repeats", [1, 13])
def test_answers_of_several_probes_for_one_instance_count_once(
    described: Described, repeats: int
) -> None:
    shares = np.full(18, 0.8)
    found, once = estimated(described, shares, repeats=repeats), estimated(described, shares)

    assert found["low"] == pytest.approx(once["low"])
    assert found["low_90"] == pytest.approx(once["low_90"])


@given(
    shares=st.lists(st.floats(0, 1), min_size=18, max_size=18),
    requirement=st.sampled_from(REQUIREMENTS),
)
def test_intervals_hold_the_accuracy_and_never_contradict_its_threshold(
    described: Described, shares: list[float], requirement: str
) -> None:
    found = estimated(described, np.array(shares))

    assert found["low"] <= found["accuracy"] <= found["high"]
    assert found["low_90"] <= found["accuracy"] <= found["high_90"]
    verdict = by_interval(requirement, found)
    if verdict != "undecided":
        assert verdict == by_threshold(requirement, found["accuracy"], found["chance"])


def test_only_what_was_removed_is_to_be_at_chance() -> None:
    assert requirement_of(Part(MODULAR, "a", read="a")) == "at_or_below_chance"
    assert requirement_of(Part(CAUSAL, "a", read="a")) == "at_chance"
    for test in (MODULAR, CAUSAL):
        assert requirement_of(Part(test, "a", read="b")) == "above_limit"
    assert requirement_of(READ) == "above_limit"


@pytest.mark.parametrize("simulations", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_probes_of_noise_are_told_to_be_above_chance_no_more_often_than_stated(
    described: Described, simulations: int
) -> None:
    split = draw_split(described, pure_noise(20).instances["id"].to_list(), 0)
    judged = np.bincount(split.class_of[split.ablating], minlength=18)
    alone = together = 0
    for seed in range(simulations):
        z = np.random.default_rng(seed).normal(size=(len(split.rows), 8))
        scene, answers = Scene(z, split, described), []
        with quiet_fits():
            for (place, how, _), seen in scene.seen.items():
                rows = scene.rows(place, seen)
                if how == REST and rows is not None:
                    truth = split.codes[:, place]
                    right = fit(z[rows[0]], truth[rows[0]])(z[rows[1]]) == truth[rows[1]]
                    name = described.dimensions[place]
                    part = READ._replace(dimension=name, read=name)
                    answers.append(scene.count(part, split.class_of[rows[1]], right))
        parts = tables_of(described, answers, judged)["parts"]
        alone += int((parts["p_above_chance"] <= 0.05).sum())
        together += int((parts["q_above_chance"] <= 0.05).any())
        assert "pass" not in parts["interval_verdict"].to_list()

    assert alone <= most(3 * simulations)
    assert together <= most(simulations)


def most(tests: int) -> float:
    """One in twenty and three standard deviations of its count."""
    return float(0.05 * tests + 3 * np.sqrt(0.05 * 0.95 * tests))


SCORED = st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.0, 5.0]), st.booleans()), min_size=2)
BOTH = SCORED.filter(lambda rows: len({inside for _, inside in rows}) == 2)


@examples(60)
@given(BOTH)
def test_a_placement_is_the_share_of_the_other_side_that_is_on_its_right_side(
    rows: list[tuple[float, bool]],
) -> None:
    found = placements(np.array([s for s, _ in rows]), np.array([inside for _, inside in rows]))
    for placed, (score, inside) in zip(found, rows, strict=True):
        gaps = [
            score - other if inside else other - score for other, side in rows if side != inside
        ]
        right = [(gap > 0) + (gap == 0) / 2 for gap in gaps]
        assert placed == pytest.approx(sum(right) / len(right))


def drawn(seed: int, groups: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    side = rng.choice([1, 0, OUT], 60, p=[0.3, 0.6, 0.1])
    placed = np.where(side == OUT, np.nan, rng.random(60))
    placed[:2] = np.nan
    return placed, side, rng.permutation(np.arange(60) % groups)


@pytest.mark.parametrize("groups", [60, 20, 7])
def test_residuals_are_summed_in_a_group_before_they_are_squared(groups: int) -> None:
    placed, side, unit = drawn(3, groups)
    sides = [[r for r in range(60) if side[r] == one and placed[r] == placed[r]] for one in (1, 0)]
    means = [sum(placed[r] for r in rows) / len(rows) for rows in sides]
    error = 0.0
    for one in set(unit):
        pull = 0.0
        for rows, mean in zip(sides, means, strict=True):
            n = len({unit[r] for r in rows})
            own = [placed[r] - mean for r in rows if unit[r] == one]
            pull += sum(own) / len(rows) * (n / (n - 1)) ** 0.5
        error += pull**2
    value, low, high = area(placed, side, unit)
    assert value == pytest.approx(means[0])
    assert high - value == pytest.approx(min(1.96 * error**0.5, 1 - value))
    assert value - low == pytest.approx(min(1.96 * error**0.5, value))


def test_no_instances_misplaced_is_not_certainty_and_one_unit_is_nothing() -> None:
    side = np.repeat([1, 0], 10)
    value, low, _ = area(np.ones(20), side, np.arange(20))
    assert value == 1
    floors = 1 / (12**2 * 10)
    assert low == pytest.approx(1 - 1.96 * (2 * floors) ** 0.5)
    assert np.isnan(area(np.ones(20), side, np.repeat([0, 1], 10))).all()
