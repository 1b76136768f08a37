"""Shares of many alike, drawn toward what is usual among them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import beta, betabinom

from audit.engine.statistics.intervals import wilson
from audit.engine.statistics.shrinkage import LEAST_SHARES, SharePrior, _posterior, share_prior
from fixtures.examples import examples


def drawn(a: float, b: float, sizes: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = np.array(sizes, np.float64)
    return rng.binomial(sizes, rng.beta(a, b, len(sizes))).astype(np.float64), n


def alike(seed: int, share: float = 0.445) -> tuple[np.ndarray, np.ndarray]:
    """Counts of 10 to 60 parents that all have one share."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(30, 200, int(rng.integers(LEAST_SHARES, 61)))
    return rng.binomial(sizes, share).astype(np.float64), sizes.astype(np.float64)


def single(a: float, b: float) -> SharePrior:
    return SharePrior((a,), (b,), (1.0,))


def integrated(k: np.ndarray, n: np.ndarray) -> Callable[[float, float], tuple[float, float]]:
    """Interval of a further share by summing over a fine grid of mean and weight themselves.

    The mean is summed where it can be, the weight as 1 - u^2: closely where it is near 1.
    """
    steps = 180
    inside, pooled = (np.arange(steps) + 0.5) / steps, k.sum() / n.sum()
    ends = max(pooled - 0.3, 0.0), min(pooled + 0.3, 1.0)
    mean, root = (axis.ravel() for axis in np.meshgrid(ends[0] + inside * np.ptp(ends), inside))
    size = np.median(n) * (1 - root**2) / root**2
    a, b = mean * size, (1 - mean) * size
    logs = sum(betabinom.logpmf(x, of, a, b) for x, of in zip(k, n, strict=True))
    density = np.exp(logs - np.max(logs)) * root
    density /= density.sum()

    def interval(x: float, of: float) -> tuple[float, float]:
        def below(place: float) -> float:
            return float(density @ beta.cdf(place, a + x, b + of - x))

        return tuple(brentq(lambda p, t=t: below(p) - t, 0, 1) for t in (0.025, 0.975))  # type: ignore[return-value]

    return interval


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "n"),
    [
        drawn(2.0, 6.0, [60] * 40),
        drawn(2.0, 3.0, [30, 45, 200, 1_000] * 10),
        drawn(20.0, 30.0, [30] * 12),
        alike(1),
        alike(2, 0.2),
    ],
)
def test_intervals_are_those_of_the_posterior_integrated_by_another_way(
    k: np.ndarray, n: np.ndarray
) -> None:
    prior, other = _posterior(k, n), integrated(k, n)

    for counted, of in ((15, 30), (0, 40), (190, 200)):
        assert prior.interval(counted, of) == pytest.approx(other(counted, of), abs=0.004)


@pytest.mark.slow
def test_on_homogeneous_shares_the_interval_never_collapses() -> None:
    """Of 15 in 30, among parents that all have one share: Wilson's is .337 wide."""
    widths = np.array([_width(_posterior(*alike(seed)).interval(15, 30)) for seed in range(400)])
    low, high = wilson(15, 30)

    assert widths.min() > 0.045
    assert np.quantile(widths, 0.05) > 0.06
    assert widths.max() < high - low


def _width(ends: tuple[float, float]) -> float:
    return ends[1] - ends[0]


@pytest.mark.parametrize("share", [0.05, 0.445, 0.9])
def test_on_homogeneous_shares_that_pass_for_others_no_interval_collapses(share: float) -> None:
    """One in twenty such releases varies by chance more than it should, and is fitted."""
    fitted = [prior for seed in range(400) if (prior := share_prior(*alike(seed, share)))]
    pooled = 30 * share

    assert 2 < len(fitted) < 50
    assert min(_width(prior.interval(pooled, 30)) for prior in fitted) > 0.15 * _width(
        wilson(pooled, 30)
    )


def test_the_mean_comes_near_what_shares_are_drawn_from() -> None:
    found = share_prior(*drawn(2.0, 6.0, [60] * 2_000))

    assert found is not None
    assert found.shrunk(0, 0) == pytest.approx(0.25, abs=0.01)
    assert found.interval(0, 0) == pytest.approx(beta.interval(0.95, 2.0, 6.0), abs=0.02)


def test_few_shares_and_shares_of_one_kind_are_not_shrunk() -> None:
    k, n = drawn(2.0, 6.0, [60] * (LEAST_SHARES - 1))
    rng = np.random.default_rng(3)
    common = rng.binomial(60, 0.3, 40).astype(np.float64)

    assert share_prior(k, n) is None
    assert share_prior(common, np.full(40, 60.0)) is None
    assert share_prior(np.zeros(40), np.full(40, 60.0)) is None


def test_shares_of_all_or_none_are_drawn_apart() -> None:
    k = np.array([0.0, 60.0] * 20)
    found = share_prior(k, np.full(40, 60.0))

    assert found is not None
    assert found.shrunk(30, 60) == pytest.approx(0.5, abs=0.01)
    assert found.interval(60, 60)[0] > 0.9


@examples(100)
@given(st.floats(0.05, 50), st.floats(0.05, 50), st.integers(0, 500), st.integers(0, 500))
def test_a_shrunk_share_lies_between_the_share_and_the_prior_s(
    a: float, b: float, k: int, others: int
) -> None:
    prior, n = single(a, b), k + others
    low, high = prior.interval(k, n)
    ends = sorted([prior.shrunk(0, 0), k / n if n else prior.shrunk(0, 0)])

    assert ends[0] - 1e-12 <= prior.shrunk(k, n) <= ends[1] + 1e-12
    assert 0 <= low <= high <= 1


@examples(100)
@given(st.floats(0.05, 5_000), st.floats(0.05, 5_000), st.integers(0, 5_000), st.integers(0, 5_000))
def test_of_one_component_the_interval_is_that_of_its_beta(
    a: float, b: float, k: int, others: int
) -> None:
    low, high = single(a, b).interval(k, k + others)

    assert (low, high) == pytest.approx(beta.interval(0.95, a + k, b + others), abs=1e-7)


def test_more_instances_draw_less() -> None:
    prior = single(2.0, 2.0)

    assert prior.shrunk(9, 10) < prior.shrunk(90, 100) < prior.shrunk(900, 1_000) < 0.9


@pytest.mark.slow
def test_posterior_intervals_cover_what_shares_are_drawn_from() -> None:
    rng = np.random.default_rng(5)
    truth = rng.beta(2.0, 5.0, 2_000)
    k, n = rng.binomial(40, truth).astype(np.float64), np.full(2_000, 40.0)
    prior = share_prior(k, n)
    assert prior is not None
    bounds = [prior.interval(counted, 40.0) for counted in k.tolist()]
    covered = [low <= share <= high for (low, high), share in zip(bounds, truth, strict=True)]

    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)


@pytest.mark.slow
def test_of_few_parents_they_cover_too() -> None:
    """Twelve parents tell little of how shares are spread; the intervals know."""
    covered = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        truth = rng.beta(3.0, 4.0, 12)
        k = rng.binomial(30, truth).astype(np.float64)
        prior = _posterior(k, np.full(12, 30.0))
        bounds = [prior.interval(counted, 30.0) for counted in k.tolist()]
        covered += [low <= t <= high for (low, high), t in zip(bounds, truth, strict=True)]

    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)
