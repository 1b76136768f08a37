"""Shares of many alike, drawn toward what is usual among them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom

from audit.engine.shrinkage import LEAST_SHARES, BetaPrior, beta_prior


def drawn(a: float, b: float, sizes: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = np.array(sizes, np.float64)
    return rng.binomial(sizes, rng.beta(a, b, len(sizes))).astype(np.float64), n


def test_the_fit_comes_near_what_shares_are_drawn_from() -> None:
    found = beta_prior(*drawn(2.0, 6.0, [60] * 2_000))

    assert found is not None
    assert found.a == pytest.approx(2.0, rel=0.1)
    assert found.b == pytest.approx(6.0, rel=0.1)


def test_the_fit_is_at_least_as_likely_as_what_shares_are_drawn_from() -> None:
    k, n = drawn(0.7, 1.5, [30, 45, 200, 1_000] * 20)
    found = beta_prior(k, n)

    assert found is not None
    fitted, true = (
        betabinom.logpmf(k, n, prior.a, prior.b).sum() for prior in (found, BetaPrior(0.7, 1.5))
    )
    assert fitted >= true


def test_few_shares_and_shares_of_one_kind_are_not_shrunk() -> None:
    k, n = drawn(2.0, 6.0, [60] * (LEAST_SHARES - 1))
    rng = np.random.default_rng(3)
    alike = rng.binomial(60, 0.3, 40).astype(np.float64)

    assert beta_prior(k, n) is None
    assert beta_prior(alike, np.full(40, 60.0)) is None
    assert beta_prior(np.zeros(40), np.full(40, 60.0)) is None


@settings(max_examples=100)
@given(st.floats(0.05, 50), st.floats(0.05, 50), st.integers(0, 500), st.integers(0, 500))
def test_a_shrunk_share_lies_between_the_share_and_the_prior_s(
    a: float, b: float, k: int, others: int
) -> None:
    prior, n = BetaPrior(a, b), k + others
    low, high = prior.interval(k, n)
    ends = sorted([prior.shrunk(0, 0), k / n if n else prior.shrunk(0, 0)])

    assert ends[0] - 1e-12 <= prior.shrunk(k, n) <= ends[1] + 1e-12
    assert 0 <= low <= high <= 1


def test_more_instances_draw_less() -> None:
    prior = BetaPrior(2.0, 2.0)

    assert prior.shrunk(9, 10) < prior.shrunk(90, 100) < prior.shrunk(900, 1_000) < 0.9


def test_posterior_intervals_cover_what_shares_are_drawn_from() -> None:
    rng = np.random.default_rng(5)
    truth = rng.beta(2.0, 5.0, 2_000)
    k, n = rng.binomial(40, truth).astype(np.float64), np.full(2_000, 40.0)
    prior = beta_prior(k, n)
    assert prior is not None
    bounds = [prior.interval(counted, 40.0) for counted in k.tolist()]
    covered = [low <= share <= high for (low, high), share in zip(bounds, truth, strict=True)]

    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)
