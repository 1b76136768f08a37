"""Answers of models and baselines on the tuples that are measured, in one order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.resampling import unit_keys
from audit.entailment.dataset import TRAIN, EntailmentDataset, Questions

MODEL, BASELINE = "model", "baseline"
"""Kinds of what answers."""

_ABOUT = "kind model trained_on relation split"


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
