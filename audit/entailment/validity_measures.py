"""Measures of answers, with what each replicate of a bootstrap gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.scores.two_classes import aps, aps_trapezoid, average_precision, macro_f1, roc_auc
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import wilson_of_marks
from audit.engine.statistics.resampling import GroupBootstrap
from audit.entailment.dataset import Questions
from audit.entailment.declared import ALL, TABLES
from audit.entailment.graph.text_graph import chain_counts, text_graph
from audit.entailment.validity_answers import MODEL, Answers

LABELS = "labels"
"""Kind of the rows that are of the labels of the tuples that a model predicts."""


def consistency(tuples: pl.DataFrame, frame: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Chains of predicted edges, and whether their ends are predicted to be joined."""
    keys = ("model", "trained_on")
    predicted = pl.coalesce("valid", pl.col("score") >= threshold)
    answered = frame.select(*keys, "id", predicted=predicted).drop_nulls("predicted")
    rows = []
    for (model, trained_on), own in answered.group_by(keys, maintain_order=True):
        about = {"model": model, "trained_on": trained_on}
        stated = tuples.join(own.select("id", "predicted"), on="id")
        for kind, valid in ((MODEL, "predicted"), (LABELS, "valid")):
            rows += [{**about, "kind": kind, **line} for line in _counts(stated, valid)]
    return TABLES["detection_consistency"].frame(rows).sort(keys, maintain_order=True)


def _counts(stated: pl.DataFrame, valid: str) -> list[dict[str, object]]:
    """A line per relation, and one for all where there are several."""
    by_relation = chain_counts(text_graph(_edges(stated, valid))).rename(
        {"chains_valid": "closed", "chains_denied": "broken", "chains_open": "open"}
    )
    together = by_relation.select(pl.lit(ALL).alias("relation"), pl.exclude("relation").sum())
    parts = [by_relation, together] if by_relation.height > 1 else [by_relation]
    judged = pl.col("closed") + pl.col("broken")
    share = pl.when(judged > 0).then(pl.col("closed") / judged)
    return pl.concat(parts).with_columns(closed_share=share).to_dicts()


def _edges(stated: pl.DataFrame, valid: str) -> pl.DataFrame:
    """One row per relation, instance and concept, valid or invalid by the most of its tuples.

    An edge with as many valid tuples as invalid ones is neither.
    """
    judged = stated.filter(pl.col("instance") != pl.col("concept"))
    counts = judged.group_by("relation", "instance", "concept").agg(
        share=pl.col(valid).mean(), heads=pl.col("head").n_unique().cast(pl.Int64)
    )
    return counts.select(
        "relation",
        pl.lit("").alias("context"),
        "instance",
        "concept",
        valid=(pl.col("share") > 0.5).cast(pl.Int64),
        invalid=(pl.col("share") < 0.5).cast(pl.Int64),
        heads="heads",
    )


BINS = 10
"""Number of bins of one width."""


def bins(truth: BoolArray, score: FloatArray, group: IntArray) -> list[dict[str, Any]]:
    """``from, to, n, mean_score, valid_share, low, high`` of each bin that has a tuple."""
    place = _bin_of(score)
    rows = []
    for number in np.unique(place).tolist():
        own = place == number
        low, high = wilson_of_marks(truth[own], group[own])
        about = {"from": number / BINS, "to": (number + 1) / BINS, "n": int(own.sum())}
        means = {"mean_score": float(score[own].mean()), "valid_share": float(truth[own].mean())}
        rows.append({**about, **means, "low": low, "high": high})
    return rows


def calibration_error(truth: BoolArray, score: FloatArray) -> tuple[float, float]:
    """Expected calibration error, and what it would be about if scores were calibrated.

    The first is the mean over tuples of the distance between mean score and valid share of their
    bin. It is above 0 by chance even if every score s is right s of the time; then a bin of n
    tuples is off by about ``sqrt(2 / pi * sum of s (1 - s)) / n``, which the second averages.

    Args:
        truth: Whether each tuple is valid, shape (n,).
        score: Score of valid, in [0, 1], shape (n,).

    Returns:
        Both in [0, 1]; NaN without tuples.
    """
    if not len(score):
        return float("nan"), float("nan")
    place = _bin_of(score)
    off = np.abs(np.bincount(place, weights=score - truth, minlength=BINS))
    variance = np.bincount(place, weights=score * (1 - score), minlength=BINS)
    by_chance = np.sqrt(2 / np.pi * variance)
    return float(off.sum()) / len(score), float(by_chance.sum()) / len(score)


