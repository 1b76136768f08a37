"""Placements and areas, beside plain loops over pairs of instances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.concepts.halves import OUT, area, place, placements
from fixtures.examples import examples

SCORED = st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.0, 5.0]), st.booleans()), min_size=2)
BOTH = SCORED.filter(lambda rows: len({inside for _, inside in rows}) == 2)


def wins(one: float, other: float) -> float:
    return (one > other) + (one == other) / 2


@examples(60)
@given(BOTH)
def test_a_placement_is_the_share_of_the_other_side_that_is_on_its_right_side(
    rows: list[tuple[float, bool]],
) -> None:
    found = placements(np.array([s for s, _ in rows]), np.array([inside for _, inside in rows]))
    for placed, (score, inside) in zip(found, rows, strict=True):
        others = [s for s, side in rows if side != inside]
        right = [wins(score, s) if inside else wins(s, score) for s in others]
        assert placed == pytest.approx(sum(right) / len(others))


def drawn(seed: int, groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
    found = area(placed, side, unit)
    assert found is not None
    assert found.value == pytest.approx(means[0])
    assert found.high - found.value == pytest.approx(min(1.96 * error**0.5, 1 - found.value))


def test_groups_of_one_change_nothing_and_alike_groups_are_less_sure() -> None:
    rng = np.random.default_rng(0)
    placed, side = rng.random(40), np.repeat([1, 0], 20)
    alone = area(placed, side, np.arange(40))
    copies = area(np.tile(placed, 3), np.tile(side, 3), np.tile(np.arange(40), 3))
    naive = area(np.tile(placed, 3), np.tile(side, 3), np.arange(120))
    assert alone is not None
    assert copies is not None
    assert naive is not None


def test_no_instances_misplaced_is_not_certainty_and_one_unit_is_nothing() -> None:
    side = np.repeat([1, 0], 10)
    found = area(np.ones(20), side, np.arange(20))
    assert found is not None
    assert 0.9 < found.low < 1
    assert area(np.ones(20), side, np.repeat([0, 1], 10)) is None


def test_a_half_without_an_instance_on_a_side_does_not_count() -> None:
    side = np.array([[1], [1], [0], [0], [1], [0]])
    judged = [np.array([0, 2, 3]), np.array([2, 3, 5]), np.array([1, 2])]
    scores = [np.array([[2.0], [1], [3]]), np.array([[1.0], [2], [3]]), np.full((2, 1), np.nan)]
    placed = place(judged, lambda half: scores[half], side)[:, 0]
    assert placed == pytest.approx([0.5, np.nan, 1, 0, np.nan, np.nan], nan_ok=True)
