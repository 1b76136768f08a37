"""Answers of models and baselines on the tuples that are measured, in one order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.group_bootstrap import GroupBootstrap, group_bootstrap
from audit.entailment.dataset import RELATIONS, EntailmentDataset
from audit.entailment.detection.measurements import ALL, EVERY_SPLIT, MODEL

TEST, TRAIN = "test", "train"
"""Names of the splits that are measured, and learned from."""


@dataclass(frozen=True, eq=False)
class Asked:
    """The tuples that are measured.

    Args:
        tuples: Columns `audit.entailment.dataset.TUPLES`.
        split: "test", or "all".
    """

    tuples: pl.DataFrame
    split: str

    @cached_property
    def valid(self) -> BoolArray:
        """Whether each tuple is valid, shape (n,)."""
        return self.tuples["valid"].to_numpy()

    @cached_property
    def keys(self) -> pl.Series:
        """Head and instance of each tuple, joined."""
        return self.tuples.select(pl.concat_str("head", "instance", separator="\0")).to_series()

    @cached_property
    def drawn(self) -> GroupBootstrap:
        """The bootstrap over groups of one head and instance."""
        group = self.keys.rank("dense").cast(pl.Int64) - 1
        return group_bootstrap(group.to_numpy(), self.keys.unique().sort().to_list())

    @cached_property
    def parts(self) -> Mapping[str, IntArray]:
        """Rows of each relation in report order, and of all of them where there are several."""
        names = self.tuples["relation"].unique().to_list()
        ordered = sorted(names, key=_place)
        relation = self.tuples["relation"].to_numpy()
        rows = {name: np.flatnonzero(relation == name) for name in ordered}
        return rows if len(rows) < 2 else rows | {ALL: np.arange(len(relation))}


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of one model or baseline, each array of shape (n,) in the order of `Asked`.

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


def asked_of(dataset: EntailmentDataset) -> Asked:
    """The tuples of the test set, or all of them where there is none."""
    test = dataset.tuples.filter(pl.col("split") == TEST)
    return Asked(dataset.tuples, EVERY_SPLIT) if test.is_empty() else Asked(test, TEST)


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


def answers_of(asked: Asked, frame: pl.DataFrame, threshold: float) -> Iterator[Answers]:
    """Answers of each model and its training data, by name.

    Args:
        asked: The tuples that are measured.
        frame: Predictions, columns `PREDICTIONS`, of any tuples.
        threshold: Score from which a tuple is predicted valid where the model does not say.
    """
    order = asked.tuples.select("id")
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


def _place(relation: str) -> tuple[int, str]:
    known = RELATIONS.index(relation) if relation in RELATIONS else len(RELATIONS)
    return known, relation
