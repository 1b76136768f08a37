"""The loss of a mean since an earlier release, of which only the counts of its values are kept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t

from audit.base.dag import IntArray
from audit.engine.statistics.two_rates import LEAST_UNITS, MeanLoss, mean_loss

Units = list[list[int]]


def counts(units: Units, length: int = 5) -> IntArray:
    flat = [value for unit in units for value in unit]
    return np.bincount(np.array(flat, np.int64), minlength=length).astype(np.int64)


def compared(here: Units, there: Units) -> MeanLoss | None:
    sums: NDArray[np.float64] = np.array([sum(unit) for unit in here], np.float64)
    sizes = np.array([len(unit) for unit in here], np.float64)
    return mean_loss(sums, sizes, counts(here), counts(there), len(there))


def error_of(found: MeanLoss | None, units: int) -> float:
    assert found is not None
    return (found.high - found.low) / 2 / float(t.ppf(0.975, units - 1))


def test_of_single_values_it_is_the_difference_of_two_means() -> None:
    """Depths 1, 1, 2, 3 (variance 11/16) five times, before: 2, 3 (variance 1/4) twenty times."""
    found = compared([[1], [1], [2], [3]] * 5, [[2], [3]] * 20)
    error = math.sqrt(20 / 19 * (11 / 16 / 20 + 1 / 4 / 40))

    assert found is not None
    assert (found.mean, found.before, found.lost) == (1.75, 2.5, 0.75)
    assert found.low + found.high == pytest.approx(1.5)
    assert error_of(found, 20) == pytest.approx(error)
    assert found.p_value == pytest.approx(2 * float(t.sf(0.75 / error, 19)))


def test_values_repeated_within_units_are_no_more_evidence() -> None:
    single = compared([[1], [1], [2], [3]] * 5, [[2], [3]] * 20)
    thrice = compared([[1] * 3, [1] * 3, [2] * 3, [3] * 3] * 5, [[2] * 3, [3] * 3] * 20)

    assert error_of(thrice, 20) == pytest.approx(error_of(single, 20))


def test_units_unlike_each_other_within_are_no_less_evidence_than_single_values() -> None:
    """Both values of each unit cancel out; the effect of the design is 1 and not 0."""
    found = compared([[1, 3]] * 20, [[2, 4]] * 20)

    assert error_of(found, 20) == pytest.approx(math.sqrt(2 * 1 / 40))


def test_where_all_values_are_equal_their_units_are_taken_to_be_so_everywhere() -> None:
    found = compared([[1] * 4] * 20, [[2, 2, 3, 3]] * 20)

    assert error_of(found, 20) == pytest.approx(math.sqrt(4 * 1 / 4 / 80))


def test_equal_releases_without_any_variation() -> None:
    same, lower = compared([[2]] * 20, [[2]] * 30), compared([[1]] * 20, [[2]] * 30)

    assert same is not None
    assert (same.lost, same.p_value) == (0, 1)
    assert lower is not None
    assert (lower.lost, lower.low, lower.high, lower.p_value) == (1, 1, 1, 0)


def test_few_units_or_none_are_not_compared() -> None:
    few, enough = [[2, 3]] * (LEAST_UNITS - 1), [[2, 3]] * LEAST_UNITS

    assert compared(few, enough) is compared(enough, few) is None
    assert compared([], enough) is compared(enough, [[]] * LEAST_UNITS) is None
    assert compared(enough, enough) is not None


@pytest.mark.parametrize(("units", "size"), [(12, 1), (12, 20), (60, 6)])
def test_releases_of_one_law_differ_as_seldom_as_is_said(units: int, size: int) -> None:
    rng = np.random.default_rng(3)

    def release() -> Units:
        shallow = rng.beta(1, 3, units)
        drawn = rng.random((units, size)) < shallow[:, None]
        return [[1 if one else 3 for one in own] for own in drawn.tolist()]

    found = [compared(release(), release()) for _ in range(400)]
    told = sum(one is not None and one.p_value <= 0.05 for one in found)

    assert told <= 400 * 0.05 + 3 * (400 * 0.05 * 0.95) ** 0.5
