"""Which tokens an attribution method chooses, and how far sets of tokens agree beside random ones.

Scores are signed: a token that speaks against the label is not among the highest.

*Dynamic Top-k Estimation Consolidates Disagreement between Feature Attribution Methods*,
equations 1 and 2: a token's relevance is the share of the m methods that choose it; agreement is
the mean relevance of the tokens that any method chooses. It equals the mean size of the sets over
the size of their union, for two sets (1 + Jaccard) / 2, and is at least 1 / m.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.special import gammaln

from audit.base.dag import BoolArray, FloatArray, IntArray, UIntArray
from audit.engine.statistics.association import ratio
from audit.engine.statistics.resampling import mixed, unit_keys

MOST_TERMS = 1 << 20
"""Number of terms of a sum that are computed at a time."""
Compat: TypeAlias = Literal["kamp"] | None
"""None: the rule of `scipy.signal.find_peaks` on scores between two minus infinities. "kamp": the
rule of the code released with *Dynamic Top-k Estimation*."""
STEP = np.uint64(0x9E3779B97F4A7C15)
"""Distance between the numbers that are mixed, one for each token."""
NAMING = ("id", "target", "method", "model", "seed")
"""Columns that name a row of attributions."""
ROUNDING = 1e-12
"""Relative difference that rounding alone may make."""


def agreement(chosen: BoolArray) -> FloatArray:
    """Equation 2 of sets of tokens.

    Args:
        chosen: Shape (..., sets, tokens).

    Returns:
        Shape (...); NaN where no token is chosen.
    """
    sizes = chosen.sum(axis=-1)
    return ratio(sizes.sum(axis=-1) / sizes.shape[-1], chosen.any(axis=-2).sum(axis=-1))


def expected_agreement(set_sizes: IntArray, n_tokens: IntArray) -> FloatArray:
    """Mean agreement of independent random sets of these sizes, exactly, for any number of sets.

    ``mean(k) * sum over s = 1..n of (1 / s) * product over j of C(s, k_j) / C(n, k_j)``. The sum is
    the mean of one over the size U of the union: if every token gets a random time in [0, 1], then
    ``1 / U`` is the integral of ``(1 - x)^(U - 1)``, and given that t tokens have come, none of
    them is in a set with the probability that the product states for ``s = n - t``.

    Args:
        set_sizes: Shape (n_rows, m), not negative and not above the number of tokens.
        n_tokens: Shape (n_rows,).

    Returns:
        Shape (n_rows,); NaN where all sets are empty.

    >>> expected_agreement(np.array([[2, 2]]), np.array([5])).round(4).tolist()
    [0.65]
    """
    table = np.column_stack([n_tokens, np.sort(set_sizes, axis=1)])
    rows, which = np.unique(table, axis=0, return_inverse=True)
    log_factorial = gammaln(np.arange(table.max(initial=0) + 1) + 1.0)
    parts = np.split(
        rows, range(0, len(rows), max(MOST_TERMS // (int(rows.max(initial=0)) + 1), 1))
    )
    means = np.concatenate([_mean_size_over_union(part, log_factorial) for part in parts])
    means[rows[:, -1] == 0] = np.nan
    return means[which.reshape(-1)]


def _mean_size_over_union(rows: IntArray, log_factorial: FloatArray) -> FloatArray:
    """Expected agreement of rows of a number of tokens and the ascending sizes of sets."""
    n, k = rows[:, :1], rows[:, 1:]
    s = np.arange(1, int(n.max(initial=0)) + 1)[None]
    logs = np.zeros((len(rows), s.shape[1]))
    for size in k.T[:, :, None]:
        logs += log_factorial[s] - log_factorial[np.maximum(s - size, 0)]
        logs -= log_factorial[n] - log_factorial[n - size]
    terms = np.where((s >= k[:, -1:]) & (s <= n), np.exp(np.minimum(logs, 0.0)) / s, 0.0)
    mean: FloatArray = k.mean(axis=1) * terms.sum(axis=1)
    return mean


def row_keys(rows: pl.DataFrame, seed: int) -> UIntArray:
    """A 64-bit key for each row, from what names it; equal keys for equal rows, in any order."""
    keys = np.zeros(len(rows), np.uint64)
    for column in NAMING:
        names = rows[column].cast(pl.String).fill_null("")
        distinct = names.unique()
        hashed = pl.Series(unit_keys(distinct.to_list(), seed))
        of_rows = names.replace_strict(distinct, hashed, return_dtype=pl.UInt64)
        keys = mixed(keys + of_rows.to_numpy() + STEP)
    return keys


def peaks(scores: FloatArray, compat: Compat = None) -> BoolArray:
    """Dynamic k: local maxima that are at least the mean of their row, shape as given.

    *Dynamic Top-k Estimation Consolidates Disagreement between Feature Attribution Methods*,
    section 4, which asks for more than the mean; with at least the mean, as in the released code,
    every row that is not empty has a peak. A score that misses the mean by rounding alone, as a
    third among thirds may, reaches it. Of equal neighbours the middle one is the peak, of two the
    first; with ``compat="kamp"`` equal tokens at an end are none, nor is the only token of a row.

    Args:
        scores: Shape (..., tokens), one token at least.
        compat: Whose rule.
    """
    from scipy.signal import find_peaks

    n = scores.shape[-1]
    between = np.full((*scores.shape[:-1], n + 2), -np.inf)
    between[..., 1:-1] = scores
    found, about = find_peaks(between.reshape(-1), plateau_size=1)
    if compat == "kamp":
        first, last = about["left_edges"] % (n + 2), about["right_edges"] % (n + 2)
        at_end = (about["plateau_sizes"] > 1) & ((first == 1) | (last == n))
        found = found[~at_end & (n > 1)]
    chosen = np.zeros(between.shape, np.bool_)
    chosen.reshape(-1)[found] = True
    below = scores - scores.max(axis=-1, keepdims=True)
    least = below.sum(axis=-1, keepdims=True) * (1 + ROUNDING)
    reached: BoolArray = chosen[..., 1:-1] & (below * n >= least)
    return reached


@dataclass(frozen=True, eq=False)
class Ranking:
    """Tokens of rows of one length, the highest score first.

    Args:
        order: The tokens in this order, shape (n_rows, length).
        levels: Along the order, how many different scores are higher: equal for equal scores.
    """

    order: IntArray
    levels: IntArray

    @property
    def ranks(self) -> IntArray:
        """Place of each token in the order, from 0."""
        return np.argsort(self.order, axis=1)

    @cached_property
    def bounds(self) -> tuple[IntArray, IntArray]:
        """Along the order, the first and the last place with the same score."""
        n = self.levels.shape[1]
        changes = np.diff(self.levels, axis=1) > 0
        places = np.arange(1, n)
        first, last = np.zeros_like(self.levels), np.full_like(self.levels, n - 1)
        first[:, 1:] = np.where(changes, places, 0)
        last[:, :-1] = np.where(changes, places - 1, n - 1)
        first = np.maximum.accumulate(first, axis=1)
        return first, np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]

    def tied_at(self, k: int) -> BoolArray:
        """Whether a key decided which tokens are the k highest, shape (n_rows,)."""
        if k >= self.levels.shape[1]:
            return np.zeros(len(self.levels), np.bool_)
        return np.asarray(self.levels[:, k - 1] == self.levels[:, k])


def ranking(scores: FloatArray, keys: UIntArray) -> Ranking:
    """Order the tokens of each row by score; of equal scores the order is that of hashed keys.

    Args:
        scores: Shape (n_rows, length), length at least 1.
        keys: Shape (n_rows,).
    """
    order = np.argsort(-scores, axis=1)
    ordered = np.take_along_axis(scores, order, axis=1)
    new = np.diff(ordered, axis=1, prepend=ordered[:, :1]) != 0
    tied = ~new[:, 1:].all(axis=1)
    tokens = np.arange(1, scores.shape[1] + 1, dtype=np.uint64) * STEP
    decide = mixed(keys[tied, None] + tokens)
    order[tied] = np.lexsort((decide, -scores[tied]), axis=1)
    return Ranking(order, np.cumsum(new, axis=1))
