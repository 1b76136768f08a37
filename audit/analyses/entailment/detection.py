"""How well models and baselines separate valid tuples from invalid ones: tables 4 to 6."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from audit.analyses.entailment.dataset import TRAIN, Questions, questions_of
from audit.analyses.entailment.declared import ALL, TABLES
from audit.analyses.entailment.graph import TextGraph, chain_counts, graph_of
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
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import wilson_of_marks
from audit.engine.statistics.resampling import GroupBootstrap, unit_keys, with_interval

THRESHOLD = 0.5
"""Score from which a tuple is predicted valid."""
COMPARED = ("majority", "concept_alone", "head_alone")
"""Baselines that models are compared with."""
RANKING = {
    "roc_auc": roc_auc,
    "average_precision": average_precision,
    "aps": aps,
    "aps_trapezoid": aps_trapezoid,
}
"""Measures of scores that only use their order."""
OF_SCORES = (*RANKING, "brier", "calibration_error")
"""Measures that need a score of every answered tuple."""
OF_MODELS = ("accuracy_strict", "brier", "calibration_error")
"""Measures that baselines lack, whose scores are not meant to be probabilities."""
MEASURES = ("accuracy", "accuracy_strict", "macro_f1", *OF_SCORES)
"""All measures, in report order."""
BINS, FOLDS = 10, 5
"""Bins of scores, of one width; parts of which each is answered from the others, where no split is
for training."""
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
    tuples: pl.DataFrame, predictions: Records, progress: Progress = silent
) -> tuple[dict[str, pl.DataFrame], Mapping[str, int]]:
    """Measure models and baselines on the test set, or on all tuples where there is none.

    Returns:
        The tables by name, and what became of the rows; all counts but ``rows_read`` add up to it.
    """
    asked = questions_of(tuples)
    known = predictions.frame.join(tuples.select("id"), on="id", how="semi")
    used = known.join(asked.rows.select("id"), on="id", how="semi").height
    ledger = {
        "rows_read": predictions.rows_read,
        "used": used,
        "other_split": known.height - used,
        "unknown_id": predictions.frame.height - known.height,
        **predictions.ledger,
    }
    progress("answering by baselines")
    models, references = [*_of_models(asked.rows, known)], [*_baselines(tuples, asked)]
    measuring = _Measuring(asked)
    rows = list[dict[str, Any]]()
    everybody = [*models, *references]
    for number, answers in enumerate(everybody):
        progress("measuring answers", number, len(everybody), "models")
        rows += measuring.measured(answers)
    found = {
        "detection_measured": rows,
        "detection_differences": measuring.differences(models, references),
        "detection_reliability": (row for one in models for row in measuring.reliability(one)),
        "detection_coverage": (row for one in models for row in measuring.coverage(one)),
    }
    tables = {name: TABLES[name].frame(own) for name, own in found.items()}
    return {**tables, "detection_consistency": _consistency(tuples, known)}, ledger


def _of_models(asked: pl.DataFrame, known: pl.DataFrame) -> Iterator[Answers]:
    """Answers of each model and its training data, by name."""
    keys = ["model", "trained_on"]
    for own in known.sort(keys, maintain_order=True).partition_by(keys, maintain_order=True):
        rows = asked.select("id").join(own, on="id", how="left", maintain_order="left")
        predicted = rows.select(_predicted()).to_series()
        yield Answers(
            {"kind": "model", "model": own["model"][0], "trained_on": own["trained_on"][0]},
            predicted.fill_null(False).to_numpy(),
            rows["score"].fill_null(np.nan).to_numpy(),
            predicted.is_not_null().to_numpy(),
            rows["unparsable"].fill_null(False).to_numpy(),
        )


def _predicted() -> pl.Expr:
    """Whether a tuple is predicted valid; null without an answer."""
    return pl.coalesce("valid", pl.col("score") >= THRESHOLD)


def _baselines(tuples: pl.DataFrame, asked: Questions) -> Iterator[Answers]:
    """Answers to every tuple that look at the concept, the head, or words alone, or at nothing.

    They learn from the training split, or without one from the other folds of the tuples
    themselves; a hash of head and instance decides the fold, as it does of splits. The score of a
    concept, or head, with k of n valid tuples is ``(k + share of the relation) / (n + 1)``.
    """
    train, rows = tuples.filter(split=TRAIN), asked.rows
    fold = pl.Series(unit_keys(asked.keys.to_list(), seed=1) % np.uint64(FOLDS)).cast(pl.Int64)
    own = rows.with_columns(fold=fold, learned=True)
    learned = (
        own if train.is_empty() else train.with_columns(fold=pl.lit(-1, pl.Int64), learned=True)
    )
    both = pl.concat([learned, own.with_columns(learned=False)])
    overall, valid = learned["valid"].mean(), pl.col("valid") & pl.col("learned")

    def outside(of: pl.Expr, *by: str) -> pl.Expr:
        """The number of what is like a tuple, without that of its own fold."""
        return of.sum().over(by) - of.sum().over(*by, "fold")

    known = pl.col("learned")
    share = outside(valid, "relation") / outside(known, "relation")
    share = share.fill_nan(None).fill_null(overall)
    instance, concept = (
        pl.col(name).str.to_lowercase().str.extract_all(r"[\p{L}\p{N}]+")
        for name in ("instance", "concept")
    )
    shared = concept.list.set_intersection(instance).list.len() / concept.list.unique().list.len()
    rate = pl.col("valid").filter("learned").mean().over("relation").fill_null(overall)
    coins = unit_keys(rows["id"].to_list(), seed=0) % np.uint64(2)
    scores = both.select(
        "learned",
        majority=rate >= THRESHOLD,
        random=pl.lit(None),
        **{
            f"{name}_alone": (outside(valid, "relation", name) + share)
            / (outside(known, "relation", name) + 1)
            for name in ("concept", "head")
        },
        containment=shared.fill_nan(0.0),
        head_word=(concept.list.last() == instance.list.last()).fill_null(False),
    ).filter(~known)
    for given in scores.drop("learned").with_columns(random=pl.Series(coins)):
        score = given.cast(pl.Float64).to_numpy()
        predicted = score >= (1 if given.name == "containment" else THRESHOLD)
        nothing = np.zeros(len(score), np.bool_)
        about = {"kind": "baseline", "model": given.name, "trained_on": None}
        yield Answers(about, predicted, score, ~nothing, nothing)


def _consistency(tuples: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Chains of predicted edges, and whether their ends are predicted to be joined.

    An edge is valid or invalid by the most of its tuples; one with as many of both is neither.
    """
    keys = ["model", "trained_on"]
    answered = known.select(*keys, "id", predicted=_predicted()).drop_nulls("predicted")
    made = [TABLES["detection_consistency"].frame()]
    for own in answered.sort(keys, maintain_order=True).partition_by(keys, maintain_order=True):
        stated = tuples.join(own, on="id", how="inner", maintain_order="left")
        for kind, valid in (("model", "predicted"), ("labels", "valid")):
            graph = graph_of(stated, valid=valid)
            more = (pl.col("valid") - pl.col("invalid")).sign()
            edges = graph.edges.with_columns(valid=more, invalid=-more)
            counts = chain_counts(TextGraph(graph.texts, edges))
            names = {"chains_valid": "closed", "chains_denied": "broken", "chains_open": "open"}
            summed = {name: pl.col(name).sum() for name in ("chains", *names)}
            every = counts.select(pl.lit(ALL).alias("relation"), **summed)
            both = pl.concat([counts, every]) if len(counts) > 1 else counts
            judged = pl.col("closed") + pl.col("broken")
            share = pl.when(judged > 0).then(pl.col("closed") / judged)
            about = {name: pl.lit(own[name][0], pl.String) for name in keys}
            told = both.rename(names).with_columns(closed_share=share, kind=pl.lit(kind), **about)
            made.append(TABLES["detection_consistency"].cast(told))
    return pl.concat(made)


