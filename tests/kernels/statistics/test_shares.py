"""Intervals and tests of shares against published values, exact tails and coverage."""

from __future__ import annotations

from math import comb, fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, hypergeom

from audit.engine.statistics.intervals import (
    at_freedom,
    difference_interval,
    effective_n,
    intraclass_correlation,
    newcombe,
    p_above,
    wilson,
)
from audit.engine.statistics.two_rates import (
    GroupSums,
    difference_p_value,
    effective_counts,
    least_expected,
    odds_ratio,
    share_p_value,
)


def test_wilson_gives_known_bounds() -> None:
    for k, n, low, high in [
        (0, 0, 0.0, 1.0),
        (8, 10, 0.490162, 0.943318),
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (15, 148, 0.062387, 0.160513),  # Newcombe (1998), table I: 0.0624 and 0.1605
        (81, 263, 0.255258, 0.366219),  # the same: 0.2553 and 0.3662
    ]:
        assert wilson(k, n) == pytest.approx((low, high), abs=1e-4)


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), min_size=1))
def test_wilson_of_several_shares_is_that_of_each(shares: list[tuple[int, int]]) -> None:
    n = np.array([n for _, n in shares])
    k = np.minimum([k for k, _ in shares], n)
    low, high = wilson(k, n)

    assert [*zip(low, high, strict=True)] == [wilson(*one) for one in zip(k, n, strict=True)]


@given(st.integers(0, 200), st.integers(1, 200))
def test_wilson_holds_its_share_within_zero_and_one(k: int, n: int) -> None:
    k = min(k, n)
    low, high = wilson(k, n)

    assert 0 <= low <= k / n <= high <= 1
    assert low < high


@given(st.integers(0, 100), st.integers(1, 100))
def test_wilson_mirrors_its_complement(k: int, n: int) -> None:
    k = min(k, n)
    low, high = wilson(k, n)

    assert wilson(n - k, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_wilson_covers_its_level_on_average() -> None:
    for level in [0.8, 0.9, 0.95, 0.99]:
        n = 40
        bounds = [wilson(k, n, level) for k in range(n + 1)]
        shares = np.linspace(0.1, 0.9, 161)
        coverage = [
            fsum(
                comb(n, k) * p**k * (1 - p) ** (n - k)
                for k, (low, high) in enumerate(bounds)
                if low <= p <= high
            )
            for p in shares
        ]

        assert np.mean(coverage) == pytest.approx(level, abs=0.015)


groups = st.lists(
    st.tuples(st.integers(1, 20), st.integers(0, 20)).map(lambda g: (g[0], min(g))), min_size=1
)


@given(groups)
def test_effective_n_lies_between_one_and_n(drawn: list[tuple[int, int]]) -> None:
    n, k = np.array(drawn, float).T

    assert 1 <= effective_n(k, n) <= n.sum() * (1 + 1e-12)


def test_what_known_groups_are_worth() -> None:
    """Constant ones their number, coins nearly all instances; large ones that make the share."""
    for size in (1.0, 2.0, 5.0, 40.0):
        n = np.full(50, size)
        assert effective_n(np.where(np.arange(50) < 20, n, 0), n) == pytest.approx(50, abs=1.01)
        assert effective_n(0 * n, n) == effective_n(n, n) == pytest.approx(50)
    assert effective_n(np.array([30.0]), np.array([40.0])) == 1
    assert effective_n(np.array([]), np.array([])) == 0
    coins = np.random.default_rng(7).binomial(5, 0.3, 400).astype(float)
    assert effective_n(coins, np.full(400, 5.0)) == pytest.approx(2000, rel=0.15)
    assert effective_n(np.full(20, 2.0), np.full(20, 4.0)) == 80, "no more than their instances"
    n, k = np.array([14.0, 12, 1, 1, 1, 1]), np.array([14.0, 12, 1, 1, 0, 0])
    assert effective_n(k, n) == pytest.approx(30**2 / (14**2 + 12**2 + 4))
    # published two-sided 5 % points: 2.571 at 5 and 2.045 at 29 degrees of freedom
    assert at_freedom(20, 30, 6) == pytest.approx(20 * (2.045 / 2.571) ** 2, rel=1e-3)
    assert at_freedom(1, 30, 1) == 0


@given(groups.filter(lambda drawn: len(drawn) > 1), st.integers(2, 9))
def test_instances_given_twice_are_no_more_evidence_than_their_groups(
    drawn: list[tuple[int, int]], times: int
) -> None:
    n, k = np.array([(size, min(size, at) and size) for size, at in drawn], float).T

    assert effective_n(times * k, times * n) == pytest.approx(effective_n(k, n))


def test_the_intraclass_correlation_by_hand() -> None:
    k, n = np.array([2.0, 1, 0]), np.array([2.0, 2, 2])
    between, within = 2 * (0.5**2 + 0.5**2) / 2, 0.5 / 3

    found = intraclass_correlation(k, n)

    assert found == pytest.approx((between - within) / (between + within))


@given(st.floats(1, 1e4), st.integers(2, 10_000), st.sampled_from([0.5, 0.95, 0.999]))
def test_fewer_groups_are_worth_less(effective: float, n: int, level: float) -> None:
    worth = [at_freedom(effective, n, groups, level) for groups in range(1, min(n, 40))]

    assert worth == sorted(worth)
    assert at_freedom(effective, n, n, level) == effective >= max(worth)


@given(st.integers(1, 60), st.data(), st.sampled_from([0.1, 0.5, 0.75]))
def test_p_above_is_the_upper_tail_of_the_binomial(
    n: int, data: st.DataObject, limit: float
) -> None:
    k = data.draw(st.integers(0, n))
    tail = fsum(comb(n, i) * limit**i * (1 - limit) ** (n - i) for i in range(k, n + 1))

    assert p_above(k / n, n, n, n, limit) == pytest.approx(tail, abs=1e-9)


@given(st.floats(0, 1), st.integers(2, 500), st.floats(0, 1), st.data())
def test_p_above_with_fewer_groups_is_no_smaller(
    share: float, n: int, limit: float, data: st.DataObject
) -> None:
    groups = data.draw(st.integers(1, n))
    effective = data.draw(st.floats(1, n))

    p = p_above(share, effective, n, groups, limit)
    assert p_above(share, effective, n, n, limit) <= p <= 1


def test_one_group_and_the_highest_limit_tell_nothing() -> None:
    assert p_above(1.0, 1.0, 40, 1, 0.5) == 1.0
    assert p_above(1.0, 40.0, 40, 40, 1.0) == 1.0
    assert p_above(0.0, 40.0, 40, 40, 0.5) == 1.0
    assert p_above(0.1, 40.0, 40, 40, 0.0) == 0.0


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
