"""Tails of p values, false discoveries, and every random split, by scipy and plain counts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import false_discovery_control, gamma, poisson

from audit import Hierarchy
from audit.checks.rules.split_leak import chance_of_unseen, unseen_by_chance
from audit.engine.statistics.association import poisson_p_value, shrunk_ratio
from audit.engine.statistics.fdr import Family, benjamini_hochberg, pairs_apart, threshold
from fixtures.brute_force import above, parents_of
from fixtures.strategies import hierarchies

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


@given(hierarchies(), st.data())
def test_pairs_apart_are_counted_like_pairs(hierarchy: Hierarchy, data: st.DataObject) -> None:
    nodes = hierarchy.nodes
    used = data.draw(st.sets(st.sampled_from(nodes)))
    parents = parents_of(nodes, hierarchy.edge_frame().iter_rows())
    apart = [
        (a, b)
        for a, b in combinations(sorted(used), 2)
        if a not in above(parents, b) and b not in above(parents, a)
    ]

    assert pairs_apart(np.array([node in used for node in nodes]), hierarchy.closure) == len(apart)


@given(st.lists(st.floats(0, 1), max_size=12), st.integers(0, 8), st.floats(0.01, 0.5))
def test_what_the_threshold_lets_pass_is_what_the_adjusted_values_let_pass(
    p_values: list[float], others: int, rate: float
) -> None:
    found, family = np.array(p_values), len(p_values) + others
    limit = threshold(found, family, rate)

    ranked = sorted(p_values)
    ranks = [k for k, p in enumerate(ranked, 1) if p <= k * rate / family]
    assert limit == (max(ranks) * rate / family if ranks else 0.0)
    assert sum(p <= limit for p in p_values) >= max(ranks, default=0)


@given(st.lists(st.floats(0, 1), max_size=20), st.integers(0, 30))
def test_adjusted_p_values_are_those_of_scipy_with_ones_for_the_rest(
    p_values: list[float], untested: int
) -> None:
    family = len(p_values) + untested
    padded = [*p_values, *[1.0] * untested]
    wanted = false_discovery_control(padded or [1.0])[: len(p_values)].tolist()

    assert benjamini_hochberg(np.array(p_values), family).tolist() == pytest.approx(wanted)


@pytest.mark.parametrize("family", range(1, 6))
def test_a_p_value_at_its_bound_is_rejected(family: int) -> None:
    """With a rate of 1/2 the bounds k / 2 / family; all of the family are at theirs, or above."""
    bounds = np.arange(1, family + 1) * 0.5 / family

    assert threshold(bounds, family, 0.5) == 0.5
    assert threshold(np.nextafter(bounds, 1), family, 0.5) == 0.0
    assert threshold(bounds[:1], family, 0.5) == bounds[0]
    assert threshold(np.empty(0), 0, 0.5) == 0.0


def test_ends_in_32_bits_are_found_among_many_nodes() -> None:
    n = 70_000
    ends = np.append(np.arange(n), n - 1), np.append(np.arange(n), n - 2)
    closure = csr_array((np.ones(n + 1, np.int8), ends), shape=(n, n))
    of_all = Family(np.ones(n, np.bool_), closure, np.array([(n - 3) * n + n - 2]))
    a = np.array([n - 4, n - 3, n - 2], np.int32)
    assert of_all.members(a, a + np.int32(1)).tolist() == [0]


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
