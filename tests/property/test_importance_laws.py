"""Explanations of others, and correlations of lists, on anything drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from audit.analyses.explanations.lists import batches, fisher, pearson, ranks
from audit.analyses.explanations.other_explanations import random_derangement, random_donors
from fixtures.attributed import lists_of

seeds = st.integers(0, 2**32)
groups = st.lists(st.integers(0, 12), max_size=60).map(
    lambda drawn: np.unique(np.array(drawn, np.int64), return_inverse=True)[1]
)


@given(groups, seeds)
def test_nobody_keeps_a_place_of_their_group_and_no_place_is_given_twice(
    group: np.ndarray, seed: int
) -> None:
    other = random_derangement(group, np.random.default_rng(seed))
    served = np.flatnonzero(other >= 0)
    largest = int(np.bincount(group, minlength=1).max())

    assert (group[other[served]] != group[served]).all()
    assert len(set(other[served].tolist())) == len(served)
    assert len(group) - len(served) == max(2 * largest - len(group), 0)
    assert set(other[served].tolist()) == set(served.tolist())


@given(st.integers(2, 40), seeds)
def test_alone_everybody_gets_the_place_of_another(n: int, seed: int) -> None:
    other = random_derangement(np.arange(n), np.random.default_rng(seed))

    assert sorted(other.tolist()) == list(range(n))
    assert (other != np.arange(n)).all()


def test_derangements_of_four_are_about_equally_likely() -> None:
    rng = np.random.default_rng(0)
    drawn = [tuple(random_derangement(np.arange(4), rng).tolist()) for _ in range(1800)]
    counts = [drawn.count(one) for one in set(drawn)]

    assert len(counts) == 9
    assert max(counts) / min(counts) < 2


@given(groups, seeds, st.integers(1, 5))
def test_a_seed_gives_the_same_draws_and_more_begin_with_fewer(
    group: np.ndarray, seed: int, number: int
) -> None:
    member = np.flatnonzero(np.arange(len(group)) % 3 != 1)
    few, more = (random_donors(member, group, n, seed) for n in (number, number + 2))

    assert np.array_equal(more[:number], few)
    assert (np.delete(more, member, axis=1) == -1).all()
    assert np.isin(more, np.append(member, -1)).all()


values = st.lists(st.integers(-4, 4), max_size=8)


@given(st.lists(st.tuples(values, seeds), max_size=8))
def test_correlations_and_ranks_are_scipys(drawn: list[tuple[list[int], int]]) -> None:
    left = [one for one, _ in drawn]
    right = [np.random.default_rng(s).integers(3, size=len(one)).tolist() for one, s in drawn]
    found = pearson(lists_of(left, np.float64), lists_of(right, np.float64))
    ranked = ranks(lists_of(left, np.float64))

    assert len(found) == len(drawn)
    for place, (one, other) in enumerate(zip(left, right, strict=True)):
        varies = len(set(one)) > 1 and len(set(other)) > 1
        wanted = stats.pearsonr(one, other).statistic if varies else np.nan
        assert found[place] == pytest.approx(wanted, nan_ok=True)
        assert ranked[place].tolist() == (stats.rankdata(one).tolist() if one else [])


@given(st.floats(-1, 1))
def test_fishers_transform_is_finite_or_nothing(r: float) -> None:
    z = float(fisher(np.array([r]))[0])

    assert np.isnan(z) if abs(r) >= 1 - 1e-12 else np.tanh(z) == pytest.approx(r)


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(1, 50))
def test_batches_cover_all_lists_once(lengths: list[int], at_once: int) -> None:
    parts = list(batches(np.array(lengths, np.int64), at_once))
    covered = [place for part in parts for place in range(len(lengths))[part]]

    assert covered == list(range(len(lengths)))
    for part in parts:
        assert sum(lengths[part]) <= at_once or part.stop - part.start == 1
