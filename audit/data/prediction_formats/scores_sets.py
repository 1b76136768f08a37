"""Set-valued predictions: files that list the predicted nodes of each instance, as labels."""

from __future__ import annotations

from audit.data.class_names import Classes
from audit.data.label_format import Columns, LabelFormat
from audit.data.label_formats import caml, grouped, psv
from audit.data.prediction_format import PredictionFormat, RawPredictions
from audit.data.prediction_formats.scores import predicted_sets
from audit.data.sources import Source


def _of(known: LabelFormat) -> PredictionFormat:
    """A format of labels as one of predictions, under the same name."""

    def read(source: Source, classes: Classes | None) -> RawPredictions:
        return predicted_sets(known.read(source, Columns()), source)

    def matches(source: Source) -> bool:
        return b"\0" not in source.head and known.matches(source)

    return PredictionFormat(known.name, f"predicted sets: {known.title}", matches, read)


FORMATS: tuple[PredictionFormat, ...] = tuple(_of(known.FORMAT) for known in (caml, grouped, psv))
"""Formats that list nodes without scores; `scores_jsonl` reads JSON lines with ``labels``."""
