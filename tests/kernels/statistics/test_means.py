"""Means since an earlier release, agreement of raters, and weights of resampling."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import t
from statsmodels.stats.inter_rater import fleiss_kappa

from audit.base.dag import IntArray
from audit.base.errors import SchemaError
from audit.engine.statistics import resampling as subject
from audit.engine.statistics.raters import agreement_of_sums, agreement_terms, equal_votes
from audit.engine.statistics.resampling import (
    group_bootstrap,
    percentile_interval,
    poisson_weights,
    unit_keys,
    weighted_sums,
    with_interval,
)
from audit.engine.statistics.two_rates import LEAST_UNITS, MeanLoss, mean_loss
from fixtures.abspyramid_paper import AGREEMENT, TABLE_1
from fixtures.children import printed_with_threads
from fixtures.examples import examples

Units = list[list[int]]


def counts(units: Units, length: int = 5) -> IntArray:
    flat = [value for unit in units for value in unit]
    return np.bincount(np.array(flat, np.int64), minlength=length).astype(np.int64)


def compared(here: Units, there: Units) -> MeanLoss | None:
    sums: NDArray[np.float64] = np.array([sum(unit) for unit in here], np.float64)
    sizes = np.array([len(unit) for unit in here], np.float64)
    return mean_loss(sums, sizes, counts(here), counts(there), len(there))


def error_of(found: MeanLoss | None, units: int) -> float:
    assert found is not None
    return (found.high - found.low) / 2 / float(t.ppf(0.975, units - 1))


def test_of_single_values_it_is_the_difference_of_two_means() -> None:
    """Depths 1, 1, 2, 3 (variance 11/16) five times, before: 2, 3 (variance 1/4) twenty times."""
    found = compared([[1], [1], [2], [3]] * 5, [[2], [3]] * 20)
    error = math.sqrt(20 / 19 * (11 / 16 / 20 + 1 / 4 / 40))

    assert found is not None
    assert (found.mean, found.before, found.lost) == (1.75, 2.5, 0.75)
    assert found.low + found.high == pytest.approx(1.5)
    assert error_of(found, 20) == pytest.approx(error)
    assert found.p_value == pytest.approx(2 * float(t.sf(0.75 / error, 19)))


def test_repeated_values_are_no_evidence_and_cancelling_ones_no_less_than_single_values() -> None:
    single = compared([[1], [1], [2], [3]] * 5, [[2], [3]] * 20)
    thrice = compared([[1] * 3, [1] * 3, [2] * 3, [3] * 3] * 5, [[2] * 3, [3] * 3] * 20)
    assert error_of(thrice, 20) == pytest.approx(error_of(single, 20))
    cancelling = compared([[1, 3]] * 20, [[2, 4]] * 20)
    assert error_of(cancelling, 20) == pytest.approx(math.sqrt(2 * 1 / 40))
    equal = compared([[1] * 4] * 20, [[2, 2, 3, 3]] * 20)
    assert error_of(equal, 20) == pytest.approx(math.sqrt(4 * 1 / 4 / 80))


def test_releases_without_variation_are_compared_and_few_units_are_not() -> None:
    same, lower = compared([[2]] * 20, [[2]] * 30), compared([[1]] * 20, [[2]] * 30)
    assert same is not None
    assert (same.lost, same.p_value) == (0, 1)
    assert lower is not None
    assert (lower.lost, lower.low, lower.high, lower.p_value) == (1, 1, 1, 0)
    few, enough = [[2, 3]] * (LEAST_UNITS - 1), [[2, 3]] * LEAST_UNITS
    assert compared(few, enough) is compared(enough, few) is None
    assert compared([], enough) is compared(enough, [[]] * LEAST_UNITS) is None
    assert compared(enough, enough) is not None


@pytest.mark.parametrize(("units", "size"), [(12, 1), (12, 20), (60, 6)])
def test_releases_of_one_law_differ_as_seldom_as_is_said(units: int, size: int) -> None:
    rng = np.random.default_rng(3)

    def release() -> Units:
        shallow = rng.beta(1, 3, units)
        drawn = rng.random((units, size)) < shallow[:, None]
        return [[1 if one else 3 for one in own] for own in drawn.tolist()]

    found = [compared(release(), release()) for _ in range(400)]
    told = sum(one is not None and one.p_value <= 0.05 for one in found)

    assert told <= 400 * 0.05 + 3 * (400 * 0.05 * 0.95) ** 0.5


COUNTS = st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=12).map(
    lambda rows: np.array(rows, np.int64)
)
COMPLETE = st.lists(st.lists(st.integers(0, 2), min_size=5, max_size=5), min_size=2, max_size=12)


def rater_agreement(counts):
    """Agreement of the raters of all items."""
    return agreement_of_sums(agreement_terms(counts).sum(axis=0), equal=equal_votes(counts))


def by_pairs(counts):
    """Agreement from Krippendorff's coincidence matrix, written out vote by vote."""
    coincidences = np.zeros((counts.shape[1],) * 2)
    pairs = agreeing = 0
    for row in counts.tolist():
        votes = [category for category, times in enumerate(row) for _ in range(times)]
        for a, b in permutations(range(len(votes)), 2):
            coincidences[votes[a], votes[b]] += 1 / (len(votes) - 1)
            pairs += 1
            agreeing += votes[a] == votes[b]
    marginal = coincidences.sum(axis=0)
    n = marginal.sum()
    observed = coincidences.sum() - np.trace(coincidences)
    expected = (np.outer(marginal, marginal).sum() - (marginal**2).sum()) / (n - 1) if n else 0
    return (agreeing / pairs if pairs else np.nan), (1 - observed / expected if expected else None)


