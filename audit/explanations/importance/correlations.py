"""Pearson correlations of many pairs of short lists at once, on Fisher's scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.explanations.lists import Lists

LEAST_TOKENS = 4
"""Fewest tokens that are correlated: of two tokens, the correlation is always 1 or -1."""

TOKENS_AT_ONCE = 500_000
"""Tokens that are held in memory at once beside the lists themselves."""

_PERFECT = 1 - 1e-12


def sums(lists: Lists[Any]) -> FloatArray:
    """The sum of each list, shape (n_lists,); 0 for an empty one."""
    return _reduced(np.add, lists)


def varies(lists: Lists[np.float64]) -> BoolArray:
    """Whether a list has two different values, shape (n_lists,)."""
    return np.asarray(_reduced(np.maximum, lists) != _reduced(np.minimum, lists))


def standardised(lists: Lists[np.float64]) -> Lists[np.float64]:
    """Each list less its mean, over its Euclidean length; all 0 where it does not vary."""
    lengths = lists.lengths
    mean = sums(lists) / np.maximum(lengths, 1)
    centred = Lists(lists.values - np.repeat(mean, lengths), lists.starts)
    norm = np.sqrt(sums(Lists(centred.values**2, lists.starts)))
    scale = np.divide(1.0, norm, out=np.zeros(len(norm)), where=varies(lists) & (norm > 0))
    return Lists(centred.values * np.repeat(scale, lengths), lists.starts)


def pearson(left: Lists[np.float64], right: Lists[np.float64]) -> FloatArray:
    """Pearson's correlation of each pair of lists of equal length, shape (n_pairs,).

    NaN where a list of the pair does not vary, as an empty one does not.
    """
    products = standardised(left).values * standardised(right).values
    r = sums(Lists(products, left.starts)).clip(-1, 1)
    r[~(varies(left) & varies(right))] = np.nan
    return r


def fisher(r: FloatArray) -> FloatArray:
    """Inverse hyperbolic tangent of correlations: NaN, not infinite, where they are 1 or -1."""
    return np.arctanh(np.where(np.abs(r) < _PERFECT, r, np.nan))


def is_perfect(r: FloatArray) -> BoolArray:
    """Whether a correlation is 1 or -1, for which Fisher's scale has no number."""
    return np.asarray(np.abs(r) >= _PERFECT)


def batches(lengths: IntArray, at_once: int = TOKENS_AT_ONCE) -> Iterator[slice]:
    """Consecutive slices of lists with about so many values together; one list at least."""
    ends = np.cumsum(lengths)
    start, before = 0, 0
    while start < len(lengths):
        end = max(int(np.searchsorted(ends, before + at_once, "right")), start + 1)
        yield slice(start, end)
        start, before = end, int(ends[end - 1])


def _reduced(over: np.ufunc, lists: Lists[Any]) -> FloatArray:
    result = np.zeros(len(lists))
    filled = lists.lengths > 0
    if filled.any():
        values = np.asarray(lists.values, dtype=np.float64)
        result[filled] = over.reduceat(values, lists.starts[:-1][filled])
    return result
