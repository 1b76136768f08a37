"""How well models and baselines separate valid tuples from invalid ones: tables 4 to 6."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from audit.analyses.entailment.dataset import TRAIN, Questions, questions_of
from audit.analyses.entailment.declared import TABLES
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.declared import finite
from audit.base.progress import Progress, silent
from audit.data.records import Records
from audit.engine.scores.two_classes import (
    aps,
    aps_trapezoid,
    average_precision,
    macro_f1,
    majority_macro_f1,
    random_macro_f1,
    roc_auc,
)
from audit.engine.statistics.intervals import wilson_of_marks
from audit.engine.statistics.resampling import GroupBootstrap, unit_keys, with_interval

THRESHOLD = 0.5
"""Score from which a tuple is predicted valid."""
RANKING = {
    "roc_auc": roc_auc,
    "average_precision": average_precision,
    "aps": aps,
    "aps_trapezoid": aps_trapezoid,
}
"""Measures of scores that only use their order; they need a score of every answered tuple."""
MEASURES = ("accuracy", "macro_f1", *RANKING)
"""All measures, in report order."""
FOLDS = 5
"""Parts of which each is answered from the others, where no split is for training."""
LEVELS = 4_096
"""Largest number of different scores in a replicate: neighbours beyond it count as tied, which
moves the ends of an interval by less than one part in a thousand."""


class Answers(NamedTuple):
    """Answers of one model or baseline, each array of shape (n,) in the order of the questions.

    ``about`` has its kind, its name, and what it was trained on; ``score`` is NaN where there is
    none.
    """

    about: dict[str, str | None]
    predicted: BoolArray
    score: FloatArray
    answered: BoolArray
    unparsable: BoolArray

    def scored(self, rows: IntArray) -> bool:
        """Whether all of some answered tuples have a score, and there is one."""
        return len(rows) > 0 and not np.isnan(self.score[rows]).any()


def measure_detection(
    tuples: pl.DataFrame, predictions: Records | None, progress: Progress = silent
) -> tuple[dict[str, pl.DataFrame], Mapping[str, int]]:
    """Measure models and baselines on the test set, or on all tuples where there is none.

    Returns:
        The tables by name, and what became of the rows; all counts but ``rows_read`` add up to it.
    """
    asked, models, ledger = questions_of(tuples), list[Answers](), dict[str, int]()
    if predictions is not None:
        given = predictions.frame
        known = given.join(tuples.select("id"), on="id", how="semi")
        used = known.join(asked.rows.select("id"), on="id", how="semi").height
        counts = {"other_split": known.height - used, "unknown_id": given.height - known.height}
        ledger = {"rows_read": predictions.rows_read, "used": used, **counts}
        ledger |= predictions.ledger
        models += _of_models(asked.rows, known)
    progress("answering by baselines")
    everybody, rows = [*models, *_baselines(tuples, asked)], list[dict[str, Any]]()
    for number, answers in enumerate(everybody):
        progress("measuring answers", number, len(everybody), "models")
        rows += _measured(asked, answers)
    return {"detection_measured": TABLES["detection_measured"].frame(rows)}, ledger


def _of_models(asked: pl.DataFrame, known: pl.DataFrame) -> Iterator[Answers]:
    """Answers of each model and its training data, by name."""
    keys = ["model", "trained_on"]
    for own in known.sort(keys, maintain_order=True).partition_by(keys, maintain_order=True):
        rows = asked.select("id").join(own, on="id", how="left", maintain_order="left")
        predicted = rows.select(pl.coalesce("valid", pl.col("score") >= THRESHOLD)).to_series()
        yield Answers(
            {"kind": "model", "model": own["model"][0], "trained_on": own["trained_on"][0]},
            predicted.fill_null(False).to_numpy(),
            rows["score"].fill_null(np.nan).to_numpy(),
            predicted.is_not_null().to_numpy(),
            rows["unparsable"].fill_null(False).to_numpy(),
        )


def _baselines(tuples: pl.DataFrame, asked: Questions) -> Iterator[Answers]:
    """Answers to every tuple that look at nothing, at the concept, or at the head alone.

    They learn from the training split, or without one from the other folds of the tuples
    themselves; a hash of head and instance decides the fold, as it does of splits. The score of a
    concept, or head, with k of n valid tuples is ``(k + share of the relation) / (n + 1)``.
    """
    train, known = tuples.filter(split=TRAIN), pl.col("learned")
    fold = pl.Series(unit_keys(asked.keys.to_list(), seed=1) % np.uint64(FOLDS)).cast(pl.Int64)
    own = asked.rows.with_columns(fold=fold, learned=True)
    other = train.with_columns(fold=pl.lit(-1, pl.Int64), learned=True)
    learned = own if train.is_empty() else other
    both = pl.concat([learned, own.with_columns(learned=False)])
    overall, valid = learned["valid"].mean(), pl.col("valid") & known

    def outside(of: pl.Expr, *by: str) -> pl.Expr:
        """The number of what is like a tuple, without that of its own fold."""
        return of.sum().over(by) - of.sum().over(*by, "fold")

    share = outside(valid, "relation") / outside(known, "relation")
    share = share.fill_nan(None).fill_null(overall)
    rate = pl.col("valid").filter("learned").mean().over("relation").fill_null(overall)
    alone = {
        f"{name}_alone": (outside(valid, "relation", name) + share)
        / (outside(known, "relation", name) + 1)
        for name in ("concept", "head")
    }
    scores = both.select("learned", majority=rate >= THRESHOLD, **alone).filter(~known)
    coins = unit_keys(asked.rows["id"].to_list(), seed=0) % np.uint64(2)
    scores = scores.insert_column(2, pl.Series("random", coins)).drop("learned")
    for given in scores.cast(pl.Float64):
        score, nothing = given.to_numpy(), np.zeros(len(given), np.bool_)
        about = {"kind": "baseline", "model": given.name, "trained_on": None}
        yield Answers(about, score >= THRESHOLD, score, ~nothing, nothing)


def _measured(asked: Questions, answers: Answers) -> Iterator[dict[str, Any]]:
    """Rows of ``detection_measured``, of the tuples of each relation that are answered."""
    for relation, part in asked.parts.items():
        rows = part[answers.answered[part]]
        truth, drawn = asked.rows["valid"].to_numpy()[rows], asked.drawn.of(rows)
        about = {
            **answers.about,
            "relation": relation,
            "split": asked.split,
            "n": len(rows),
            "groups": drawn.groups,
            "tuples": len(part),
            "unparsable": int(answers.unparsable[part].sum()),
            "positive_share": float(truth.mean()) if len(rows) else None,
        }
        by_chance = _by_chance(answers, rows, truth)
        estimates = _estimates(drawn, truth, answers, rows)
        for measure in MEASURES:
            numbers = (finite(float(number)) for number in estimates.get(measure, ()))
            told: dict[str, Any] = dict(zip(("value", "low", "high"), numbers, strict=False))
            if told.get("value") is None:
                lacking = measure in RANKING and not answers.scored(rows)
                absent = "no_scores" if lacking else "one_class"
                told["absent"] = absent if len(rows) else "no_answers"
            yield {**about, "measure": measure, "expected": by_chance.get(measure), **told}


def _by_chance(answers: Answers, rows: IntArray, truth: BoolArray) -> dict[str, float]:
    """What the random or majority answer has by its closed form on these tuples."""
    if not len(rows) or answers.about["kind"] == "model":
        return {}
    q, given = float(truth.mean()), np.unique(answers.predicted[rows])
    ranking = {"roc_auc": 0.5, "average_precision": q} if 0 < q < 1 else {}
    if answers.about["model"] == "random":
        return {"accuracy": 0.5, "macro_f1": random_macro_f1(q)} | ranking
    share = q if given[0] else 1 - q
    chance = {"accuracy": share, "macro_f1": majority_macro_f1(share)} | ranking
    return chance if answers.about["model"] == "majority" and len(given) == 1 else {}


def _estimates(
    drawn: GroupBootstrap, truth: BoolArray, answers: Answers, rows: IntArray
) -> dict[str, tuple[Any, ...]]:
    """The measures of some answered tuples, each with its interval."""
    if not len(rows):
        return {}
    said = answers.predicted[rows]
    cells = (truth & said, ~truth & said, truth & ~said, ~truth & ~said)
    f1 = macro_f1(*drawn.sums(np.column_stack(cells).astype(np.float64)).T)
    ranked = _ranked(drawn, truth, answers.score[rows]) if answers.scored(rows) else {}
    accuracy = (truth == said).mean(), *wilson_of_marks(truth == said, drawn.group)
    others = {name: with_interval(own) for name, own in {"macro_f1": f1, **ranked}.items()}
    return {"accuracy": accuracy, **others}


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
