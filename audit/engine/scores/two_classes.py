"""Predictions of two classes: accuracy, F1, answers that look at nothing, and rankings by score.

Counts are of examples, of any one shape, and may be weights; those of rankings are of positives and
negatives by distinct score, the highest score first, shape (n_scores, ...), and so are points of a
curve. Further axes, such as bootstrap replicates, are kept. Where a measure has no meaning, it is
NaN.
"""

from __future__ import annotations

import numpy as np

from audit.base.dag import BoolArray, FloatArray
from audit.engine.statistics.association import ratio


def macro_f1(
    true_positive: FloatArray,
    false_positive: FloatArray,
    false_negative: FloatArray,
    true_negative: FloatArray,
) -> FloatArray:
    """Mean of the F1 of both classes, of those that truth or predictions have; NaN without any.

    >>> one = np.ones(())
    >>> round(float(macro_f1(2 * one, one, one, one)), 4)
    0.5833
    """
    wrong = false_positive + false_negative
    f1 = np.stack([ratio(2 * hits, 2 * hits + wrong) for hits in (true_positive, true_negative)])
    return ratio(np.nansum(f1, axis=0), np.count_nonzero(~np.isnan(f1), axis=0))


def random_macro_f1(q: float) -> float:
    """Macro F1 of fair coins, by expected counts, where a share q is positive.

    ``(q / (q + 1/2) + (1 - q) / (3/2 - q)) / 2``; tables 4 and 23 of *AbsPyramid* follow it.

    >>> round(100 * random_macro_f1(0.5930), 2)
    49.56
    """
    return (q / (q + 0.5) + (1 - q) / (1.5 - q)) / 2


def majority_macro_f1(q: float) -> float:
    """Macro F1 of always giving the class that a share q has; it is right for that class alone.

    ``q / (1 + q)``, and 1 if q is 1, since then there is no other class.

    >>> round(100 * majority_macro_f1(0.5930), 2)
    37.23
    """
    return 1.0 if q == 1 else q / (1 + q)


PRECISE = 0.5
"""Precision from which, or above which, the restricted average precisions count."""


def roc_auc(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Chance that a positive scores above a negative, ties counting half; shape (...).

    >>> float(roc_auc(np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])))
    0.625
    """
    above = np.cumsum(positive, axis=0) - positive / 2
    return ratio((above * negative).sum(axis=0), positive.sum(axis=0) * negative.sum(axis=0))


def curve(positive: FloatArray, negative: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Recall and precision of predicting every score from each one up, shape (n_scores, ...).

    Recall is NaN where there are no positives, precision where nothing is predicted.
    """
    right = np.cumsum(positive, axis=0)
    recall = ratio(right, np.broadcast_to(positive.sum(axis=0), right.shape))
    return recall, ratio(right, right + np.cumsum(negative, axis=0))


def average_precision(recall: FloatArray, precision: FloatArray) -> FloatArray:
    """Mean precision at the scores of positives, of each curve, shape (...); NaN without any."""
    return _stepwise(recall, precision, precision >= 0)


def aps(recall: FloatArray, precision: FloatArray) -> FloatArray:
    """Average precision where precision is above .5, stepwise; shape (...).

    That of the code of *AbsPyramid*: points of the curve with precision .5 or less are left out,
    and the recall they reach is gained at the precision of the next point that is kept. It is
    not divided by the recall that is reached, so that it is 1 for a perfect ranking alone.
    NaN without positives.
    """
    return _stepwise(recall, precision, precision > PRECISE)


def aps_trapezoid(recall: FloatArray, precision: FloatArray) -> FloatArray:
    """Area under the precision-recall curve where precision is .5 or above, shape (...).

    That of the evaluation of entailment graphs in *Learning Typed Entailment Graphs with Global
    Soft Constraints* and the papers after it: trapezoids between the points with a precision of .5
    or more, from the highest score on, so that the point of no recall is not among them. NaN
    without positives.
    """
    place = np.arange(len(recall)).reshape(-1, *[1] * (recall.ndim - 1))
    kept = np.where(precision >= PRECISE, place, -1)
    before = np.roll(np.maximum.accumulate(kept, axis=0), 1, axis=0)
    before[:1] = -1
    at = np.maximum(before, 0)
    width = recall - np.take_along_axis(recall, at, axis=0)
    height = (precision + np.take_along_axis(precision, at, axis=0)) / 2
    area = np.where((kept >= 0) & (before >= 0), width * height, 0.0).sum(axis=0)
    return np.where(np.isnan(recall[-1]), np.nan, area)


def _stepwise(recall: FloatArray, precision: FloatArray, kept: BoolArray) -> FloatArray:
    """Sum over kept points of precision times the recall gained since the kept point before."""
    reached = np.maximum.accumulate(np.where(kept, recall, 0 * recall), axis=0)
    gained = np.diff(reached, axis=0, prepend=0.0)
    return np.asarray((gained * np.nan_to_num(precision)).sum(axis=0))
