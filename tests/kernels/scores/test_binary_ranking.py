"""Ranking measures against scikit-learn and against the definitions written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score

from audit.engine.scores.two_classes import aps, aps_trapezoid, average_precision, roc_auc

EXAMPLES = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=40).filter(
    lambda rows: len({truth for truth, _ in rows}) == 2
)


def by_score(rows):
    truth, score = (np.array(column) for column in zip(*rows, strict=True))
    levels, place = np.unique(-score, return_inverse=True)
    counts = [np.bincount(place[of], minlength=len(levels)).astype(float) for of in (truth, ~truth)]
    return truth, score, counts


@given(EXAMPLES)
def test_auc_and_average_precision_are_those_of_scikit_learn(rows):
    truth, score, counts = by_score(rows)
    assert float(roc_auc(*counts)) == pytest.approx(roc_auc_score(truth, score), abs=1e-12)
    expected = average_precision_score(truth, score)
    assert float(average_precision(*counts)) == pytest.approx(expected, abs=1e-12)


@given(EXAMPLES)
def test_aps_is_the_sum_over_points_of_the_curve_above_one_half(rows):
    truth, score, counts = by_score(rows)
    precision, recall, _ = precision_recall_curve(truth, score)
    kept = precision > 0.5
    expected = -np.sum(np.diff(recall[kept]) * precision[kept][:-1])
    assert float(aps(*counts)) == pytest.approx(expected, abs=1e-12)


@given(EXAMPLES)
def test_aps_by_trapezoids_is_the_area_over_points_from_one_half(rows):
    truth, score, counts = by_score(rows)
    precision, recall, _ = precision_recall_curve(truth, score)
    kept = precision[:-1] >= 0.5
    points = recall[:-1][kept], precision[:-1][kept]
    expected = auc(*points) if kept.sum() > 1 else 0.0
    assert float(aps_trapezoid(*counts)) == pytest.approx(expected, abs=1e-12)


def test_the_three_average_precisions_of_one_ranking():
    truth = [1, 0, 1, 0, 0, 1, 0, 0]
    _, _, counts = by_score([(bool(y), -place) for place, y in enumerate(truth)])
    assert round(float(average_precision(*counts)), 5) == 0.72222
    assert round(float(aps(*counts)), 5) == 0.55556
    assert round(float(aps_trapezoid(*counts)), 5) == 0.36111


@given(EXAMPLES)
def test_replicates_are_measured_as_each_alone(rows):
    _, _, counts = by_score(rows)
    several = [np.stack([of, 2 * of, np.zeros_like(of)], axis=1) for of in counts]
    for measure in (roc_auc, average_precision, aps, aps_trapezoid):
        alone = float(measure(*counts))
        np.testing.assert_allclose(measure(*several), [alone, alone, np.nan], atol=1e-12)


@given(EXAMPLES, st.lists(st.integers(0, 2), min_size=40, max_size=40))
def test_a_weight_is_a_number_of_copies(rows, times):
    copied = [row for row, many in zip(rows, times, strict=False) for _ in range(many)]
    if len({truth for truth, _ in copied}) < 2:
        return
    truth, score, _ = by_score(rows)
    levels, place = np.unique(-score, return_inverse=True)
    weight = np.array(times[: len(rows)], float)
    weighted = [np.bincount(place, weight * of, minlength=len(levels)) for of in (truth, ~truth)]
    _, _, counts = by_score(copied)
    for measure in (roc_auc, average_precision, aps, aps_trapezoid):
        assert float(measure(*weighted)) == pytest.approx(float(measure(*counts)), abs=1e-12)


def test_one_class_ranks_nothing():
    none, some = np.zeros(3), np.array([1.0, 0.0, 2.0])
    assert np.isnan(roc_auc(some, none))
    assert np.isnan(roc_auc(none, some))
    assert all(np.isnan(measure(none, some)) for measure in (average_precision, aps, aps_trapezoid))
