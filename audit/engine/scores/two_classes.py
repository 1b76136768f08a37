"""Predictions of two classes: accuracy, F1, answers that look at nothing, and rankings by score.

Counts are of examples, of any one shape, and may be weights; those of rankings are of positives and
negatives by distinct score, the highest score first, shape (n_scores, ...). Further axes, such as
bootstrap replicates, are kept. Where a measure has no meaning, it is NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import FloatArray
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
    of_positive, of_negative = (
        _f1(right, false_positive + false_negative) for right in (true_positive, true_negative)
    )
    both = np.stack([of_positive, of_negative])
    known = ~np.isnan(both)
    total = np.where(known, both, 0.0).sum(axis=0)
    count = known.sum(axis=0)
    return ratio(total, count)


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


def _f1(right: FloatArray, wrong: FloatArray) -> FloatArray:
    both = 2 * right + wrong
    return ratio(2 * right, both)


PRECISE = 0.5
"""Precision from which, or above which, the restricted average precisions count."""


def roc_auc(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Chance that a positive scores above a negative, ties counting half; shape (...).

    >>> float(roc_auc(np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])))
    0.625
    """
    above = np.cumsum(positive, axis=0)
    above -= positive / 2
    return ratio((above * negative).sum(axis=0), positive.sum(axis=0) * negative.sum(axis=0))


def average_precision(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Mean over positives of the precision at their score, shape (...); NaN without positives."""
    precision, recall = precision_recall(positive, negative)
    return _where_positive(_stepwise(precision, recall), positive)


def aps(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Average precision where precision is above .5, stepwise; shape (...).

    That of the code of *AbsPyramid*: points of the curve with precision .5 or less are left out,
    and the recall they reach is gained at the precision of the next point that is kept. It is
    not divided by the recall that is reached, so that it is 1 for a perfect ranking alone.
    NaN without positives.
    """
    precision, recall = precision_recall(positive, negative)
    return _where_positive(_stepwise(precision, recall, precision > PRECISE), positive)


def aps_trapezoid(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Area under the precision-recall curve where precision is .5 or above, shape (...).

    That of the evaluation of entailment graphs in *Learning Typed Entailment Graphs with Global
    Soft Constraints* and the papers after it: trapezoids between the points with a precision of .5
    or more, from the highest score on, so that the point of no recall is not among them. NaN
    without positives.
    """
    precision, recall = precision_recall(positive, negative)
    kept = (precision >= PRECISE) & (np.cumsum(positive + negative, axis=0) > 0)
    before = _kept_before(kept)
    some = kept & (before >= 0)
    at = np.maximum(before, 0)
    width = recall - np.take_along_axis(recall, at, axis=0)
    height = (precision + np.take_along_axis(precision, at, axis=0)) / 2
    return _where_positive(np.where(some, width * height, 0.0).sum(axis=0), positive)


def precision_recall(positive: FloatArray, negative: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Precision and recall of predicting every score from each one up, shape (n_scores, ...).

    Precision is 0 where nothing is predicted, recall 0 where there are no positives.
    """
    right = np.cumsum(positive, axis=0)
    predicted = np.cumsum(negative, axis=0)
    predicted += right
    total = positive.sum(axis=0)
    precision = np.divide(right, predicted, out=np.zeros_like(right), where=predicted > 0)
    recall = np.divide(right, total, out=np.zeros_like(right), where=total > 0)
    return precision, recall


def _stepwise(
    precision: FloatArray, recall: FloatArray, kept: NDArray[np.bool_] | None = None
) -> FloatArray:
    """Sum over kept points of precision times the recall gained since the kept point before."""
    reached = recall if kept is None else np.maximum.accumulate(recall * kept, axis=0)
    gained = np.diff(reached, axis=0, prepend=0.0)
    found: FloatArray = (gained * precision).sum(axis=0)
    return found


def _kept_before(kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Place of the last kept point before each one, -1 where there is none."""
    places = np.arange(len(kept)).reshape(-1, *[1] * (kept.ndim - 1))
    last = np.maximum.accumulate(np.where(kept, places, -1), axis=0)
    return np.concatenate([np.full((1, *kept.shape[1:]), -1), last[:-1]]) if len(kept) else last


def _where_positive(value: FloatArray, positive: FloatArray) -> FloatArray:
    return np.where(positive.sum(axis=0) > 0, value, np.nan)
