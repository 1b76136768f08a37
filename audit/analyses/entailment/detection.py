"""How well models and baselines separate valid tuples from invalid ones: tables 4 to 6."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.entailment.dataset import TRAIN, Questions, questions_of
from audit.analyses.entailment.declared import TABLES
from audit.base.dag import BoolArray, FloatArray
from audit.base.declared import finite
from audit.base.progress import Progress, silent
from audit.data.records import Records
from audit.engine.scores import two_classes
from audit.engine.statistics.intervals import wilson_of_marks
from audit.engine.statistics.resampling import GroupBootstrap, unit_keys, with_interval

THRESHOLD = 0.5
"""Score from which a tuple is predicted valid."""
ON_CURVE = {
    "average_precision": two_classes.average_precision,
    "aps": two_classes.aps,
    "aps_trapezoid": two_classes.aps_trapezoid,
}
RANKING = ("roc_auc", *ON_CURVE)
"""Measures of scores that only use their order; they need a score of every answered tuple."""
MEASURES = ("accuracy", "macro_f1", *RANKING)
"""All measures, in report order."""
FOLDS = 5
"""Parts of which each is answered from the others, where no split is for training."""
LEVELS = 4_096
"""Largest number of different scores in a replicate: neighbours beyond it count as tied, which
moves the ends of an interval by less than one part in a thousand."""

_MODEL = ["kind", "model", "trained_on"]
_ANSWER = ["id", "predicted", "score", "unparsable"]


def measure_detection(
    tuples: pl.DataFrame, predictions: Records | None, progress: Progress = silent
) -> tuple[dict[str, pl.DataFrame], Mapping[str, int]]:
    """Measure models and baselines on the test set, or on all tuples where there is none.

    Returns:
        The tables by name, and what became of the rows; all counts but ``rows_read`` add up to it.
    """
    progress("answering by baselines")
    asked, ledger = questions_of(tuples), dict[str, int]()
    every = [_baselines(tuples, asked)]
    if predictions is not None:
        given = predictions.frame
        known = given.join(tuples.select("id"), on="id", how="semi")
        used = known.join(asked.rows.select("id"), on="id", how="semi").height
        counts = {"other_split": known.height - used, "unknown_id": given.height - known.height}
        ledger = {"rows_read": predictions.rows_read, "used": used, **counts}
        ledger |= predictions.ledger
        predicted = pl.coalesce("valid", pl.col("score") >= THRESHOLD)
        made = known.with_columns(predicted=predicted, kind=pl.lit("model"))
        every.insert(0, made.sort(_MODEL, maintain_order=True).select(*_MODEL, *_ANSWER))
    models = pl.concat(every).partition_by(_MODEL, maintain_order=True)
    rows = list[dict[str, Any]]()
    for number, answers in enumerate(models):
        progress("measuring answers", number, len(models), "models")
        rows += _measured(asked, answers)
    return {"detection_measured": TABLES["detection_measured"].frame(rows)}, ledger


def _baselines(tuples: pl.DataFrame, asked: Questions) -> pl.DataFrame:
    """Answers to each question by a majority, a coin, the concept alone and the head alone.

    All but the coin learn from the training split, or without one from other folds, by a hash of
    head and instance; of k valid in n tuples the last two make
    ``(k + share of the relation) / (n + 1)``.
    """
    train, known = tuples.filter(split=TRAIN), pl.col("learned")
    fold = pl.Series(unit_keys(asked.keys.to_list(), seed=1) % np.uint64(FOLDS)).cast(pl.Int64)
    coin = pl.Series(unit_keys(asked.rows["id"].to_list(), seed=0) % np.uint64(2))
    own = asked.rows.with_columns(fold=fold, coin=coin.cast(pl.Float64), learned=True)
    other = train.with_columns(fold=pl.lit(-1, pl.Int64), coin=pl.lit(0.0), learned=True)
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
    majority = (rate >= THRESHOLD).cast(pl.Float64)
    scores = both.select("learned", "id", majority=majority, random="coin", **alone)
    long = (
        scores.filter(~known)
        .drop("learned")
        .unpivot(index="id", variable_name="model", value_name="score")
    )
    about = {"kind": pl.lit("baseline"), "trained_on": pl.lit(None, pl.String)}
    given = {"predicted": pl.col("score") >= THRESHOLD, "unparsable": pl.lit(False)}
    return long.with_columns(**about, **given).select(*_MODEL, *_ANSWER)


def _measured(asked: Questions, answers: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows of ``detection_measured``, of the tuples of each relation that a model answers."""
    questions = asked.rows.select("id", "valid")
    joined = questions.join(answers, on="id", how="left", maintain_order="left")
    for relation, part in asked.parts.items():
        every, answered = joined[part], joined[part]["predicted"].is_not_null()
        own, drawn = every.filter(answered), asked.drawn.of(part[answered.to_numpy()])
        truth, said = (own[name].to_numpy() for name in ("valid", "predicted"))
        scored = len(own) > 0 and own["score"].null_count() == 0
        about = {
            **answers.select(_MODEL).row(0, named=True),
            "relation": relation,
            "split": asked.split,
            "n": len(own),
            "groups": drawn.groups,
            "tuples": len(every),
            "unparsable": int(every["unparsable"].sum()),
            "positive_share": own["valid"].mean(),
        }
        estimates = dict[str, tuple[Any, ...]]()
        if len(own):
            right, cells = (
                truth == said,
                (truth & said, ~truth & said, truth & ~said, ~truth & ~said),
            )
            f1 = two_classes.macro_f1(*drawn.sums(np.column_stack(cells).astype(np.float64)).T)
            ranked = _ranked(drawn, truth, own["score"].to_numpy()) if scored else {}
            value = _values(own, scored)
            estimates["accuracy"] = value["accuracy"], *wilson_of_marks(right, drawn.group)
            for name, replicates in {"macro_f1": f1, **ranked}.items():
                replicates[0] = value.get(name, np.nan)
                estimates[name] = with_interval(replicates)
        by_chance = _by_chance(about, truth, said)
        for measure in MEASURES:
            numbers = (finite(float(number)) for number in estimates.get(measure, ()))
            told: dict[str, Any] = dict(zip(("value", "low", "high"), numbers, strict=False))
            if told.get("value") is None:
                absent = "one_class" if scored or measure not in RANKING else "no_scores"
                told["absent"] = absent if len(own) else "no_answers"
            yield {**about, "measure": measure, "expected": by_chance.get(measure), **told}