class _Measuring:
    """Measures of answers to some questions, each estimated once."""

    def __init__(self, asked: Questions) -> None:
        self._asked = asked
        self._made: dict[tuple[int, bytes], Mapping[str, FloatArray]] = {}

    def _parts(self, answers: Answers) -> Iterator[tuple[dict[str, Any], IntArray, IntArray]]:
        """What is said of each relation: its rows, and those that are answered."""
        for relation, part in self._asked.parts.items():
            about = {**answers.about, "relation": relation, "split": self._asked.split}
            yield about, part, part[answers.answered[part]]

    def _estimates(self, answers: Answers, rows: IntArray) -> Mapping[str, FloatArray]:
        """Measures on some answered tuples, each of shape (1 + replicates,), the data's first."""
        key = (id(answers), rows.tobytes())
        if key not in self._made:
            self._made[key] = _estimates(self._asked, answers, rows) if len(rows) else {}
        return self._made[key]

    def measured(self, answers: Answers) -> Iterator[dict[str, Any]]:
        """Rows of ``detection_measured``."""
        right = (self._asked.valid == answers.predicted) & answers.answered
        for about, part, rows in self._parts(answers):
            truth, group = self._asked.valid[rows], self._asked.drawn.group
            tried = part[answers.answered[part] | answers.unparsable[part]]
            values: dict[str, Any] = dict.fromkeys(MEASURES, ())
            for measure, own in self._estimates(answers, rows).items():
                values[measure] = with_interval(own)
            for measure, some in (("accuracy", rows), ("accuracy_strict", tried)):
                if len(some):
                    values[measure] = right[some].mean(), *wilson_of_marks(right[some], group[some])
            by_chance = _by_chance(answers, rows, truth)
            if answers.scored(rows):
                off, expected = calibration_error(truth, answers.score[rows])
                values["calibration_error"], by_chance["calibration_error"] = (off,), expected
            if answers.about["kind"] == "baseline":
                values = {name: own for name, own in values.items() if name not in OF_MODELS}
            elif len(tried) == len(rows):
                del values["accuracy_strict"]
            sizes = {
                "n": len(rows),
                "groups": self._asked.drawn.of(rows).groups,
                "positive_share": float(truth.mean()) if len(rows) else None,
            }
            for measure, numbers in values.items():
                known = (finite(float(number)) for number in numbers)
                told: dict[str, Any] = dict(zip(("value", "low", "high"), known, strict=False))
                if told.get("value") is None:
                    told["absent"] = _why_absent(answers, rows, measure)
                told["expected"] = by_chance.get(measure)
                yield {**about, **sizes, "measure": measure, **told}

    def differences(
        self, models: Sequence[Answers], references: Sequence[Answers]
    ) -> Iterator[dict[str, Any]]:
        """Rows of ``detection_differences``: against baselines, and itself in its domain."""
        named = {one.about["model"]: one for one in references}
        trained = {(one.about["model"], one.about["trained_on"]): one for one in models}
        for answers in models:
            for about, part, _ in self._parts(answers):
                others = {name: named[name] for name in COMPARED}
                own = trained.get((answers.about["model"], about["relation"]), answers)
                for against, other in (others | {"in_domain": own}).items():
                    both = part[answers.answered[part] & other.answered[part]]
                    mine, theirs = (self._estimates(one, both) for one in (answers, other))
                    for measure in [name for name in mine if name in theirs]:
                        less, low, high = map(float, with_interval(mine[measure] - theirs[measure]))
                        row = {"measure": measure, "against": against, "n": len(both)}
                        if other is not answers and not np.isnan(less):
                            yield about | row | {"difference": less, "low": low, "high": high}

    def reliability(self, answers: Answers) -> Iterator[dict[str, Any]]:
        """Rows of ``detection_reliability``: each bin that has a tuple."""
        for about, _, rows in self._parts(answers):
            if answers.scored(rows):
                place = _bin_of(answers.score[rows])
                for number in np.unique(place).tolist():
                    own = rows[place == number]
                    truth = self._asked.valid[own]
                    low, high = wilson_of_marks(truth, self._asked.drawn.group[own])
                    ends = {"from": number / BINS, "to": (number + 1) / BINS}
                    means = {"mean_score": answers.score[own].mean(), "valid_share": truth.mean()}
                    yield {**about, **ends, **means, "n": len(own), "low": low, "high": high}

    def coverage(self, answers: Answers) -> Iterator[dict[str, Any]]:
        """Rows of ``detection_coverage``."""
        for about, part, rows in self._parts(answers):
            unparsable = int(answers.unparsable[part].sum())
            missing = len(part) - len(rows) - unparsable
            counts = {"tuples": len(part), "answered": len(rows), "unparsable": unparsable}
            yield {**about, **counts, "missing": missing}


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