@given(COUNTS)
def test_pairwise_and_alpha_are_those_of_the_coincidence_matrix(counts):
    pairwise, alpha = by_pairs(counts)
    found = rater_agreement(counts)
    assert float(found.pairwise) == pytest.approx(pairwise, abs=1e-12, nan_ok=True)
    assert (np.isnan(found.alpha) and alpha is None) or float(found.alpha) == pytest.approx(alpha)


@given(COMPLETE)
def test_kappa_is_that_of_statsmodels_and_alpha_corrects_it(rows):
    counts = np.array([np.bincount(row, minlength=3) for row in rows], np.int64)
    assume((counts.sum(axis=0) > 0).sum() > 1)
    found = rater_agreement(counts)
    kappa = fleiss_kappa(counts)
    assert float(found.fleiss) == pytest.approx(kappa, abs=1e-12)
    assert float(found.alpha) == pytest.approx(kappa + (1 - kappa) / counts.sum(), abs=1e-12)


def test_ten_items_of_five_votes():
    votes = np.array([5, 5, 5, 5, 4, 4, 1, 1, 0, 0])
    found = rater_agreement(np.column_stack([votes, 5 - votes]))
    assert float(found.pairwise) == pytest.approx(0.84)
    assert float(found.fleiss) == pytest.approx(2 / 3)
    assert round(float(found.alpha), 5) == 0.67333


def test_the_published_pairwise_agreement_implies_the_published_kappa():
    q = TABLE_1["All"].positive / 100
    by_chance = q**2 + (1 - q) ** 2
    kappa = (AGREEMENT["pairwise"] / 100 - by_chance) / (1 - by_chance)
    assert round(kappa, 4) == 0.5380
    assert round(kappa, 2) == AGREEMENT["fleiss"]


def test_raters_with_different_numbers_of_votes_have_no_kappa():
    counts = np.array([[3, 0], [1, 1], [0, 1]], np.int64)
    assert not equal_votes(counts)
    found = rater_agreement(counts)
    assert np.isnan(found.fleiss)
    assert float(found.pairwise) == pytest.approx(6 / 8)


def test_where_all_votes_are_alike_there_is_nothing_to_agree_on():
    found = rater_agreement(np.array([[3, 0], [3, 0]], np.int64))
    assert float(found.pairwise) == 1
    assert np.isnan(found.fleiss)
    assert np.isnan(found.alpha)