def _bin_of(score: FloatArray) -> IntArray:
    bounds = np.arange(1, BINS) / BINS
    return np.searchsorted(bounds, score, "right").astype(np.int64)


ACCURACY, STRICT, MACRO_F1 = "accuracy", "accuracy_strict", "macro_f1"
RANKING = {
    "roc_auc": roc_auc,
    "average_precision": average_precision,
    "aps": aps,
    "aps_trapezoid": aps_trapezoid,
}
"""Measures of scores that only use their order."""
BRIER, CALIBRATION = "brier", "calibration_error"
OF_PROBABILITIES = (BRIER, CALIBRATION)
"""Measures of scores that are probabilities, which those of some baselines are not meant to be."""
OF_SCORES = (*RANKING, *OF_PROBABILITIES)
"""Measures that need a score of every answered tuple."""
LEVELS = 4_096
"""Largest number of different scores in a replicate: neighbours beyond it count as tied, which
moves the ends of an interval by less than one part in a thousand."""
MEASURES = (ACCURACY, STRICT, MACRO_F1, *OF_SCORES)
"""All measures, in report order."""


def scored_rows(answers: Answers, rows: IntArray) -> bool:
    """Whether all answered tuples among some have a score, and there is one."""
    answered = rows[answers.answered[rows]]
    return len(answered) > 0 and not np.isnan(answers.score[answered]).any()


def estimates(questions: Questions, answers: Answers, rows: IntArray) -> Mapping[str, FloatArray]:
    """All measures of answers on some tuples, all of which are answered.

    Returns:
        By measure an array of shape (1 + replicates,), the first being that of the data; without
        the calibration error and the strict accuracy. Empty without tuples.
    """
    if not len(rows):
        return {}
    drawn = questions.drawn.of(rows)
    truth, predicted = questions.valid[rows], answers.predicted[rows]
    scored = scored_rows(answers, rows)
    score = answers.score[rows] if scored else np.zeros(len(rows))
    sums = drawn.sums(np.column_stack([*_cells(truth, predicted), (score - truth) ** 2]))
    true_positive, false_positive, false_negative, true_negative, squares = sums.T
    total = sums[:, :4].sum(axis=1)
    made = {
        ACCURACY: ratio(true_positive + true_negative, total),
        MACRO_F1: macro_f1(true_positive, false_positive, false_negative, true_negative),
    }
    if not scored:
        return made
    of_probability = {BRIER: ratio(squares, total)} if answers.kind == MODEL else {}
    return made | _ranked(drawn, truth, score) | of_probability


def _ranked(drawn: GroupBootstrap, truth: BoolArray, score: FloatArray) -> dict[str, FloatArray]:
    """Measures of order, exact for the data; replicates see at most `LEVELS` different scores."""
    levels, place = np.unique(-score, return_inverse=True)
    counts = [
        np.bincount(place, weights=of, minlength=len(levels)).astype(np.float64)
        for of in (truth, ~truth)
    ]

    def estimate(positive: FloatArray, negative: FloatArray) -> FloatArray:
        return np.stack([measure(positive, negative) for measure in RANKING.values()])

    least = min(len(levels), LEVELS)
    coarse = place.astype(np.int64) * least // len(levels)
    found = drawn.by_level(coarse, least, truth, estimate)
    found[0] = estimate(*counts)
    return dict(zip(RANKING, found.T, strict=True))


def _cells(truth: BoolArray, predicted: BoolArray) -> tuple[FloatArray, ...]:
    """True positives, false positives, false negatives, true negatives, each of shape (n,)."""
    cells = (truth & predicted, ~truth & predicted, truth & ~predicted, ~truth & ~predicted)
    return tuple(cell.astype(np.float64) for cell in cells)
