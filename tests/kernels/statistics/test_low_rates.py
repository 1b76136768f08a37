"""Shares that lie below those of all others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom, binom, norm, t

from audit.engine.statistics import shrinkage as tested
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.shrinkage import LEAST_OTHERS, low_rates

COUNTS = st.lists(
    st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), max_size=9
)


@given(
    k=st.integers(0, 40),
    more=st.integers(0, 40),
    mean=st.floats(0.05, 0.95),
    spread=st.floats(0.01, 0.9),
)
def test_tails_are_those_of_scipy(k: int, more: int, mean: float, spread: float) -> None:
    n, size = k + more, (1 - spread) / spread
    if n:
        exact = betabinom.cdf(k, n, mean * size, (1 - mean) * size)
        assert tested._lower_tail(k, n, mean, spread) == pytest.approx(exact, rel=1e-6)
        assert tested._lower_tail(k, n, mean, 0.0) == pytest.approx(binom.cdf(k, n, mean))


@given(COUNTS)
def test_each_share_is_held_against_all_others(counts: list[tuple[int, int]]) -> None:
    k, n = (np.array([one[place] for one in counts], np.int64) for place in (0, 1))
    aside = tested._set_aside(k, n)

    found = low_rates(k, n)

    for place in range(len(k)):
        others = ~aside & (np.arange(len(k)) != place)
        if others.sum() < LEAST_OTHERS:
            assert math.isnan(found.p_value[place])
            continue
        mean, spread = anova(k[others], n[others])
        assert found.others[place] == pytest.approx(mean)
        assert found.spread[place] == pytest.approx(spread, abs=1e-9)
        tail = tested._lower_tail(int(k[place]), int(n[place]), mean, spread)
        m = int(others.sum())
        z = t.ppf(found.p_value[place], m - 1) * math.sqrt(1 + 1 / m)
        assert norm.cdf(z) == pytest.approx(tail, abs=1e-9)


def anova(k: np.ndarray, n: np.ndarray) -> tuple[float, float]:
    """Mean and intraclass correlation of lists of ones and zeros."""
    trials = [[1] * one + [0] * (of - one) for one, of in zip(k.tolist(), n.tolist(), strict=True)]
    everything = [x for own in trials for x in own]
    mean, total, groups = sum(everything) / len(everything), len(everything), len(trials)
    means = [sum(own) / len(own) for own in trials]
    if total == groups:
        return mean, 0.0
    between = sum(len(o) * (m - mean) ** 2 for o, m in zip(trials, means, strict=True)) / (
        groups - 1
    )
    within = sum((x - m) ** 2 for o, m in zip(trials, means, strict=True) for x in o) / (
        total - groups
    )
    typical = (total - sum(len(o) ** 2 for o in trials) / total) / (groups - 1)
    below = between + (typical - 1) * within
    return mean, min(max((between - within) / below, 0.0), 0.99) if below > 1e-12 else 0.0


def drawn(seed: int, shares: np.ndarray, trials: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    n = draw.integers(trials // 3, 2 * trials, len(shares))
    return draw.binomial(n, shares), n


def test_low_shares_do_not_hide_each_other() -> None:
    shares = np.random.default_rng(2).beta(90, 10, 50)
    shares[:5] = 0.5
    k, n = drawn(3, shares, 300)

    q_value = benjamini_hochberg(low_rates(k, n).p_value, 50)

    assert set(np.flatnonzero(q_value <= 0.05)) == set(range(5))


def test_shares_that_differ_anyway_are_seldom_told() -> None:
    told = 0
    for seed in range(30):
        shares = np.random.default_rng(seed).beta(18, 2, 60)
        k, n = drawn(seed + 100, shares, 400)
        told += int((benjamini_hochberg(low_rates(k, n).p_value, 60) <= 0.05).sum())
    assert told <= 0.01 * 30 * 60


@pytest.mark.parametrize("shares", [6, 10, 20])
def test_few_shares_that_differ_anyway_are_seldom_told_either(shares: int) -> None:
    told = 0
    for seed in range(100):
        k, n = drawn(seed, np.random.default_rng(seed).normal(0.917, 0.019, shares), 1600)
        told += bool((benjamini_hochberg(low_rates(k, n).p_value, shares) <= 0.05).any())
    assert told <= 12


def test_one_of_six_that_guesses_is_told() -> None:
    shares = np.array([0.5, 0.93, 0.92, 0.9, 0.89, 0.94])
    k, n = drawn(1, shares, 300)

    q_value = benjamini_hochberg(low_rates(k, n).p_value, 6)

    assert np.flatnonzero(q_value <= 0.05).tolist() == [0]


def test_few_or_no_shares_are_not_tested() -> None:
    assert np.isnan(low_rates(np.array([1, 5, 5]), np.array([5, 5, 5])).p_value).all()
    assert low_rates(np.empty(0, np.int64), np.empty(0, np.int64)).p_value.shape == (0,)


def test_equal_shares_of_one_are_no_finding() -> None:
    found = low_rates(np.array([7, 7, 7, 7, 7]), np.array([7, 7, 7, 7, 7]))
    assert found.p_value.tolist() == [1.0] * 5
