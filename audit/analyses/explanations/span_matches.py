"""Micro and macro F1 of spans of evidence: the same spans, and spans that share a token."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import polars as pl
from scipy.special import stdtrit

from audit.analyses.explanations.declared import TABLES
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import LEVEL

MATCHED_BY = {"exact": "exact", "overlapping": "overlapped"}
"""By match the count of spans of the evidence that are matched."""
CHOICES = ("fixed", "dynamic", "evidence", "positive")
"""Which tokens are chosen: the first k; the peaks; as many as are marked; scores above 0, which is
what a model chooses that says spans itself, with scores of 0 and 1."""
MATCH = 0.5
"""Least intersection over union at which a chosen span counts as a span of the evidence."""
COUNTED = (
    "spans",
    *(f"{of}_{rule}" for rule in CHOICES for of in ("chosen", *MATCHED_BY, "overlapped")),
)
"""Counts of a row: spans of the evidence, and for each rule chosen spans, those that are a span of
the evidence, those that share a token with one, and spans of the evidence that one shares."""


def spans_of(marked: BoolArray) -> tuple[BoolArray, IntArray, IntArray]:
    """Whether a span starts at each token, the number of each marked token's span, and lengths."""
    starts = marked.copy()
    starts[:, 1:] &= ~marked[:, :-1]
    number = np.cumsum(starts.reshape(-1)) - 1
    lengths = np.bincount(number[marked.reshape(-1)], minlength=int(number[-1]) + 1)
    return starts, number, lengths


def span_f1(chosen: BoolArray, evidence: BoolArray) -> FloatArray:
    """F1 of spans, where a chosen one is right if it overlaps one of the evidence enough (ERASER).

    Since runs of tokens are apart, no span is matched twice.

    Returns:
        Shape (n_rows,), NaN without evidence.
    """
    starts, number, lengths = spans_of(chosen)
    starts_there, number_there, lengths_there = spans_of(evidence)
    starts_both, _, shared = spans_of(chosen & evidence)
    places = np.flatnonzero(starts_both)
    united = lengths[number[places]] + lengths_there[number_there[places]] - shared
    right = np.zeros(chosen.shape, np.bool_)
    right.reshape(-1)[places] = shared >= MATCH * united
    spans, spans_there = starts.sum(axis=1), starts_there.sum(axis=1)
    f1 = ratio(2 * right.sum(axis=1), spans + spans_there)
    return np.where(spans_there > 0, f1, np.nan)


def matched_spans(
    rule: str, chosen: BoolArray, evidence: BoolArray
) -> Iterator[tuple[str, IntArray]]:
    """The counts `COUNTED` of rows of one length for one rule, those of the evidence left out."""
    starts, number, lengths = spans_of(chosen)
    starts_there, number_there, lengths_there = spans_of(evidence)
    first = np.flatnonzero(starts & starts_there)
    same = np.zeros(chosen.size, np.bool_)
    same[first] = lengths[number[first]] == lengths_there[number_there[first]]
    both = chosen & evidence
    yield f"chosen_{rule}", starts.sum(axis=1)
    yield f"exact_{rule}", same.reshape(chosen.shape).sum(axis=1)
    yield f"overlapping_{rule}", _touched(starts, number, both)
    yield f"overlapped_{rule}", _touched(starts_there, number_there, both)


def _touched(starts: BoolArray, number: IntArray, both: BoolArray) -> IntArray:
    """How many spans of each row hold a token that both sides mark."""
    held = np.zeros(int(starts.sum()), np.bool_)
    held[number[both.reshape(-1)]] = True
    at_start = np.zeros(starts.shape, np.bool_)
    at_start[starts] = held
    return np.asarray(at_start.sum(axis=1))


def span_scores(judged: pl.DataFrame) -> pl.DataFrame:
    """The table ``spans``: F1 by model, method, rule and match (docs/methods/agreement.md).

    Args:
        judged: A row per judged row: ``id, target, model, method`` and `COUNTED`.

    Returns:
        No row where no span is in the evidence; no interval where the F1 has no spread.
    """
    lines = []
    for (model, method), own in judged.group_by(["model", "method"], maintain_order=True):
        instance, target = (own[name].rank("dense").to_numpy() - 1 for name in ("id", "target"))
        for rule, (match, matched) in product(CHOICES, MATCHED_BY.items()):
            sides = (f"{match}_{rule}", f"{matched}_{rule}", f"chosen_{rule}", "spans")
            named = {"model": model, "method": method, "rule": rule, "match": match}
            counts = np.stack([own[side].cast(pl.Float64).to_numpy() for side in sides], axis=1)
            lines.append(named | _scores(counts, instance, target))
    table = TABLES["spans"].frame(lines).sort("model", "method", maintain_order=True)
    return table.filter(pl.col("labels") > 0).with_columns(pl.col(pl.Float64).fill_nan(None))


def _scores(counts: FloatArray, instance: IntArray, target: IntArray) -> dict[str, float | int]:
    everything = counts.sum(axis=0, keepdims=True)
    by_label = np.stack([np.bincount(target, side) for side in counts.T], axis=1).astype(np.float64)
    asked = by_label[:, 3] > 0
    labels = int(asked.sum())
    (micro, slopes), (of_labels, label_slopes) = _f1(everything), _f1(by_label)
    weights = np.where(asked, 1 / max(labels, 1), 0)[target]
    macro = float(of_labels[asked].mean()) if labels else np.nan
    precision, recall = ratio(everything[:, [0, 1]], everything[:, [2, 3]])[0]
    linear = (counts * slopes).sum(axis=1)
    of_rows = (counts * label_slopes[target]).sum(axis=1) * weights
    return {
        "labels": labels,
        "precision": precision,
        "recall": recall,
        **_interval("micro", float(micro[0]), linear, instance),
        **_interval("macro", macro, of_rows, instance),
        "n": int(instance.max()) + 1,
    }


def _f1(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """F1 of sums ``A, B, C, T``, NaN without a span of the evidence, and its four slopes."""
    a, b, c, t = counts.T
    below = a * t + b * c
    f1 = ratio(2 * a * b, below)
    slopes = np.stack([2 * b - f1 * t, 2 * a - f1 * c, -f1 * b, -f1 * a], axis=1)
    value = np.where(t > 0, np.where(below > 0, f1, 0.0), np.nan)
    return value, np.nan_to_num(ratio(slopes, below[:, None]))


def _interval(name: str, value: float, linear: FloatArray, instance: IntArray) -> dict[str, float]:
    """A value with its 95 % interval, by the linear part of each row, instances as clusters."""
    of_instances = np.bincount(instance, linear)
    n, ends = len(of_instances), (np.nan, np.nan)
    if n > 1 and of_instances.any():
        error = np.sqrt((of_instances**2).sum() * n / (n - 1))
        reach = float(stdtrit(n - 1, (1 + LEVEL) / 2) * error)
        ends = (max(value - reach, 0.0), min(value + reach, 1.0))
    return {name: value, f"{name}_low": ends[0], f"{name}_high": ends[1]}
