"""Answers of models and baselines on the tuples that are measured, in one order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.schemas import schema
from audit.engine.statistics.resampling import unit_keys
from audit.entailment.dataset import TRAIN, EntailmentDataset, Questions

MODEL, BASELINE = "model", "baseline"
"""Kinds of what answers."""

_ABOUT = "kind model trained_on relation split"

MEASURED = schema(
    (f"{_ABOUT} measure", pl.String),
    ("value low high expected", pl.Float64),
    ("n groups", pl.Int64),
    ("positive_share", pl.Float64),
    ("absent", pl.String),
)
"""One row per model or baseline (``kind``), relation (or "All", where there are several) and
measure. ``split`` is "test", or "all" where the data have no test set. ``measure`` is ``accuracy``,
``accuracy_strict`` (an unparsable answer counts as wrong; only where there is one), ``macro_f1``,
``roc_auc``, ``average_precision``, ``aps`` and ``aps_trapezoid`` (where precision is above .5, and
from .5 on, in two published estimators), and of models ``brier`` and ``calibration_error``. All
are shares from 0 to 1. ``low`` and ``high`` bound the 95 % interval: Wilson's at the effective
number of tuples for accuracies, percentiles of a bootstrap over groups for the others, none for the
calibration error, which resampling inflates. ``expected`` is what the majority or the random answer
has by its closed form, or what the calibration error of a calibrated model would be about. ``n``
tuples in ``groups`` of (head, instance) were answered, of which ``positive_share`` are valid.
``value`` is null where ``absent`` says why."""

DIFFERENCES = schema(
    ("model trained_on relation split measure against", pl.String),
    ("difference low high", pl.Float64),
    ("n", pl.Int64),
)
"""One row per model, relation, measure and what it is compared with on the tuples that both answer:
``against`` is the name of a baseline, or ``in_domain``: the same model trained on the relation that
it is tested on. ``difference`` is the model's value less the other's; ``low`` and ``high`` bound
its 95 % interval, by the same bootstrap of both."""

RELIABILITY = schema(
    (_ABOUT, pl.String),
    ("from to", pl.Float64),
    ("n", pl.Int64),
    ("mean_score valid_share low high", pl.Float64),
)
"""One row per model with scores, relation and bin of its scores that is not empty, ten bins of one
width: ``n`` tuples with scores from ``from`` to below ``to`` (1 is in the last), their mean score,
and the share that is valid with its 95 % interval (Wilson's at the effective number of tuples)."""

CONSISTENCY = schema(
    ("kind model trained_on relation", pl.String),
    ("chains closed broken open", pl.Int64),
    ("closed_share", pl.Float64),
)
"""One row per model and relation (or "All"), and per relation for the labels of the same tuples
(``kind`` is "labels", ``model`` that of the model). An edge is valid, or invalid, if more than half
of its tuples are predicted so. Of ``chains`` a -> b -> c of valid edges, ``closed`` have a valid
a -> c too, ``broken`` have an invalid one, and ``open`` have neither. ``closed_share`` is closed
over closed and broken; null if there are none. It has no interval: chains share their edges."""

COVERAGE = schema(
    ("model trained_on relation split", pl.String),
    ("tuples answered unparsable missing", pl.Int64),
)
"""One row per model and relation (or "All"): its tuples in the split that is measured, how many the
model answered, how many answers were neither valid nor invalid, and how many tuples it has none
for. The three add up to ``tuples``."""


@dataclass(frozen=True, eq=False)
class DetectionMeasurements:
    """How well models and baselines separate valid tuples from invalid ones.

    Args:
        measured: Measures by model and relation, columns `MEASURED`.
        differences: Models against baselines and against themselves, columns `DIFFERENCES`.
        reliability: Calibration, columns `RELIABILITY`.
        consistency: Predictions as a graph, columns `CONSISTENCY`.
        coverage: What models answered, columns `COVERAGE`.
        ledger: ``rows_read``; ``used``; ``unknown_id``, predictions of tuples that the data set
            lacks; ``other_split``, those of tuples in other splits than the measured one; and rows
            that were refused when read, by reason. All but the first add up to the first.
        threshold: Score from which a tuple is predicted valid.
    """

    measured: pl.DataFrame
    differences: pl.DataFrame
    reliability: pl.DataFrame
    consistency: pl.DataFrame
    coverage: pl.DataFrame
    ledger: Mapping[str, int]
    threshold: float


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