def _why_absent(answers: Answers, rows: IntArray, measure: str) -> str:
    if not len(rows):
        return "no_answers"
    scored = measure not in OF_SCORES or answers.scored(rows)
    return "one_class" if scored else "no_scores"


def _estimates(asked: Questions, answers: Answers, rows: IntArray) -> Mapping[str, FloatArray]:
    drawn, scored = asked.drawn.of(rows), answers.scored(rows)
    truth, said = asked.valid[rows], answers.predicted[rows]
    score = answers.score[rows] if scored else np.zeros(len(rows))
    cells = (truth & said, ~truth & said, truth & ~said, ~truth & ~said, (score - truth) ** 2)
    hits, false, missed, others, squares = drawn.sums(np.column_stack(cells).astype(np.float64)).T
    total = hits + false + missed + others
    made = {
        "accuracy": ratio(hits + others, total),
        "macro_f1": macro_f1(hits, false, missed, others),
    }
    if scored:
        made |= _ranked(drawn, truth, score)
    if scored and answers.about["kind"] == "model":
        made["brier"] = ratio(squares, total)
    return made


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


def calibration_error(truth: BoolArray, score: FloatArray) -> tuple[float, float]:
    """Expected calibration error, and what it would be about if scores were calibrated.

    The first is the mean over tuples, of which there is one, of the distance between mean score
    and valid share of their bin. It is above 0 by chance even if every score s is right s of the
    time; then a bin of n tuples is off by about ``sqrt(2 / pi * sum of s (1 - s)) / n``.
    """
    place = _bin_of(score)
    off = np.abs(np.bincount(place, weights=score - truth, minlength=BINS))
    variance = np.bincount(place, weights=score * (1 - score), minlength=BINS)
    by_chance = np.sqrt(2 / np.pi * variance)
    return float(off.sum()) / len(score), float(by_chance.sum()) / len(score)


def _bin_of(score: FloatArray) -> IntArray:
    return np.searchsorted(np.arange(1, BINS) / BINS, score, "right").astype(np.int64)
