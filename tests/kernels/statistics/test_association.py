"""p values and intervals of a ratio, against tables and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gamma, poisson

from audit.engine.statistics.association import poisson_p_value, shrunk_ratio

COUNTS = st.integers(1, 400)
EXPECTED = st.floats(1e-3, 400)


@given(COUNTS, EXPECTED)
def test_the_tail_is_that_of_a_poisson_number(observed: int, expected: float) -> None:
    found = poisson_p_value(np.array([float(observed)]), np.array([expected]))

    assert found[0] == pytest.approx(poisson.sf(observed - 1, expected), rel=1e-9, abs=1e-300)


def test_between_whole_numbers_the_tail_falls() -> None:
    observed = np.arange(4.0, 9.0, 0.25)
    tail = poisson_p_value(observed, np.full(len(observed), 3.0))

    assert (np.diff(tail) < 0).all()


def test_nothing_observed_or_nothing_expected_is_no_excess() -> None:
    found = poisson_p_value(np.array([0.0, 3.0, 0.0]), np.array([2.0, 0.0, 0.0]))

    assert found.tolist() == [1.0, 1.0, 1.0]


@given(st.integers(0, 400), EXPECTED)
def test_the_interval_holds_the_middle_of_a_gamma_distribution(
    observed: int, expected: float
) -> None:
    value, low, high = shrunk_ratio(np.array([float(observed)]), np.array([expected]))

    wanted = gamma(observed + 0.5, scale=1 / (expected + 0.5))
    assert value[0] == pytest.approx(wanted.mean())
    assert low[0] == pytest.approx(wanted.ppf(0.025), rel=1e-6, abs=1e-12)
    assert high[0] == pytest.approx(wanted.ppf(0.975), rel=1e-6)


def test_few_records_are_drawn_toward_what_was_expected() -> None:
    value, *_ = shrunk_ratio(np.array([3.0, 300.0]), np.array([0.1, 10.0]))

    assert value[0] < value[1] < 30
