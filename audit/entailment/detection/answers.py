"""Answers of models and baselines on the tuples that are measured, in one order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray
from audit.base.schemas import schema
from audit.entailment.dataset import Questions

MODEL, BASELINE = "model", "baseline"
"""Kinds of what answers."""

_ABOUT = schema(("kind model trained_on relation split", pl.String))

MEASURED: dict[str, Any] = {
    **_ABOUT,
    "measure": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "expected": pl.Float64,
    "n": pl.Int64,
    "groups": pl.Int64,
    "positive_share": pl.Float64,
    "absent": pl.String,
}
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

RELIABILITY: dict[str, Any] = {
    **_ABOUT,
    "from": pl.Float64,
    "to": pl.Float64,
    "n": pl.Int64,
    "mean_score": pl.Float64,
    "valid_share": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
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
        kind: ``model`` or ``baseline``.
        model: Its name.
        trained_on: What it was trained on, where the file says so.
        predicted: Whether each tuple is predicted valid; false where it is not answered.
        answered: Whether it is answered.
        score: Score of valid; NaN where there is none.
        unparsable: Whether there is an answer that is neither valid nor invalid.
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


def whole_answers(
    kind: str, name: str, predicted: BoolArray, score: FloatArray | None = None
) -> Answers:
    """Answers to every tuple.

    Args:
        kind: ``model`` or ``baseline``.
        name: Its name.
        predicted: Whether each tuple is predicted valid.
        score: Score of valid; None where there is none.
    """
    n = len(predicted)
    scores = np.full(n, np.nan) if score is None else score
    nothing = np.zeros(n, np.bool_)
    return Answers(kind, name, None, predicted, ~nothing, scores, nothing)


def answers_of(questions: Questions, frame: pl.DataFrame, threshold: float) -> Iterator[Answers]:
    """Answers of each model and its training data, by name.

    Args:
        questions: The tuples that are measured.
        frame: Predictions, columns `PREDICTIONS`, of any tuples.
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
