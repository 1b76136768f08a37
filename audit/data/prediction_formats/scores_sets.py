"""Set-valued predictions: files that list the predicted nodes of each instance, as labels."""

from __future__ import annotations

from pathlib import Path

from audit.data.label_format import Columns, LabelFormat
from audit.data.label_formats import caml, grouped, psv
from audit.data.prediction_format import PredictionFormat, RawPredictions
from audit.data.prediction_formats.scores import predicted_sets


def _of(known: LabelFormat) -> PredictionFormat:
    """A format of labels as one of predictions, under the same name."""

    def read(path: Path, classes: Path | None) -> RawPredictions:
        return predicted_sets(known.read(path, Columns()), path)

    def matches(path: Path, head: bytes) -> bool:
        return b"\0" not in head and known.matches(path, head)

    return PredictionFormat(known.name, f"predicted sets: {known.title}", matches, read)


FORMATS: tuple[PredictionFormat, ...] = tuple(_of(known.FORMAT) for known in (caml, grouped, psv))
"""Formats that list nodes without scores; `scores_jsonl` reads JSON lines with ``labels``."""
