"""Predictions of two classes: accuracy, F1, and the closed forms of answers that look at nothing.

Counts are of examples by truth and prediction, of any one shape, and may be weights.
"""

from __future__ import annotations

import numpy as np

from audit.base.dag import FloatArray
from audit.engine.statistics.ratios import ratio


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
