"""Predicted sets: files that list the predicted nodes of each instance, as labels are listed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import called
from audit.data.class_names import Classes
from audit.data.known_nodes import hold_several
from audit.data.label_format import Columns, LabelFormat
from audit.data.label_formats import id_lines, long
from audit.data.prediction_format import PredictionFormat, RawPredictions, predicted_sets
from audit.data.prediction_formats import scores_long
from audit.data.sources import Frame, Source

PREDICTED = (
    *("prediction", "predictions", "predicted", "predicted_label", "predicted_class"),
    *("pred", "preds", "pred_label", "pred_class", "y_pred"),
)
_LABELS = ("label", "labels")
_TRUE = (*_LABELS, "true", "true_label", "truth", "y_true", "target", "gold", "actual")
_SCORE = ("score", "confidence", "probability", "prob", "proba", "y_prob", "y_score")
"""Names of the columns of what is predicted, is true, and how sure the model is; case is ignored.
Labels alone are what is predicted."""


def _roles_of(names: Iterable[str]) -> tuple[str, str | None, str | None] | None:
    """Columns of answers, of ids and of scores of a table of answers; None where there are others.

    True labels beside answers are left out.
    """
    names = list(names)
    predicted, score = called(names, PREDICTED), called(names, _SCORE)
    answers, true = predicted or called(names, _LABELS), called(names, _TRUE) if predicted else []
    ids = [name for name in names if name not in (*answers, *score, *true)]
    if len(answers) != 1 or len(score) > 1 or len(ids) > 1 or not (ids or predicted):
        return None
    return answers[0], next(iter(ids), None), next(iter(score), None)


def read_answers(source: Source, classes: Classes | None) -> RawPredictions:
    """Read ids and the nodes predicted for them, as a table of labels has them.

    Beside them may be true labels, which are left out, and how sure the model is of an answer,
    which is then its score. Without ids, they are row numbers from 0.

    Raises:
        InputError: If the table cannot be read.
        SchemaError: If a row lacks its id or its node.
    """
    column, instance, score = _roles_of(source.schema) or (None, None, None)
    if column and not instance:
        rows = source.table().with_row_index("id").with_columns(pl.col("id").cast(pl.String))
        return replace(of_frame(rows, source, classes), numbered=True)
    if column and instance and score:
        return scores_long.read_columns(source, instance, column, score)
    several = column is not None and hold_several(source.first_cells(column))
    named = Columns(id=instance, label=column)
    return predicted_sets((long.JOINED if several else long.FORMAT).read(source, named), source)


def of_frame(frame: pl.DataFrame, source: Source, classes: Classes | None) -> RawPredictions:
    """Predictions of a table of answers that was made of another source; raises as `read_answers`.

    Raises:
        SchemaError: If there are other columns than those of answers.
    """
    answers = Frame(frame)
    answers.know(None, named_classes=classes is not None)
    if not matches_answers(answers):
        raise SchemaError(
            f"one column of answers, and one of ids, are required beside {', '.join(_TRUE)}",
            found=f"the columns {first_cases(frame.columns)}",
            where=source,
            hint="leave out the others",
        )
    return replace(read_answers(answers, classes), sources=source.files, name=source.name)


def matches_answers(source: Source) -> bool:
    """Whether one column is named as what was predicted, and the others have other roles.

    With further columns more is said than which nodes were predicted.
    """
    return _roles_of(source.schema) is not None and not long.is_caml(source)


def _of(known: LabelFormat) -> PredictionFormat:
    """A format of labels as one of predictions, under the same name."""

    def read(source: Source, classes: Classes | None) -> RawPredictions:
        return predicted_sets(known.read(source, Columns()), source)

    def matches(source: Source) -> bool:
        return b"\0" not in source.head and known.matches(source)

    return PredictionFormat(known.name, f"predicted sets: {known.title}", matches, read)


FORMATS = (
    PredictionFormat(
        name="answers",
        title="CSV, TSV or Parquet with an id and a column label or prediction, and a column of its"
        " score, if any",
        matches=matches_answers,
        read=read_answers,
    ),
    *map(_of, (long.CAML, id_lines.GROUPED, id_lines.PSV)),
)
"""Formats that list nodes without scores; `scores_jsonl` reads JSON lines with ``labels``."""
