"""Entropy on the way up, worked by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from audit.alignment.metrics.accuracy import UncertaintyAlignment
from audit.alignment.metrics.streaming import whole
from audit.base.dag import Sparse
from audit.engine.scores.cuts import Cut
from audit.hierarchies.hierarchy import Hierarchy

HALF_COW_HALF_DOG = {"cow": 0.5, "dog": 0.5}
HALF_BIRD_HALF_TOOL = {"bird": 0.5, "tool": 0.5}


@pytest.mark.parametrize(
    ("fine", "coarse", "difference", "match"),
    [
        (3, 2, (0 + 1) / 2 - (1 + 1) / 2, 1 / 2),  # cows and dogs are mammals
        (3, 1, 0.0, 0.0),  # but only dogs are pets: two atoms again
        (2, 1, 1 / 2, -1.0),
    ],
)
def test_both_readings(
    toy_hierarchy: Hierarchy,
    array: Callable[..., Sparse],
    at: Callable[[int], Cut],
    fine: int,
    coarse: int,
    difference: float,
    match: float,
) -> None:
    scores = array([HALF_COW_HALF_DOG, HALF_BIRD_HALF_TOOL])
    found = whole(UncertaintyAlignment(at(fine), at(coarse)), toy_hierarchy, None, scores)

    assert found["uncertainty_alignment"].value == difference
    assert found["abstraction_match"].value == match
    assert found["uncertainty_alignment"].n == 2


def test_scores_need_not_sum_to_one(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse], at: Callable[[int], Cut]
) -> None:
    found = whole(
        UncertaintyAlignment(at(3), at(2)), toy_hierarchy, None, array([{"cow": 0.25, "dog": 0.25}])
    )

    assert found["uncertainty_alignment"].value == -1


def test_mass_above_a_cut_is_an_atom_of_its_own_and_told(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse], at: Callable[[int], Cut]
) -> None:
    scores = array([{"pet": 0.5, "cow": 0.25, "dog": 0.25}])
    found = whole(UncertaintyAlignment(at(3), at(2)), toy_hierarchy, None, scores)

    assert found["uncertainty_alignment"].value == 1 - 1.5
    assert found["residual_from"].value == found["residual_to"].value == 0.5


def test_an_instance_without_mass_is_left_out(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse], at: Callable[[int], Cut]
) -> None:
    scores = array([{}, {"cow": 0.0}, HALF_COW_HALF_DOG])
    found = whole(UncertaintyAlignment(at(3), at(2)), toy_hierarchy, None, scores)

    assert (found["uncertainty_alignment"].value, found["uncertainty_alignment"].n) == (-1, 1)


def test_match_without_uncertainty_is_undefined(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse], at: Callable[[int], Cut]
) -> None:
    found = whole(UncertaintyAlignment(at(3), at(2)), toy_hierarchy, None, array([{"cow": 0.3}]))

    assert found["uncertainty_alignment"].value == 0
    assert found["abstraction_match"].value is None
