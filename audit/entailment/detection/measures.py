"""Measures of answers, with what each replicate of a bootstrap gives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.scores.binary_ranking import aps, aps_trapezoid, average_precision, roc_auc
from audit.engine.scores.two_classes import macro_f1
from audit.engine.statistics.group_bootstrap import GroupBootstrap
from audit.engine.statistics.ratios import ratio
from audit.entailment.detection.answers import Answers
from audit.entailment.detection.measurements import MODEL
from audit.entailment.questions import Questions

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

    Args:
        questions: The tuples.
        answers: The answers.
        rows: Tuples that are answered.

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
