"""Macro F1 against scikit-learn, and the closed forms against published baselines."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from audit.engine.scores.two_classes import macro_f1, majority_macro_f1, random_macro_f1
from fixtures.abspyramid_paper import MAJORITY_ACCURACY, RANDOM_F1


def counts_of(rows):
    truth, predicted = (np.array(column, bool) for column in zip(*rows, strict=True))
    cells = (truth & predicted, ~truth & predicted, truth & ~predicted, ~truth & ~predicted)
    return truth, predicted, [np.array(float(cell.sum())) for cell in cells]


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_macro_f1_is_that_of_scikit_learn(rows):
    truth, predicted, counts = counts_of(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = f1_score(truth, predicted, average="macro", zero_division=0)
    assert float(macro_f1(*counts)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("split", ["test", "valid"])
@pytest.mark.parametrize("relation", ["Noun", "Verb", "Event"])
def test_the_published_random_row_follows_the_closed_form(split, relation):
    q = MAJORITY_ACCURACY[split][relation] / 100
    assert round(100 * random_macro_f1(q), 2) == RANDOM_F1[split][relation]


@given(st.integers(1, 400), st.integers(0, 400))
def test_the_closed_forms_are_those_of_expected_counts(positive, negative):
    n = positive + negative
    halves = [np.array(of / 2) for of in (positive, negative, positive, negative)]
    assert random_macro_f1(positive / n) == pytest.approx(float(macro_f1(*halves)), abs=1e-12)
    always = [np.array(float(of)) for of in (positive, negative, 0, 0)]
    assert majority_macro_f1(positive / n) == pytest.approx(float(macro_f1(*always)), abs=1e-12)


def test_majority_macro_f1_at_the_published_share():
    assert round(100 * majority_macro_f1(0.5930), 2) == 37.23


def test_nothing_predicted_has_no_f1():
    zero = np.zeros(())
    assert np.isnan(macro_f1(zero, zero, zero, zero))