def test_without_two_votes_on_an_item_nothing_is_defined():
    found = rater_agreement(np.array([[1, 0], [0, 0]], np.int64))
    assert all(np.isnan(value) for value in (found.pairwise, found.fleiss, found.alpha))


@given(COUNTS, st.data())
def test_weights_are_repeated_items(counts, data):
    times = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=len(counts), max_size=len(counts)))
    )
    weighted = agreement_of_sums(times @ agreement_terms(counts), equal=True)
    repeated = agreement_of_sums(
        agreement_terms(np.repeat(counts, times, axis=0)).sum(axis=0), equal=True
    )
    np.testing.assert_allclose(weighted.alpha, repeated.alpha, atol=1e-12)
    np.testing.assert_allclose(weighted.fleiss, repeated.fleiss, atol=1e-12)


def test_a_negative_count_is_refused():
    with pytest.raises(SchemaError, match="negative"):
        rater_agreement(np.array([[1, -1]], np.int64))


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
    absent = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]])
    low, high = percentile_interval(absent)
    assert (low[0], high[0]) == pytest.approx((1.05, 2.95))
    assert np.isnan([low[1], high[1], *np.concatenate(percentile_interval(absent[:0]))]).all()


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


GROUPS = st.lists(st.integers(0, 3), min_size=1, max_size=12).map(lambda g: np.array(g, np.int64))
NAMES = ["a", "b", "c", "d"]


@given(GROUPS)
def test_sums_are_those_over_copies_of_groups(group):
    values = np.arange(2.0 * len(group)).reshape(-1, 2)
    drawn = group_bootstrap(group, NAMES, replicates=5)
    for replicate, sums in enumerate(drawn.sums(values)):
        times = drawn.weights[group, replicate].astype(int)
        np.testing.assert_allclose(sums, np.repeat(values, times, axis=0).sum(axis=0))
    np.testing.assert_array_equal(drawn.sums(values)[0], values.sum(axis=0))


@given(GROUPS, st.data())
def test_levels_are_counted_in_blocks_as_at_once(group, data):
    n = len(group)
    level = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), np.int64)
    mark = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    drawn = group_bootstrap(group, NAMES, replicates=7)

    def estimate(marked, others):
        return np.stack([marked[0], others[-1]])

    found = drawn.by_level(level, 3, mark, estimate)
    weights = drawn.weights[group]
    np.testing.assert_allclose(found[:, 0], weights[mark & (level == 0)].sum(axis=0))
    np.testing.assert_allclose(found[:, 1], weights[~mark & (level == 2)].sum(axis=0))
    cells, subject._CELLS = subject._CELLS, 6
    try:
        np.testing.assert_array_equal(drawn.by_level(level, 3, mark, estimate), found)
    finally:
        subject._CELLS = cells


@given(GROUPS, st.permutations(range(4)))
def test_replicates_follow_the_names_of_groups_not_their_numbers(group, order):
    values = np.arange(1.0, len(group) + 1)[:, None]
    renamed = group_bootstrap(np.argsort(order)[group], [NAMES[k] for k in order], replicates=9)
    np.testing.assert_allclose(
        renamed.sums(values), group_bootstrap(group, NAMES, replicates=9).sums(values)
    )


def test_an_interval_covers_the_mean_about_as_often_as_it_says():
    random = np.random.default_rng(1)
    covered = 0
    for trial in range(200):
        means = random.normal(size=60)
        group = np.repeat(np.arange(60), 3)
        values = np.column_stack([np.repeat(means, 3), np.ones(180)])
        sums = group_bootstrap(group, [f"{trial}:{k}" for k in range(60)]).sums(values)
        _, low, high = with_interval(sums[:, 0] / sums[:, 1])
        covered += bool(low <= 0 <= high)
    assert 176 <= covered <= 200


def test_an_undefined_value_has_no_interval():
    value, low, high = with_interval(np.array([[np.nan], [1.0], [2.0]]))
    assert np.isnan([value, low, high]).all()
