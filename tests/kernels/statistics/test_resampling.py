"""Weights that order and batches do not change, and percentile intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.engine.statistics.resampling import (
    percentile_interval,
    poisson_weights,
    unit_keys,
    weighted_sums,
)
from fixtures.children import printed_with_threads
from fixtures.examples import examples

IDS = [f"unit {i}" for i in range(2000)]


def test_weights_are_poisson_with_mean_one() -> None:
    weights = poisson_weights(unit_keys(IDS, 0), 100)
    shares = np.bincount(weights.astype(int).ravel(), minlength=5)[:5] / weights.size
    wanted = [math.exp(-1) / math.factorial(k) for k in range(5)]

    assert shares == pytest.approx(wanted, abs=0.005)
    assert weights.mean() == pytest.approx(1, abs=0.01)
    assert weights.var() == pytest.approx(1, abs=0.02)


def test_replicates_and_units_are_uncorrelated() -> None:
    weights = poisson_weights(unit_keys(IDS, 0), 40)
    off_diagonal = np.corrcoef(weights.T)[~np.eye(40, dtype=bool)]

    assert np.abs(off_diagonal).max() < 5 / math.sqrt(len(IDS))
    assert np.corrcoef(weights[:-1].ravel(), weights[1:].ravel())[0, 1] == pytest.approx(
        0, abs=0.02
    )


def test_a_weight_depends_on_unit_seed_and_replicate_alone() -> None:
    whole = poisson_weights(unit_keys(IDS, 5), 30)
    backwards = poisson_weights(unit_keys(IDS[::-1], 5), 30)[::-1]
    alone = np.vstack([poisson_weights(unit_keys([unit], 5), 30) for unit in IDS[:20]])

    assert (whole == backwards).all()
    assert (whole[:20] == alone).all()
    assert (whole[:, :10] == poisson_weights(unit_keys(IDS, 5), 10)).all()
    assert (whole != poisson_weights(unit_keys(IDS, 6), 30)).mean() > 0.5


def test_a_group_is_drawn_as_a_whole() -> None:
    weights = poisson_weights(unit_keys(["a", "b", "a"], 0), 50)

    assert (weights[0] == weights[2]).all()
    assert (weights[0] != weights[1]).any()


def test_weights_are_the_same_on_every_machine() -> None:
    keys = unit_keys(["a", "é", "\ud800"], 1)

    assert poisson_weights(keys, 8).astype(int).tolist() == FIXED


FIXED = [[0, 0, 0, 1, 0, 0, 2, 0], [0, 0, 2, 2, 2, 0, 3, 1], [0, 1, 1, 1, 3, 2, 2, 1]]


def test_an_interval_is_between_percentiles() -> None:
    estimates = np.random.default_rng(0).normal(size=(200, 3))
    low, high = percentile_interval(estimates)

    assert low == pytest.approx(np.percentile(estimates, 2.5, axis=0))
    assert high == pytest.approx(np.percentile(estimates, 97.5, axis=0))


def test_undefined_replicates_are_left_out() -> None:
    estimates = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]])
    low, high = percentile_interval(estimates)

    assert (low[0], high[0]) == pytest.approx((1.05, 2.95))
    assert np.isnan([low[1], high[1]]).all()


def test_without_replicates_there_is_no_interval() -> None:
    low, high = percentile_interval(np.empty((0, 2)))

    assert np.isnan(low).all()
    assert np.isnan(high).all()


CHILD = """
import hashlib
import numpy as np
from audit.engine.statistics.resampling import poisson_weights, weighted_sums
draw = np.random.default_rng(0)
for n, columns in ((30_000, 5), (8_192, 63)):
    weights = poisson_weights(draw.integers(0, 2**63, n).astype(np.uint64))
    sums = weighted_sums(draw.random((n, columns)), weights)
    print(hashlib.sha256(sums.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_sums_have_the_same_bytes_on_any_number_of_threads() -> None:
    assert len(set(printed_with_threads(CHILD, "OPENBLAS_NUM_THREADS"))) == 1


@examples(20)
@given(st.integers(0, 3), st.integers(0, 40), st.integers(0, 3), st.integers(0, 2**32))
def test_sums_are_products_of_matrices(columns: int, n: int, replicates: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    values, weights = draw.normal(size=(n, columns)), draw.normal(size=(n, replicates))
    sums = weighted_sums(values, weights)
    assert sums.shape == (replicates, columns)
    for weight, of_weight in zip(weights.T, sums, strict=True):
        for value, total in zip(values.T, of_weight, strict=True):
            assert total == pytest.approx(math.fsum(weight * value), abs=1e-12)
