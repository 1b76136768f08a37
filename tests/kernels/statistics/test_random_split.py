"""Labels that a random split leaves out of training: against every split there is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import poisson

from audit.checks.rules.split_leak import chance_of_unseen, unseen_by_chance

units = st.lists(st.sets(st.integers(0, 4)), min_size=1, max_size=6)


@given(units, st.integers(0, 6))
def test_mean_and_variance_are_those_of_all_splits(carried: list[set[int]], outside: int) -> None:
    n = len(carried)
    outside = min(outside, n)
    unseen = []
    for left_out in combinations(range(n), outside):
        seen = set().union(*(carried[i] for i in range(n) if i not in left_out))
        unseen.append(len(set().union(*(carried[i] for i in left_out)) - seen))
    matrix = csr_array(np.array([[int(i in own) for i in range(5)] for own in carried], np.int64))
    mean, variance = unseen_by_chance(matrix, outside)

    assert mean == pytest.approx(np.mean(unseen))
    assert variance == pytest.approx(np.var(unseen), abs=1e-9)


@given(st.integers(1, 60), st.floats(0.1, 40), st.floats(0.01, 0.99))
def test_the_tail_is_poissons_where_nothing_spreads_more(u: int, mean: float, less: float) -> None:
    assert chance_of_unseen(u, mean, mean * less) == pytest.approx(poisson.sf(u - 1, mean))


def test_nothing_unseen_is_no_surprise_and_something_impossible_is_one() -> None:
    assert chance_of_unseen(0, 0.0, 0.0) == 1.0
    assert chance_of_unseen(1, 0.0, 0.0) == 0.0


def test_more_spread_makes_as_many_less_of_a_surprise() -> None:
    assert chance_of_unseen(20, 10.0, 10.0) < chance_of_unseen(20, 10.0, 40.0) < 0.5
