"""Pairs of similar texts: candidates by MinHash, then the exact similarity of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, IntArray, Sparse, UIntArray
from audit.engine.statistics.resampling import mixed

SHINGLE = 5
"""Characters of a shingle; a shorter text is one shingle, filled up with blanks."""
BANDS, ROWS = 16, 4
"""Bands of the signature of a text and minima in each: `BANDS` * `ROWS` hashes in all."""
NEIGHBOURS = 32
"""Texts with a band in common with which each is compared: the next ones in order."""

_STEP = np.uint64(0x9E3779B97F4A7C15)
_AT_ONCE = 100_000
"""Pairs that are verified at a time."""


def miss_rate(similarity: float) -> float:
    """Chance that a pair of a Jaccard similarity s is not a candidate: (1 - s^rows)^bands.

    >>> round(miss_rate(0.8), 5)
    0.00022
    """
    return float((1 - similarity**ROWS) ** BANDS)


@dataclass(frozen=True, eq=False)
class Shingles:
    """Sets of shingles of texts.

    Args:
        keys: A 64-bit key of each shingle, text after text, with repetitions.
        starts: Where the shingles of each text start, shape (n_texts + 1,).
    """

    keys: UIntArray
    starts: IntArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def of(self, text: int) -> set[int]:
        """The keys of one text."""
        return set(self.keys[self.starts[text] : self.starts[text + 1]].tolist())


def shingles_of(texts: Sequence[str]) -> Shingles:
    """The character shingles of texts, none of which may be empty."""
    padded = [text.ljust(SHINGLE) for text in texts]
    lengths = np.array([len(text) for text in padded], np.int64) - SHINGLE + 1
    starts = np.concatenate([[0], np.cumsum(lengths)])
    letters = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), np.uint32)
    within = np.arange(starts[-1]) + np.repeat(np.arange(len(texts)) * (SHINGLE - 1), lengths)
    keys = np.zeros(len(within), np.uint64)
    for place in range(SHINGLE):
        keys *= _STEP
        keys += letters[within + place] + np.uint64(1)
    return Shingles(mixed(keys), starts)


def similar_pairs(shingles: Shingles, least: float) -> tuple[IntArray, FloatArray]:
    """Pairs of texts whose sets of shingles have at least this Jaccard similarity.

    Candidates are pairs that agree in all minima of a band of their MinHash signatures (*On the
    resemblance and containment of documents*); the similarity of each is then computed, so that no
    pair is wrong. A pair is missed with the chance `miss_rate` of its similarity, and where more
    than `NEIGHBOURS` texts agree in every band in which it does.

    Args:
        shingles: Of the texts.
        least: The least similarity, above 0.

    Returns:
        Two columns of places i < j, in order, shape (n_pairs, 2), and similarities, shape
        (n_pairs,). Texts without a shingle do not occur.
    """
    if len(shingles) < 2:
        return np.empty((0, 2), np.int64), np.empty(0)
    candidates = _candidates(_signatures(shingles))
    similarity = _similarities(shingles, candidates) if len(candidates) else np.empty(0)
    kept = similarity >= least
    return candidates[kept], similarity[kept]


def _signatures(shingles: Shingles) -> UIntArray:
    """A number for each band of each text, shape (n_texts, `BANDS`)."""
    odd = mixed(np.arange(1, BANDS * ROWS + 1, dtype=np.uint64) * _STEP) | np.uint64(1)
    bands = np.zeros((len(shingles), BANDS), np.uint64)
    for place, factor in enumerate(odd):
        least = np.minimum.reduceat(shingles.keys * factor, shingles.starts[:-1])
        bands[:, place // ROWS] = mixed(bands[:, place // ROWS] * _STEP + least)
    return bands


def _candidates(bands: UIntArray) -> IntArray:
    pairs = []
    for band in bands.T:
        order = np.argsort(band, kind="stable")
        ordered = band[order]
        for ahead in range(1, min(NEIGHBOURS, len(order) - 1) + 1):
            same = np.flatnonzero(ordered[ahead:] == ordered[:-ahead])
            if not len(same):
                break
            pairs.append(np.sort(np.column_stack([order[same], order[same + ahead]]), axis=1))
    return np.unique(np.concatenate(pairs), axis=0) if pairs else np.empty((0, 2), np.int64)


def _similarities(shingles: Shingles, pairs: IntArray) -> FloatArray:
    """Exact Jaccard similarity of pairs of texts, shape (n_pairs,)."""
    texts, places = np.unique(pairs, return_inverse=True)
    lengths = np.diff(shingles.starts)[texts]
    within = np.repeat(shingles.starts[texts] - np.cumsum(lengths) + lengths, lengths)
    keys = shingles.keys[within + np.arange(lengths.sum())]
    _, column = np.unique(keys, return_inverse=True)
    row = np.repeat(np.arange(len(texts)), lengths)
    has: Sparse = csr_array((np.ones(len(row)), (row, column)))
    has.sum_duplicates()
    has.data[:] = 1.0
    sizes = np.diff(has.indptr).astype(np.float64)
    left, right = places.reshape(pairs.shape).T
    found = np.empty(len(pairs))
    for start in range(0, len(pairs), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        both = np.asarray(has[left[some]].multiply(has[right[some]]).sum(axis=1)).ravel()
        found[some] = both / (sizes[left[some]] + sizes[right[some]] - both)
    return found
