"""Answers of models and baselines on the tuples that are measured, in one order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray
from audit.entailment.detection.measurements import MODEL
from audit.entailment.questions import Questions


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
