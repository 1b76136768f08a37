"""Safetensors: scores as a tensor; loading it executes no code."""

from __future__ import annotations

from audit.data.class_names import Classes
from audit.data.prediction_format import PredictionFormat, RawPredictions
from audit.data.prediction_formats.scores import matrix_among
from audit.data.sources import Source
from audit.data.tensors import read_tensors


def read(source: Source, classes: Classes | None) -> RawPredictions:
    """Read the tensor ``scores``, else ``logits``, else the only one with two dimensions.

    An optional tensor ``instances`` of whole numbers holds the ids.

    Raises:
        InputError: If header and numbers do not match, or the file is truncated.
        SchemaError: As in `audit.data.prediction_formats.scores.matrix_among`.
    """
    return matrix_among(read_tensors(source).arrays, classes, source)


def matches(source: Source) -> bool:
    """Whether the suffix is ``.safetensors``."""
    return source.suffix == ".safetensors"


FORMAT = PredictionFormat(
    name="safetensors",
    title="safetensors with the tensor scores or logits; --classes names the columns",
    matches=matches,
    read=read,
)
