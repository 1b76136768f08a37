"""Answers of models and baselines on the tuples that are measured, and measures of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.entailment.dataset import TRAIN, EntailmentDataset, Questions
from audit.analyses.entailment.declared import ALL, TABLES
from audit.analyses.entailment.graph.text_graph import chain_counts, text_graph
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.scores.two_classes import aps, aps_trapezoid, average_precision, macro_f1, roc_auc
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import wilson_of_marks
from audit.engine.statistics.resampling import GroupBootstrap, unit_keys

MODEL, BASELINE = "model", "baseline"
"""Kinds of what answers."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of one model or baseline, each array of shape (n,) in the order of `Questions`.

    Args:
        trained_on: What it was trained on, where the file says so.
        score: Score of valid; NaN where there is none.
    """

    kind: str
    model: str
    trained_on: str | None
    predicted: BoolArray
    answered: BoolArray
    score: FloatArray
    unparsable: BoolArray

    def about(self) -> dict[str, str | None]:
        """The columns that name it."""
        return {"kind": self.kind, "model": self.model, "trained_on": self.trained_on}


def _whole(name: str, predicted: BoolArray, score: FloatArray) -> Answers:
    """Answers of a baseline to every tuple."""
    n = len(predicted)
    nothing = np.zeros(n, np.bool_)
    return Answers(BASELINE, name, None, predicted, ~nothing, score, nothing)


def answers_of(questions: Questions, frame: pl.DataFrame, threshold: float) -> Iterator[Answers]:
    """Answers of each model and its training data, by name.

    Args:
        threshold: Score from which a tuple is predicted valid where the model does not say.
    """
    order = questions.tuples.select("id")
    names = frame.select("model", "trained_on").unique().sort("model", "trained_on")
    for model, trained_on in names.rows():
        own = frame.filter(
            pl.col("model") == model, pl.col("trained_on").eq_missing(pl.lit(trained_on))
        )
        rows = order.join(own, on="id", how="left", maintain_order="left")
        predicted = pl.coalesce("valid", pl.col("score") >= threshold)
        made = rows.select("score", "unparsable", predicted=predicted)
        yield Answers(
            MODEL,
            model,
            trained_on,
            made["predicted"].fill_null(False).to_numpy(),
            made["predicted"].is_not_null().to_numpy(),
            made["score"].fill_null(np.nan).to_numpy(),
            made["unparsable"].fill_null(False).to_numpy(),
        )


MAJORITY, RANDOM = "majority", "random"
CONCEPT_ALONE, HEAD_ALONE = "concept_alone", "head_alone"
CONTAINMENT, HEAD_WORD = "containment", "head_word"
BASELINES = (MAJORITY, RANDOM, CONCEPT_ALONE, HEAD_ALONE, CONTAINMENT, HEAD_WORD)
"""Names of all baselines, in report order."""

FOLDS = 5
"""Parts of which each is answered from the others, where no split is for training."""
PRIOR = 1.0
"""Weight of the relation's share, in tuples, against the tuples of a concept or head."""

_WORD = r"[\p{L}\p{N}]+"


def baselines(dataset: EntailmentDataset, questions: Questions) -> Iterator[Answers]:
    """Answers of every baseline, in the order of `BASELINES`."""
    learned = dataset.tuples.filter(pl.col("split") == TRAIN)
    own = learned.is_empty()
    learned = questions.tuples if own else learned
    share = _majority(learned, questions)
    yield _scored(MAJORITY, np.where(share >= 0.5, 1.0, 0.0))
    coin = unit_keys(questions.tuples["id"].to_list(), seed=0) % np.uint64(2)
    yield _scored(RANDOM, coin.astype(np.float64))
    for name, column in ((CONCEPT_ALONE, "concept"), (HEAD_ALONE, "head")):
        yield _scored(name, _rates(learned, questions, column, own=own))
    yield from _words_in_common(questions)


def _scored(name: str, score: FloatArray) -> Answers:
    return _whole(name, score >= 0.5, score)


def _majority(learned: pl.DataFrame, questions: Questions) -> FloatArray:
    """Share of valid tuples of each tuple's relation among those learned from, shape (n,)."""
    rates = learned.group_by("relation").agg(rate=pl.col("valid").mean())
    found = questions.tuples.select("relation").join(
        rates, on="relation", how="left", maintain_order="left"
    )
    return found["rate"].fill_null(learned["valid"].mean()).to_numpy()


def _rates(learned: pl.DataFrame, questions: Questions, column: str, *, own: bool) -> FloatArray:
    """Smoothed share of valid tuples that have a tuple's relation and concept, or head.

    ``(k + PRIOR * share of the relation) / (n + PRIOR)``, from the training split, or from the
    other folds of the tuples themselves.
    """
    fold = pl.Series(_folds(questions) if own else np.zeros(len(questions.valid), np.int64))
    parts = questions.tuples.select("relation", column).with_columns(fold=fold)
    known = learned.select("relation", column, "valid").with_columns(
        fold=fold if own else pl.lit(-1, pl.Int64)
    )
    specific = _held_out(parts, known, ["relation", column])
    general = _held_out(parts, known, ["relation"])
    overall = known["valid"].mean()
    share = (general["k"] / general["n"]).fill_nan(None).fill_null(overall)
    rate = (specific["k"] + PRIOR * share) / (specific["n"] + PRIOR)
    return rate.to_numpy()


def _held_out(parts: pl.DataFrame, known: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Valid (``k``) and all (``n``) tuples with the keys of each row, its own fold left out."""
    counts = {"k": pl.col("valid").sum().cast(pl.Int64), "n": pl.len().cast(pl.Int64)}
    total = known.group_by(keys).agg(**counts)
    inside = known.group_by(*keys, "fold").agg(**counts)
    rows = parts.join(total, on=keys, how="left", maintain_order="left").join(
        inside, on=[*keys, "fold"], how="left", suffix="_inside", maintain_order="left"
    )
    return rows.select(
        pl.col(name).fill_null(0) - pl.col(f"{name}_inside").fill_null(0) for name in ("k", "n")
    )


def _folds(questions: Questions) -> IntArray:
    """Fold of each tuple, decided by a hash of its head and instance, as splits are."""
    return (unit_keys(questions.keys.to_list(), seed=1) % np.uint64(FOLDS)).astype(np.int64)


def _words_in_common(questions: Questions) -> Iterator[Answers]:
    """Whether all words of the concept are in the instance, and whether the last ones are equal."""
    words = questions.tuples.select(
        pl.col(name).str.to_lowercase().str.extract_all(_WORD) for name in ("instance", "concept")
    )
    of_concept = pl.col("concept").list.unique()
    shared = of_concept.list.set_intersection("instance").list.len()
    share = words.select((shared / of_concept.list.len()).fill_nan(0.0)).to_series().to_numpy()
    yield _whole(CONTAINMENT, share == 1, share)
    last = pl.col("concept").list.last() == pl.col("instance").list.last()
    same: BoolArray = words.select(last.fill_null(False)).to_series().to_numpy()
    yield _scored(HEAD_WORD, same.astype(np.float64))


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
