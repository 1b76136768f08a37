"""Predicted sets: files that list the predicted nodes of each instance, as labels are listed."""

from __future__ import annotations

from audit.base.files import called
from audit.data.class_names import Classes
from audit.data.joined_cells import hold_several
from audit.data.label_format import Columns, LabelFormat
from audit.data.label_formats import caml, id_lines, joined, long
from audit.data.prediction_format import PredictionFormat, RawPredictions, predicted_sets
from audit.data.sources import Source

_NAMES = ("label", "labels", "prediction", "predicted")
"""Names of the column of predicted nodes; case is ignored."""


def read_answers(source: Source, classes: Classes | None) -> RawPredictions:
    """Read two columns: an id, and the nodes predicted for it, as a table of labels has them.

    Raises:
        InputError: If the table cannot be read.
        SchemaError: If there are other columns, or a row lacks its id or its node.
    """
    column = _answers_in(source)
    several = column is not None and hold_several(source.first_cells(column))
    return predicted_sets((joined if several else long).read(source, Columns(label=column)), source)


def matches_answers(source: Source) -> bool:
    """Whether there are two columns, and one is named as what was predicted.

    With further columns, such as a score, more is said than which nodes were predicted.
    """
    return _answers_in(source) is not None and not caml.matches(source)


def _answers_in(source: Source) -> str | None:
    named = called(source.schema, _NAMES)
    return named[0] if len(source.schema) == 2 and len(named) == 1 else None


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
        title="predicted sets: CSV, TSV or Parquet with an id and a column label or prediction",
        matches=matches_answers,
        read=read_answers,
    ),
    *map(_of, (caml.FORMAT, id_lines.GROUPED, id_lines.PSV)),
)
"""Formats that list nodes without scores; `scores_jsonl` reads JSON lines with ``labels``."""