def _by_chance(about: Mapping[str, Any], truth: BoolArray, said: BoolArray) -> dict[str, float]:
    """Measures that a random or majority answer has by closed forms; none of other answers."""
    if not len(truth) or about["kind"] == "model":
        return {}
    q, given = float(truth.mean()), np.unique(said)
    ranking = {"roc_auc": 0.5, "average_precision": q} if 0 < q < 1 else {}
    if about["model"] == "random":
        return {"accuracy": 0.5, "macro_f1": two_classes.random_macro_f1(q)} | ranking
    share = q if given[0] else 1 - q
    chance = {"accuracy": share, "macro_f1": two_classes.majority_macro_f1(share)} | ranking
    return chance if about["model"] == "majority" and len(given) == 1 else {}


def _values(own: pl.DataFrame, scored: bool) -> dict[str, float]:
    """What answers measure, by scikit-learn, distinct ones weighted by their number."""
    from sklearn import config_context, metrics

    distinct = own.group_by("valid", "predicted", "score").len("weight")
    truth, said, score, weight = (column.to_numpy() for column in distinct)
    with config_context(assume_finite=True, skip_parameter_validation=True):
        found = {
            "accuracy": metrics.accuracy_score(truth, said, sample_weight=weight),
            "macro_f1": metrics.f1_score(truth, said, average="macro", sample_weight=weight),
        }
        if not scored or not truth.any():
            return found
        if not truth.all():
            found["roc_auc"] = metrics.roc_auc_score(truth, score, sample_weight=weight)
        precision, recall, _ = metrics.precision_recall_curve(truth, score, sample_weight=weight)
    points = recall[-2::-1], precision[-2::-1]
    return found | {name: float(measure(*points)) for name, measure in ON_CURVE.items()}


def _ranked(drawn: GroupBootstrap, truth: BoolArray, score: FloatArray) -> dict[str, FloatArray]:
    """Replicates of measures of order, which see at most `LEVELS` different scores."""
    levels, place = np.unique(-score, return_inverse=True)

    def estimate(positive: FloatArray, negative: FloatArray) -> FloatArray:
        curve = two_classes.curve(positive, negative)
        on_curve = (measure(*curve) for measure in ON_CURVE.values())
        return np.stack([two_classes.roc_auc(positive, negative), *on_curve])

    least = min(len(levels), LEVELS)
    coarse = place.astype(np.int64) * least // len(levels)
    found = drawn.by_level(coarse, least, truth, estimate)
    return dict(zip(RANKING, found.T, strict=True))
