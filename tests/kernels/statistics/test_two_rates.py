"""Two shares compared: published examples, symmetry, and exact tails as the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, hypergeom

from audit.engine.statistics.intervals import difference_interval, newcombe, wilson
from audit.engine.statistics.two_rates import (
    GroupSums,
    difference_p_value,
    effective_counts,
    least_expected,
    odds_ratio,
    share_p_value,
)

Sides = tuple[int, int, int, int]


@st.composite
def sides(draw: st.DrawFn) -> Sides:
    n_old, n_new = draw(st.integers(1, 400)), draw(st.integers(1, 400))
    return draw(st.integers(0, n_old)), n_old, draw(st.integers(0, n_new)), n_new


def one(count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([count], np.int64)


def interval(k_old: int, n_old: int, k_new: int, n_new: int) -> tuple[float, float]:
    new, old = ((k / n, *wilson(k, n)) for k, n in ((k_new, n_new), (k_old, n_old)))
    return difference_interval(new, old)


def test_newcombes_own_example() -> None:
    low, high = interval(48, 80, 56, 70)

    assert low == pytest.approx(0.0524, abs=5e-5)
    assert high == pytest.approx(0.3339, abs=5e-5)


@given(sides())
def test_an_interval_holds_its_difference_and_swapping_negates_it(case: Sides) -> None:
    k_old, n_old, k_new, n_new = case
    low, high = interval(k_old, n_old, k_new, n_new)
    swapped_low, swapped_high = interval(k_new, n_new, k_old, n_old)

    assert -1 - 1e-12 <= low <= k_new / n_new - k_old / n_old + 1e-12
    assert k_new / n_new - k_old / n_old - 1e-12 <= high <= 1 + 1e-12
    assert swapped_low == pytest.approx(-high)
    assert swapped_high == pytest.approx(-low)
    assert (low, high) == pytest.approx(newcombe(k_new / n_new, n_new, k_old / n_old, n_old))


@given(sides())
def test_against_none_of_very_many_it_is_the_wilson_interval(case: Sides) -> None:
    k_old, n_old, _, _ = case
    low, high = interval(k_old, n_old, 0, 10**12)
    own_low, own_high = wilson(k_old, n_old)

    assert (-high, -low) == pytest.approx((own_low, own_high), abs=1e-6)


@given(sides())
def test_swapping_leaves_the_chance_and_inverts_the_odds(case: Sides) -> None:
    k_old, n_old, k_new, n_new = case
    there = difference_p_value(one(k_old), n_old, one(k_new), n_new)[0]
    back = difference_p_value(one(k_new), n_new, one(k_old), n_old)[0]
    odds = odds_ratio(one(k_old), n_old, one(k_new), n_new)[0]
    inverse = odds_ratio(one(k_new), n_new, one(k_old), n_old)[0]

    assert 0 <= there <= 1
    assert there == pytest.approx(back)
    assert odds == (pytest.approx(1 / inverse) if inverse else np.inf)


@given(sides())
def test_equal_shares_are_no_surprise(case: Sides) -> None:
    k_old, n_old, _, _ = case

    assert difference_p_value(one(k_old), n_old, one(2 * k_old), 2 * n_old)[0] == 1
    assert odds_ratio(one(k_old), n_old, one(2 * k_old), 2 * n_old)[0] == 1


@pytest.mark.parametrize(("n_old", "n_new"), [(5000, 5000), (500, 5000), (300, 200), (900, 80)])
def test_the_chance_is_the_exact_one_of_fisher(n_old: int, n_new: int) -> None:
    random = np.random.default_rng(n_old)
    old = random.integers(0, n_old // 2, 4000)
    times = random.uniform(0.3, 2, 4000)
    new = random.binomial(n_new, np.clip(old / n_old * times, 0, 1))
    kept = least_expected(old, n_old, new, n_new) >= 5
    old, new = old[kept], new[kept]
    law = hypergeom(n_old + n_new, old + new, n_new)
    exact = np.minimum(1, 2 * np.minimum(law.cdf(new), law.sf(new - 1)))
    found = difference_p_value(old, n_old, new, n_new)

    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-300)


@given(st.integers(0, 200), st.integers(0, 200), st.floats(0.05, 0.95))
def test_a_split_is_judged_by_the_binomial(k_new: int, k_old: int, share: float) -> None:
    found = share_p_value(one(k_new), one(k_old), np.array([share]))[0]
    total = k_new + k_old
    if total:
        greater = binomtest(k_new, total, share, alternative="greater").pvalue
        less = binomtest(k_new, total, share, alternative="less").pvalue
        wanted = greater if k_new >= total * share else less
        assert found == pytest.approx(min(2 * wanted, 1), rel=1e-6, abs=1e-12)
    else:
        assert found == 1


def test_the_family_is_decided_by_the_total_alone() -> None:
    old, new = np.array([0, 5, 10]), np.array([10, 5, 0])

    assert least_expected(old, 100, new, 100).tolist() == [5, 5, 5]
    assert least_expected(old, 100, new, 300).tolist() == [2.5, 2.5, 2.5]


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=2, max_size=30))
def test_independent_instances_vary_as_the_groups_do(groups: list[list[bool]]) -> None:
    """Alone they are themselves; copied within groups they count as the groups."""
    shares = np.array([sum(own) / len(own) for own in groups])
    instances = sum(map(len, groups))
    one = GroupSums(shares[:, None].sum(0), (shares[:, None] ** 2).sum(0), len(groups), instances)
    (k, n), again = effective_counts(one, one)
    q, spread = float(shares.mean()), float(shares.var())
    wanted = len(groups) * q * (1 - q) / spread if spread > 1e-12 else len(groups)
    assert (k.tolist(), n.tolist()) == (again[0].tolist(), again[1].tolist())
    assert n[0] == pytest.approx(max(1, min(instances, wanted)), abs=0.5 + 1e-9)
    assert k[0] / n[0] == pytest.approx(q)
    if all(len({*own}) == 1 for own in groups):
        assert n[0] == len(groups)
