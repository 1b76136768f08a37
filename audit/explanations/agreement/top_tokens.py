"""Which tokens an attribution method chooses, and how far sets of tokens agree beside random ones.

Scores are signed: a token that speaks against the label is not among the highest.

*Dynamic Top-k Estimation Consolidates Disagreement between Feature Attribution Methods*,
equations 1 and 2: a token's relevance is the share of the m methods that choose it; agreement is
the mean relevance of the tokens that any method chooses. It equals the mean size of the sets over
the size of their union, for two sets (1 + Jaccard) / 2, and is at least 1 / m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import gammaln

from audit.base.dag import BoolArray, FloatArray, IntArray, UIntArray
from audit.engine.statistics.association import ratio
from audit.engine.statistics.resampling import mixed, unit_keys

MOST_TERMS = 1 << 20
"""Number of terms of a sum that are computed at a time."""


def packed(chosen: BoolArray) -> UIntArray:
    """Sets as bits: shape (..., n_tokens) becomes (..., n_words), 64 tokens a word."""
    octets = np.packbits(chosen, axis=-1)
    padded = np.zeros((*octets.shape[:-1], -(-octets.shape[-1] // 8) * 8), np.uint8)
    padded[..., : octets.shape[-1]] = octets
    return padded.view(np.uint64)


def sizes(bits: UIntArray) -> IntArray:
    """Number of tokens of packed sets, shape (..., n_words) becomes (...)."""
    counts: IntArray = np.bitwise_count(bits).sum(axis=-1, dtype=np.int64)
    return counts


def union_sizes(bits: UIntArray, members: Sequence[int]) -> IntArray:
    """Number of tokens in at least one of some sets.

    Args:
        bits: Packed sets, shape (..., n_sets, n_words).
    """
    united = bits[..., members[0], :]
    for member in members[1:]:
        united = united | bits[..., member, :]
    return sizes(united)


def agreement(set_sizes: NDArray[np.integer], union: NDArray[np.integer]) -> FloatArray:
    """Equation 2 from the sizes of the sets and of their union; NaN where no token is chosen.

    Args:
        set_sizes: Shape (..., m).
        union: Shape (...).
    """
    total = set_sizes.sum(axis=-1, dtype=np.float64) / set_sizes.shape[-1]
    return ratio(total, union)


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
    first, inverse = _distinct(table)
    rows = table[first]
    means = np.full(len(rows), np.nan)
    some = rows[:, -1] > 0
    log_factorial = gammaln(np.arange(table.max(initial=0) + 1) + 1.0)
    step = max(MOST_TERMS // (int(n_tokens.max(initial=0)) + 1), 1)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        means[part] = _mean_size_over_union(rows[part], log_factorial)
    means[~some] = np.nan
    return means[inverse]


def _distinct(table: IntArray) -> tuple[IntArray, IntArray]:
    """Places of the different rows of a table, ascending by first column, and which each row is."""
    base = int(table.max(initial=0)) + 1
    if base ** table.shape[1] < 2**62:
        weights = base ** np.arange(table.shape[1] - 1, -1, -1)
        _, first, inverse = np.unique(table @ weights, return_index=True, return_inverse=True)
    else:
        _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


def _mean_size_over_union(rows: IntArray, log_factorial: FloatArray) -> FloatArray:
    """Expected agreement of rows of a number of tokens and the ascending sizes of sets."""
    n, k = rows[:, :1], rows[:, 1:]
    s = np.arange(1, int(n.max()) + 1)[None]
    logs = np.zeros((len(rows), s.shape[1]))
    for size in k.T[:, :, None]:
        logs += log_factorial[s] - log_factorial[np.maximum(s - size, 0)]
        logs -= log_factorial[n] - log_factorial[n - size]
    terms = np.where((s >= k[:, -1:]) & (s <= n), np.exp(np.minimum(logs, 0.0)) / s, 0.0)
    mean: FloatArray = k.mean(axis=1) * terms.sum(axis=1)
    return mean


Compat: TypeAlias = Literal["kamp"] | None
"""None: the rule of `scipy.signal.find_peaks` on scores between two minus infinities. "kamp": the
rule of the code released with *Dynamic Top-k Estimation*."""

STEP = np.uint64(0x9E3779B97F4A7C15)
"""Distance between the numbers that are mixed, one for each token."""
NAMING = ("id", "target", "method", "model", "seed")
"""Columns that name a row of attributions."""


def row_keys(rows: pl.DataFrame, seed: int) -> UIntArray:
    """A 64-bit key for each row, from what names it; equal keys for equal rows, in any order."""
    keys = np.zeros(len(rows), np.uint64)
    for column in NAMING:
        names = rows.select(name=pl.col(column).cast(pl.String).fill_null(""))
        distinct = names["name"].unique()
        table = pl.DataFrame(
            {"name": distinct, "key": pl.Series(unit_keys(distinct.to_list(), seed))}
        )
        of_rows = names.join(table, on="name", how="left", maintain_order="left")
        keys = mixed(keys + of_rows["key"].to_numpy() + STEP)
    return keys


ROUNDING = 1e-12
"""Relative difference that rounding alone may make."""


def above_mean(scores: NDArray[Any]) -> BoolArray:
    """Whether each score is at least the mean of its row, shape as given.

    Distances from the row's highest score are compared, so that the highest is always above. A
    score that misses the mean by rounding alone, as a third among thirds may, reaches it.
    """
    below = scores - scores.max(axis=-1, keepdims=True)
    least = below.sum(axis=-1, keepdims=True) * (1 + ROUNDING)
    reached: BoolArray = below * scores.shape[-1] >= least
    return reached


def local_maxima(values: NDArray[Any], compat: Compat = None) -> BoolArray:
    """Tokens above both neighbours, shape as given; a token at an end has one neighbour.

    Of equal neighbouring tokens that are above both that surround them, the middle one is kept, of
    two middle ones the first. With ``compat="kamp"`` equal tokens at an end are no maximum, and
    neither is the only token of a row.

    Args:
        values: Anything comparable, the tokens along the last axis, at least one.
    """
    n = values.shape[-1]
    flat = np.ascontiguousarray(values).reshape(-1)
    rises, falls = np.ones((2, len(flat)), np.bool_)
    np.greater(flat[1:], flat[:-1], out=rises[1:])
    np.greater(flat[:-1], flat[1:], out=falls[:-1])
    rises[::n] = True
    falls[n - 1 :: n] = True
    chosen = rises & falls
    _add_plateaus(chosen, flat, rises, falls, n if compat == "kamp" else 0)
    if compat == "kamp" and n == 1:
        chosen[:] = False
    return chosen.reshape(values.shape)


def _add_plateaus(
    chosen: BoolArray, flat: NDArray[Any], rises: BoolArray, falls: BoolArray, inner: int
) -> None:
    """Add the middles of equal tokens; `inner`: the row length if those at an end do not count."""
    starts = np.flatnonzero(rises & ~falls)
    starts = starts[flat[starts] == flat[starts + 1]]
    if not len(starts):
        return
    changes = np.flatnonzero(rises | falls)
    ends = changes[np.searchsorted(changes, starts, "right")]
    kept = falls[ends] & (flat[ends] == flat[starts])
    if inner:
        kept &= (starts % inner > 0) & (ends % inner < inner - 1)
    chosen[(starts[kept] + ends[kept]) // 2] = True


def peaks(scores: NDArray[Any], compat: Compat = None) -> BoolArray:
    """Dynamic k: local maxima that are at least the mean of their row, shape as given.

    *Dynamic Top-k Estimation Consolidates Disagreement between Feature Attribution Methods*,
    section 4, which asks for more than the mean; with at least the mean, as in the released code,
    every row that is not empty has a peak.
    """
    return local_maxima(scores, compat) & above_mean(scores)


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
        ranks = np.empty_like(self.order)
        np.put_along_axis(ranks, self.order, np.arange(self.order.shape[1])[None], axis=1)
        return ranks

    @cached_property
    def bounds(self) -> tuple[IntArray, IntArray]:
        """Along the order, the first and the last place with the same score."""
        n = self.levels.shape[1]
        places = np.broadcast_to(np.arange(n), self.levels.shape)
        if not len(self.levels) or self.levels[:, -1].min() == n - 1:
            return places, places
        changes = np.diff(self.levels, axis=1) > 0
        first, last = np.zeros_like(self.levels), np.full_like(self.levels, n - 1)
        first[:, 1:] = np.where(changes, places[:, 1:], 0)
        last[:, :-1] = np.where(changes, places[:, :-1], n - 1)
        first = np.maximum.accumulate(first, axis=1)
        return first, np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]

    def tied_at(self, k: int) -> BoolArray:
        """Whether a key decided which tokens are the k highest, shape (n_rows,)."""
        if not 0 < k < self.levels.shape[1]:
            return np.zeros(len(self.levels), np.bool_)
        return np.asarray(self.levels[:, k - 1] == self.levels[:, k])


def ranking(scores: FloatArray, keys: UIntArray) -> Ranking:
    """Order the tokens of each row by score; of equal scores the order is that of hashed keys.

    Args:
        scores: Shape (n_rows, length), length at least 1.
    """
    n = scores.shape[1]
    order = np.argsort(-scores, axis=1)
    new = np.zeros(scores.shape, np.bool_)
    ordered = np.take_along_axis(scores, order, axis=1)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=new[:, 1:])
    tied = ~new[:, 1:].all(axis=1)
    if tied.any():
        tokens = np.arange(1, n + 1, dtype=np.uint64) * STEP
        decide = mixed(keys[tied, None] + tokens)
        order[tied] = np.lexsort((decide, -scores[tied]), axis=1)
    return Ranking(order, np.cumsum(new, axis=1))
