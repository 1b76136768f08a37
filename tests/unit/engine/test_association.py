"""p values against tables and against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import hypergeom, norm, poisson

from audit.engine.association import excess_p_value, poisson_tail
from audit.engine.expectation import Expected, Margins, joint_expected, joint_variance


def expected(n: float, first: float, second: float) -> Expected:
    table = Margins(*(np.array([value]) for value in (n, first, second)))
    return Expected(
        joint_expected(table, math.inf), joint_variance(table), table.n, table.first, table.second
    )


def p_value(observed: float, n: float, first: float, second: float) -> float:
    return float(excess_p_value(np.array([observed]), expected(n, first, second))[0])


def test_small_tables_have_the_poisson_tail() -> None:
    assert p_value(4, 1000, 20, 30) == pytest.approx(poisson.sf(3, 0.6))


def test_large_tables_have_the_corrected_normal_tail_near_the_middle() -> None:
    variance = 400 * 600 * 500 * 500 / (1000**2 * 999)
    wanted = norm.sf((210 - 200 - 0.5) / math.sqrt(variance))

    assert p_value(210, 1000, 400, 500) == pytest.approx(wanted, rel=0.02)
    assert p_value(210, 1000, 400, 500) >= wanted


def test_far_out_the_tail_is_that_of_the_exact_test_and_not_the_normal_one() -> None:
    exact = hypergeom.sf(23, 10_000, 200, 300)
    normal = norm.sf((24 - 6 - 0.5) / math.sqrt(200 * 9800 * 300 * 9700 / (1e8 * 9999)))

    assert normal < exact / 100
    assert exact <= p_value(24, 10_000, 200, 300) < 3 * exact


def test_joint_instances_that_do_not_vary_do_not_thin_the_tail() -> None:
    # forty of forty, and five expected of many: only the five vary
    certain, rare = expected(40, 40, 40), expected(1_000_000, 1000, 5000)
    names = ("joint", "variance", "n", "first", "second")
    both = Expected(*(getattr(certain, name) + getattr(rare, name) for name in names))

    assert excess_p_value(np.array([57.0]), both)[0] == pytest.approx(poisson.sf(16, 5), rel=0.05)


def test_the_moved_tail_of_a_poisson_number_is_its_own() -> None:
    own = Expected(*(np.array([6.0]) for _ in range(5)))

    assert poisson_tail(np.array([9.0]), own)[0] == pytest.approx(poisson.sf(8, 6))


def test_nothing_observed_or_nothing_expected_is_no_excess() -> None:
    assert p_value(0, 100, 20, 30) == 1
    assert p_value(3, 100, 0, 30) == 1


def test_no_pair_has_no_p_value() -> None:
    none = np.empty(0)

    assert len(excess_p_value(none, Expected(none, none, none, none, none))) == 0
