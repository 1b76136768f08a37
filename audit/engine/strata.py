"""Strata: instances with about as many direct labels, within which pairs are expected fairly.

A record with many labels carries more of everything, so that two nodes meet on it more often than
independence of their supports says. Within a stratum records are about equally long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]

LEAST_LABELS = 2
"""Direct labels from which an instance can carry two nodes through different labels."""
EXACT_LENGTHS = 20
"""Different lengths up to which each is a bin of its own."""
QUANTILES = 20
"""Bins aimed at where there are more."""


def length_histogram(lengths: IntArray) -> IntArray:
    """How many instances have each number of direct labels, from 0 up; empty for no instance.

    >>> length_histogram(np.array([2, 0, 2])).tolist()
    [1, 0, 2]
    """
    return np.bincount(lengths).astype(np.int64)


def merged_histogram(left: IntArray, right: IntArray) -> IntArray:
    """The histogram of two sets of instances together."""
    merged = np.zeros(max(len(left), len(right)), np.int64)
    merged[: len(left)] += left
    merged[: len(right)] += right
    return merged


def length_cuts(histogram: IntArray) -> IntArray:
    """First length of each bin, ascending, from `LEAST_LABELS`; the last bin has no upper end.

    Each length is a bin where at most `EXACT_LENGTHS` occur, else bins are `QUANTILES` quantiles,
    those that end at the same length merged. A function of the histogram alone.

    Args:
        histogram: From `length_histogram`; instances with fewer than two labels do not count.

    Returns:
        Shape (n_bins,), at least one.

    >>> length_cuts(np.array([9, 9, 0, 4, 0, 1])).tolist()
    [2, 5]
    """
    lengths = np.flatnonzero(histogram[LEAST_LABELS:]) + LEAST_LABELS
    if len(lengths) <= EXACT_LENGTHS:
        later = lengths[1:]
    else:
        reached = np.cumsum(histogram[lengths]) * QUANTILES
        wanted = np.arange(1, QUANTILES) * reached[-1] // QUANTILES
        last = np.unique(np.searchsorted(reached, wanted))
        later = lengths[last[last < len(lengths) - 1] + 1]
    return np.concatenate([[LEAST_LABELS], later]).astype(np.int64)


def strata_of(lengths: IntArray, cuts: IntArray, further: Sequence[IntArray] = ()) -> IntArray:
    """Stratum of each instance: its length bin, crossed with further categories.

    Args:
        lengths: Direct labels of each instance, shape (n_instances,).
        cuts: From `length_cuts`, of these or of other instances.
        further: Category numbers of each instance, from 0, one array a column.

    Returns:
        Numbers from 0, those of no instance left out, in order of length bin and categories,
        shape (n_instances,); -1 for an instance with fewer than two labels, which cannot carry
        two nodes through different labels and so adds neither to a count nor to an expectation.
    """
    stratum = np.full(len(lengths), -1, np.int64)
    long = lengths >= LEAST_LABELS
    keys = np.searchsorted(cuts, lengths[long], "right").astype(np.int64)
    for category in further:
        keys = keys * (category.max(initial=0) + 1) + category[long]
    stratum[long] = np.unique(keys, return_inverse=True)[1]
    return stratum
