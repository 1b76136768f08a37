"""How well scores of tokens, and sets of tokens, match the tokens that people point to.

Everything is over matrices: rows of one length, tokens along the last axis. Equal scores share a
rank where a whole ranking is judged; where the first k are judged, hashed keys decide.
"""

from __future__ import annotations

import numpy as np

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.ratios import ratio
from audit.explanations.agreement.top_tokens import Ranking

MATCH = 0.5
"""Least intersection over union at which a chosen span counts as a span of the evidence."""


def ranking_measures(order: Ranking, evidence: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Average precision, and the area under the curve of precision and recall.

    With the different scores as thresholds, ``P_g`` and ``R_g`` are precision and recall of the
    tokens with the g highest scores, ``P_0 = 1`` and ``R_0 = 0``: average precision is
    ``sum (R_g - R_(g-1)) P_g``; the area is ``sum (R_g - R_(g-1)) (P_g + P_(g-1)) / 2``, as in
    *ERASER: A Benchmark to Evaluate Rationalized NLP Models*.

    Returns:
        Each of shape (n_rows,), NaN without evidence.
    """
    relevant = np.take_along_axis(evidence, order.order, axis=1)
    hits = np.cumsum(relevant, axis=1)
    first, last = order.bounds
    precision = hits / np.arange(1, evidence.shape[1] + 1)
    at_end = np.take_along_axis(precision, last, axis=1)
    before = np.take_along_axis(precision, np.maximum(first - 1, 0), axis=1)
    before[first == 0] = 1.0
    total = hits[:, -1]
    average = ratio((relevant * at_end).sum(axis=1), total)
    return average, ratio((relevant * (at_end + before)).sum(axis=1) / 2, total)


def precision_at(order: Ranking, evidence: BoolArray, k: int) -> FloatArray:
    """Average precision of the first k: precision at each hit among them, over ``min(k, hits)``.

    Returns:
        Shape (n_rows,), NaN without evidence.
    """
    relevant = np.take_along_axis(evidence, order.order[:, :k], axis=1)
    places = np.arange(1, relevant.shape[1] + 1)
    gained = (relevant * np.cumsum(relevant, axis=1) / places).sum(axis=1)
    return ratio(gained, np.minimum(evidence.sum(axis=1), k))


def chance_of_precision_at(total: IntArray, n: int, k: int) -> FloatArray:
    """Expected average precision of the first k of a random ranking, without ties; k = n: of all.

    ``sum over i = 1..min(k, n) of (1 / i) (R / n) (1 + (i - 1) (R - 1) / (n - 1)) / min(k, R)`` for
    R tokens of evidence among n.
    """
    i = np.arange(1, min(k, n) + 1)
    harmonic, places = float((1 / i).sum()), len(i)
    more = (total - 1) / max(n - 1, 1)
    gained = total / n * (harmonic + more * (places - harmonic))
    return ratio(gained, np.minimum(total, k))


def kendall(order: Ranking, marks: FloatArray) -> FloatArray:
    """Kendall's tau-b of scores and marks, shape (n_rows,); NaN where either is constant.

    For every token the tokens with a lower score are counted, those with a lower mark less those
    with a higher one, one value of the marks after the other. Time grows with the number of
    different marks, not with the square of the length.
    """
    n = marks.shape[1]
    ordered = np.take_along_axis(marks, order.order, axis=1)
    first, last = order.bounds
    excess, tied_marks = np.zeros((2, len(marks)))
    for mark in np.unique(marks):
        own = ordered == mark
        sign = np.cumsum((ordered < mark).astype(np.int64) - (ordered > mark), axis=1)
        below = sign[:, -1:] - np.take_along_axis(sign, last, axis=1)
        excess += (own * below).sum(axis=1)
        count = own.sum(axis=1)
        tied_marks += count * (count - 1) / 2
    pairs = n * (n - 1) / 2
    tied_scores = (last - first).sum(axis=1) / 2
    return ratio(excess, np.sqrt((pairs - tied_scores) * (pairs - tied_marks)))


def mass_inside(weights: FloatArray, evidence: BoolArray) -> FloatArray:
    """Share of the weights that lies on the evidence; NaN without weight or without evidence."""
    share = ratio((weights * evidence).sum(axis=1), weights.sum(axis=1))
    return np.where(evidence.any(axis=1), share, np.nan)


def set_measures(chosen: BoolArray, evidence: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Jaccard index and F1 of the chosen tokens and the evidence; NaN without evidence."""
    both = (chosen & evidence).sum(axis=1)
    sizes = chosen.sum(axis=1) + evidence.sum(axis=1)
    defined = evidence.any(axis=1)
    jaccard, f1 = ratio(both, sizes - both), ratio(2 * both, sizes)
    return np.where(defined, jaccard, np.nan), np.where(defined, f1, np.nan)


def span_f1(chosen: BoolArray, evidence: BoolArray) -> FloatArray:
    """F1 of spans, where a chosen span is right if it overlaps a span of the evidence enough.

    A span is a run of neighbouring tokens. It is right if its intersection with a span of the
    evidence is at least half (`MATCH`) of their union; since runs are apart, no span is matched
    twice. Precision is right over chosen spans, recall right over spans of the evidence. From
    *ERASER: A Benchmark to Evaluate Rationalized NLP Models*, section 4.2, for each row.

    Returns:
        Shape (n_rows,), NaN without evidence.
    """
    starts, number, lengths = _spans(chosen)
    starts_there, number_there, lengths_there = _spans(evidence)
    starts_both, _, shared = _spans(chosen & evidence)
    places = np.flatnonzero(starts_both)
    united = lengths[number[places]] + lengths_there[number_there[places]] - shared
    right = np.zeros(chosen.shape, np.bool_)
    right.reshape(-1)[places] = shared >= MATCH * united
    spans, spans_there = starts.sum(axis=1), starts_there.sum(axis=1)
    f1 = ratio(2 * right.sum(axis=1), spans + spans_there)
    return np.where(spans_there > 0, f1, np.nan)


def _spans(marked: BoolArray) -> tuple[BoolArray, IntArray, IntArray]:
    """Whether a span starts at each token, the number of each marked token's span, and lengths."""
    starts = marked.copy()
    starts[:, 1:] &= ~marked[:, :-1]
    number = np.cumsum(starts.reshape(-1)) - 1
    lengths = np.bincount(number[marked.reshape(-1)], minlength=int(number[-1]) + 1)
    return starts, number, lengths
