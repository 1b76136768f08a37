"""Agreement of sets of tokens, and what random sets of the same sizes agree.

*Dynamic Top-k Estimation Consolidates Disagreement between Feature Attribution Methods*,
equations 1 and 2: a token's relevance is the share of the m methods that choose it; agreement is
the mean relevance of the tokens that any method chooses. It equals the mean size of the sets over
the size of their union, for two sets (1 + Jaccard) / 2, and is at least 1 / m.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from audit.base.dag import BoolArray, FloatArray, IntArray, UIntArray
from audit.engine.statistics.association import ratio

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
        members: Which of the sets.
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
