"""Calibration: do tuples with a score of valid of .8 turn out valid four times in five?"""

from __future__ import annotations

from typing import Any

import numpy as np

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.intervals import wilson_of_marks

BINS = 10
"""Number of bins of one width."""


def bins(truth: BoolArray, score: FloatArray, group: IntArray) -> list[dict[str, Any]]:
    """``from, to, n, mean_score, valid_share, low, high`` of each bin that has a tuple.

    Args:
        truth: Whether each tuple is valid, shape (n,).
        score: Score of valid, in [0, 1], shape (n,).
        group: Group of each tuple, shape (n,).
    """
    place = _bin_of(score)
    rows = []
    for number in np.unique(place).tolist():
        own = place == number
        low, high = wilson_of_marks(truth[own], group[own])
        about = {"from": number / BINS, "to": (number + 1) / BINS, "n": int(own.sum())}
        means = {"mean_score": float(score[own].mean()), "valid_share": float(truth[own].mean())}
        rows.append({**about, **means, "low": low, "high": high})
    return rows


def calibration_error(truth: BoolArray, score: FloatArray) -> tuple[float, float]:
    """Expected calibration error, and what it would be about if scores were calibrated.

    The first is the mean over tuples of the distance between mean score and valid share of their
    bin. It is above 0 by chance even if every score s is right s of the time; then a bin of n
    tuples is off by about ``sqrt(2 / pi * sum of s (1 - s)) / n``, which the second averages.

    Args:
        truth: Whether each tuple is valid, shape (n,).
        score: Score of valid, in [0, 1], shape (n,).

    Returns:
        Both in [0, 1]; NaN without tuples.
    """
    if not len(score):
        return float("nan"), float("nan")
    place = _bin_of(score)
    off = np.abs(np.bincount(place, weights=score - truth, minlength=BINS))
    variance = np.bincount(place, weights=score * (1 - score), minlength=BINS)
    by_chance = np.sqrt(2 / np.pi * variance)
    return float(off.sum()) / len(score), float(by_chance.sum()) / len(score)


def _bin_of(score: FloatArray) -> IntArray:
    bounds = np.arange(1, BINS) / BINS
    return np.searchsorted(bounds, score, "right").astype(np.int64)
