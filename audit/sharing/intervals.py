"""Intervals from told counts: wide enough for what the bins hide."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from audit.base.dag import FloatArray, IntArray
from audit.engine.statistics.intervals import (
    difference_interval,
    left_by_bins,
    newcombe,
    wilson,
)
from audit.sharing.bins import Bins

Z = 1.96


class Estimates(NamedTuple):
    """Numbers with the ends of their intervals, shape (n,) each; NaN where nothing is told."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


def shares(k: FloatArray, n: FloatArray, width: int, effective: FloatArray) -> Estimates:
    """Shares of told counts, with Wilson's intervals at the n that bins leave.

    Args:
        k: Parts as told.
        n: Wholes as told, above k.
        width: Members of a bin.
        effective: What n weighs: itself, or the effective number of instances in groups.
    """
    q = k / n
    left = left_by_bins(q, n, width, effective)
    return Estimates(q, *wilson(q * left, left))


def differences(one: Estimates, other: Estimates) -> Estimates:
    """The first shares less the second: the distances to their ends, squared and added."""
    return Estimates(one.value - other.value, *difference_interval(one, other))


def difference_at_limit(bins: Bins, k: IntArray, n: IntArray, effective: IntArray) -> float:
    """Lower end of the interval of one share less another, as limits read it, by what bins leave of
    both at their common share.

    Args:
        k: Parts of both, shape (2,).
        n: Wholes, same shape.
        effective: What these weigh as told, same shape.
    """
    read = bins.at_limit(k[0], n[0]), bins.at_upper_limit(k[1], n[1])
    part, whole = np.array(read, np.float64).T
    common = part.sum() / whole.sum()
    (share, other), (left, others) = (
        part / whole,
        left_by_bins(common, whole, bins.width, effective),
    )
    return newcombe(float(share), float(left), float(other), float(others))[0]


def ratios(
    observed: FloatArray,
    expected: FloatArray,
    width: int,
    supports: list[FloatArray],
    effective: FloatArray,
) -> Estimates:
    """Told counts, of so many effective ones, over what grows with two told supports."""
    squares = sum((1 / one**2 for one in (observed, *supports)), np.zeros(len(observed)))
    times = np.exp(Z * np.sqrt(1 / effective + width**2 / 12 * squares))
    ratio = observed / expected
    return Estimates(ratio, ratio / times, ratio * times)
