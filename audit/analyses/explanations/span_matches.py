"""Micro and macro F1 of spans of evidence: the same spans, and spans that share a token."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy.special import stdtrit

from audit.analyses.explanations.declared import TABLES
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import LEVEL

MATCHES = ("exact", "overlapping")
CHOICES = ("fixed", "dynamic", "evidence", "positive")
"""Which tokens are chosen: the first k; the peaks; as many as are marked; scores above 0, which is
what a model chooses that says spans itself, with scores of 0 and 1."""
MATCH = 0.5
"""Least intersection over union at which a chosen span counts as a span of the evidence."""
COUNTED = (
    "spans",
    *(f"{of}_{rule}" for rule in CHOICES for of in ("chosen", *MATCHES, "overlapped")),
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
    """F1 of spans, where a chosen span is right if it overlaps a span of the evidence enough.

    A span is a run of neighbouring tokens. It is right if its intersection with a span of the
    evidence is at least half (`MATCH`) of their union; since runs are apart, no span is matched
    twice. Precision is right over chosen spans, recall right over spans of the evidence. From
    *ERASER: A Benchmark to Evaluate Rationalized NLP Models*, section 4.2, for each row.

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
    """F1 of spans by model, method, rule and match.

    With sums over rows of the chosen spans ``C``, those that match ``A``, the spans of the evidence
    ``T`` and those that are matched ``B`` (``A`` where spans are the same), precision is ``A / C``,
    recall ``B / T``, and F1 their harmonic mean, ``2 A B / (A T + B C)``. Micro sums over all rows;
    macro is the mean over labels with a span of the evidence of the F1 of their own sums. Intervals
    are of the linearised F1, with instances as clusters, by Student's t; none where it has no
    spread.

    Args:
        judged: A row per judged row: ``id, target, model, method`` and `COUNTED`.

    Returns:
        The table ``spans``, whose ``labels`` macro is a mean of; no row where no span
        is in the evidence.
    """
    lines = [TABLES["spans"].frame()]
    for names, own in judged.group_by(["model", "method"], maintain_order=True):
        instance, target = (
            own[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in ("id", "target")
        )
        for rule in CHOICES:
            for match in MATCHES:
                matched = "overlapped" if match == "overlapping" else match
                sides = (f"{match}_{rule}", f"{matched}_{rule}", f"chosen_{rule}", "spans")
                of = np.stack([own[side].to_numpy() for side in sides], axis=1).astype(np.float64)
                found = _scores(of, instance, target)
                keys = {"model": names[0], "method": names[1], "rule": rule, "match": match}
                lines.append(pl.DataFrame({**keys, **found}, schema=TABLES["spans"].columns.types))
    table = pl.concat(lines).sort("model", "method", maintain_order=True)
    return table.filter(pl.col("labels") > 0).with_columns(pl.col(pl.Float64).fill_nan(None))


def _scores(of: FloatArray, instance: IntArray, target: IntArray) -> dict[str, float | int]:
    everything = of.sum(axis=0, keepdims=True)
    by_label = np.stack([np.bincount(target, weights=side) for side in of.T], axis=1).astype(
        np.float64
    )
    asked = by_label[:, 3] > 0
    n, labels = int(instance.max()) + 1, int(asked.sum())
    micro, slopes = _f1(everything)
    of_labels, label_slopes = _f1(by_label)
    macro = float(of_labels[asked].mean()) if labels else np.nan
    weights = np.where(asked, 1 / max(labels, 1), 0)[target]
    reach = _reach((of * slopes).sum(axis=1), instance, n)
    label_reach = _reach((of * label_slopes[target]).sum(axis=1) * weights, instance, n)
    precision, recall = ratio(everything[:, [0, 1]], everything[:, [2, 3]])[0]
    return {
        "labels": labels,
        "precision": precision,
        "recall": recall,
        **_interval("micro", float(micro[0]), reach),
        **_interval("macro", macro, label_reach),
        "n": n,
    }


def _f1(of: FloatArray) -> tuple[FloatArray, FloatArray]:
    """F1 of sums ``A, B, C, T``, NaN without a span of the evidence, and its four slopes."""
    a, b, c, t = of.T
    below = a * t + b * c
    f1 = ratio(2 * a * b, below)
    slopes = np.stack([2 * b - f1 * t, 2 * a - f1 * c, -f1 * b, -f1 * a], axis=1)
    value = np.where(t > 0, np.where(below > 0, f1, 0.0), np.nan)
    return value, np.nan_to_num(ratio(slopes, below[:, None]))


def _reach(slopes: FloatArray, instance: IntArray, n: int) -> float:
    """Half the width of a 95 % interval, of the linear part of each row."""
    of_instances = np.bincount(instance, weights=slopes, minlength=n)
    if n < 2 or not of_instances.any():
        return np.nan
    error = np.sqrt((of_instances**2).sum() * n / (n - 1))
    return float(stdtrit(n - 1, (1 + LEVEL) / 2) * error)


def _interval(name: str, value: float, reach: float) -> dict[str, float]:
    ends = (max(value - reach, 0.0), min(value + reach, 1.0)) if reach == reach else (np.nan,) * 2
    return {name: value, f"{name}_low": ends[0], f"{name}_high": ends[1]}
