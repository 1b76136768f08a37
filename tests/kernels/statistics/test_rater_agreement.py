"""Agreement of raters: published figures, brute force over pairs of votes, and other libraries."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa

from audit.base.errors import SchemaError
from audit.engine.statistics.raters import (
    agreement_of_sums,
    agreement_terms,
    equal_votes,
)
from fixtures.abspyramid_paper import AGREEMENT, TABLE_1

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
