"""Measure how well models and baselines separate valid tuples from invalid ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from audit.analyses.entailment import validity_measures as measures
from audit.analyses.entailment.dataset import EntailmentDataset, Questions, questions_of
from audit.analyses.entailment.declared import TABLES
from audit.analyses.entailment.validity_measures import (
    CONCEPT_ALONE,
    HEAD_ALONE,
    MAJORITY,
    MODEL,
    RANDOM,
    Answers,
    answers_of,
    baselines,
    bins,
    calibration_error,
    consistency,
)
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.progress import Progress, silent
from audit.data.records import Records
from audit.engine.scores.two_classes import majority_macro_f1, random_macro_f1
from audit.engine.statistics.intervals import wilson_of_marks
from audit.engine.statistics.resampling import with_interval

IN_DOMAIN = "in_domain"
"""The same model, trained on the relation that it is tested on."""
COMPARED = (MAJORITY, CONCEPT_ALONE, HEAD_ALONE)
"""Baselines that models are compared with."""
THRESHOLD = 0.5
"""Score from which a tuple is predicted valid."""

NO_ANSWERS, NO_SCORES, ONE_CLASS = "no_answers", "no_scores", "one_class"
"""Why a measure is absent: the model answers none of the tuples; it gives no score, or not of each
tuple that it answers; or the measure needs valid and invalid tuples, and there are none of one."""


def measure_detection(
    dataset: EntailmentDataset,
    predictions: Records,
    progress: Progress = silent,
) -> tuple[dict[str, pl.DataFrame], Mapping[str, int]]:
    """Measure models and baselines on the test set, or on all tuples where there is none.

    Returns:
        The tables by name, and what became of the rows: ``rows_read``; ``used``; ``unknown_id``,
        predictions of tuples that the data set lacks; ``other_split``, those of tuples in other
        splits than the measured one; and rows that were refused when read, by reason. All but the
        first add up to the first.
    """
    questions = questions_of(dataset)
    ledger, known = _ledger(dataset, questions, predictions)
    progress("answering by baselines")
    references = list(baselines(dataset, questions))
    models = list(answers_of(questions, known, THRESHOLD))
    scored = _Scored(questions)
    everybody = [*models, *references]
    rows: list[dict[str, Any]] = []
    for number, answers in enumerate(everybody):
        progress("measuring answers", number, len(everybody), "models")
        rows += _measured(scored, answers)
    progress("measuring answers", len(everybody), len(everybody), "models")
    progress("comparing models")
    return {
        "detection_measured": TABLES["detection_measured"].frame(rows),
        "detection_differences": TABLES["detection_differences"].frame(
            _differences(scored, models, references)
        ),
        "detection_reliability": TABLES["detection_reliability"].frame(
            _reliability(questions, models)
        ),
        "detection_consistency": consistency(dataset.tuples, known, THRESHOLD),
        "detection_coverage": TABLES["detection_coverage"].frame(_coverage(questions, models)),
    }, ledger


def _ledger(
    dataset: EntailmentDataset, questions: Questions, predictions: Records
) -> tuple[Mapping[str, int], pl.DataFrame]:
    """What became of the rows, and the predictions of tuples of the data set."""
    known = predictions.frame.join(dataset.tuples.select("id"), on="id", how="semi")
    used = known.join(questions.tuples.select("id"), on="id", how="semi").height
    counts = {
        "rows_read": predictions.rows_read,
        "used": used,
        "other_split": known.height - used,
        "unknown_id": predictions.frame.height - known.height,
    }
    return counts | dict(predictions.ledger), known


class _Scored:
    """Estimates of answers on tuples, each made once."""

    def __init__(self, questions: Questions) -> None:
        self.asked = questions
        self._made: dict[tuple[int, bytes], Mapping[str, FloatArray]] = {}

    def estimates(self, answers: Answers, rows: IntArray) -> Mapping[str, FloatArray]:
        key = (id(answers), rows.tobytes())
        if key not in self._made:
            self._made[key] = measures.estimates(self.asked, answers, rows)
        return self._made[key]


def _measured(scored: _Scored, answers: Answers) -> Iterator[dict[str, Any]]:
    """Rows of `MEASURED` of one model or baseline."""
    questions = scored.asked
    for relation, part in questions.parts.items():
        rows = part[answers.answered[part]]
        truth = questions.valid[rows]
        about = {
            **answers.about(),
            "relation": relation,
            "split": questions.split,
            "n": len(rows),
            "groups": questions.drawn.of(rows).groups,
            "positive_share": float(truth.mean()) if len(rows) else None,
        }
        values = _values(questions, answers, part, scored.estimates(answers, rows))
        closed = _closed_forms(answers, rows, truth)
        for measure, numbers in values.items():
            value, low, high, expected = (_defined(number) for number in numbers)
            yield {
                **about,
                "measure": measure,
                "value": value,
                "low": low,
                "high": high,
                "expected": closed.get(measure, expected),
                "absent": _why_absent(answers, rows, measure) if value is None else None,
            }


_Numbers: TypeAlias = tuple[float, float, float, float]
"""Value, its interval, and what it would be by chance; NaN where there is none."""
_NOTHING: _Numbers = (float("nan"),) * 4
_OF_MODELS = (measures.STRICT, *measures.OF_PROBABILITIES)


def _values(
    questions: Questions, answers: Answers, part: IntArray, made: Mapping[str, FloatArray]
) -> dict[str, _Numbers]:
    """Numbers of every measure, in report order."""
    rows = part[answers.answered[part]]
    tried = part[answers.answered[part] | answers.unparsable[part]]
    values = dict.fromkeys(measures.MEASURES, _NOTHING)
    for measure, estimates in made.items():
        value, low, high = (float(number) for number in with_interval(estimates))
        values[measure] = value, low, high, float("nan")
    values[measures.ACCURACY] = _accuracy(questions, answers, rows)
    values[measures.STRICT] = _accuracy(questions, answers, tried)
    if answers.kind != MODEL:
        return {name: values[name] for name in values if name not in _OF_MODELS}
    if measures.scored_rows(answers, rows):
        off, by_chance = calibration_error(questions.valid[rows], answers.score[rows])
        values[measures.CALIBRATION] = (off, *_NOTHING[:2], by_chance)
    if len(tried) == len(rows):
        del values[measures.STRICT]
    return values


def _accuracy(questions: Questions, answers: Answers, rows: IntArray) -> _Numbers:
    """Share of right answers; what is not answered is wrong."""
    if not len(rows):
        return _NOTHING
    right = (questions.valid[rows] == answers.predicted[rows]) & answers.answered[rows]
    bounds = wilson_of_marks(right, questions.drawn.group[rows])
    return (float(right.mean()), *bounds, float("nan"))


def _closed_forms(answers: Answers, rows: IntArray, truth: BoolArray) -> Mapping[str, float]:
    """What the random or majority answer has by its closed form on these tuples, by measure."""
    if not len(truth) or answers.kind == MODEL:
        return {}
    q = float(truth.mean())
    ranking = {"roc_auc": 0.5, "average_precision": q} if 0 < q < 1 else {}
    if answers.model == RANDOM:
        return {measures.ACCURACY: 0.5, measures.MACRO_F1: random_macro_f1(q)} | ranking
    given = np.unique(answers.predicted[rows])
    if answers.model != MAJORITY or len(given) > 1:
        return {}
    share = q if given[0] else 1 - q
    return {measures.ACCURACY: share, measures.MACRO_F1: majority_macro_f1(share)} | ranking


def _defined(number: float) -> float | None:
    return None if np.isnan(number) else number


def _why_absent(answers: Answers, rows: IntArray, measure: str) -> str:
    if not len(rows):
        return NO_ANSWERS
    if measure in measures.OF_SCORES and not measures.scored_rows(answers, rows):
        return NO_SCORES
    return ONE_CLASS


def _differences(
    scored: _Scored, models: Sequence[Answers], references: Sequence[Answers]
) -> Iterator[dict[str, Any]]:
    """Rows of `DIFFERENCES`: each model against baselines, and against itself in its domain."""
    named = {answers.model: answers for answers in references}
    trained = {(answers.model, answers.trained_on): answers for answers in models}
    for answers in models:
        for relation, part in scored.asked.parts.items():
            others = {name: named[name] for name in COMPARED}
            own = trained.get((answers.model, relation))
            if own is not None and own is not answers:
                others[IN_DOMAIN] = own
            about = {
                "model": answers.model,
                "trained_on": answers.trained_on,
                "relation": relation,
                "split": scored.asked.split,
            }
            for against, other in others.items():
                both = part[answers.answered[part] & other.answered[part]]
                lines = _apart(scored.estimates(answers, both), scored.estimates(other, both))
                yield from ({**about, "against": against, "n": len(both), **d} for d in lines)


def _apart(
    own: Mapping[str, FloatArray], other: Mapping[str, FloatArray]
) -> Iterator[dict[str, Any]]:
    for measure in own:
        if measure in other:
            difference, low, high = with_interval(own[measure] - other[measure])
            if not np.isnan(difference):
                interval = {"low": float(low), "high": float(high)}
                yield {"measure": measure, "difference": float(difference), **interval}


def _reliability(questions: Questions, models: Sequence[Answers]) -> Iterator[dict[str, Any]]:
    for answers in models:
        for relation, part in questions.parts.items():
            rows = part[answers.answered[part]]
            if measures.scored_rows(answers, rows):
                about = {**answers.about(), "relation": relation, "split": questions.split}
                truth, group = questions.valid[rows], questions.drawn.group[rows]
                yield from ({**about, **line} for line in bins(truth, answers.score[rows], group))


def _coverage(questions: Questions, models: Sequence[Answers]) -> Iterator[dict[str, Any]]:
    for answers in models:
        for relation, part in questions.parts.items():
            answered = int(answers.answered[part].sum())
            unparsable = int(answers.unparsable[part].sum())
            yield {
                "model": answers.model,
                "trained_on": answers.trained_on,
                "relation": relation,
                "split": questions.split,
                "tuples": len(part),
                "answered": answered,
                "unparsable": unparsable,
                "missing": len(part) - answered - unparsable,
            }
