"""NumPy matrices of scores: one row per instance, one column per class."""

from __future__ import annotations

from audit.data.class_names import Classes
from audit.data.label_formats.arrays import NPY_MAGIC, read_npy
from audit.data.prediction_format import PredictionFormat, RawPredictions
from audit.data.prediction_formats.scores import matrix
from audit.data.sources import Source


def read(source: Source, classes: Classes | None) -> RawPredictions:
    """Read a matrix whose column names are in ``classes``; ids are row numbers from 0.

    Raises:
        InputError: If it is not a NumPy file, is truncated, or holds pickled objects.
        SchemaError: As in `audit.data.prediction_formats.scores.matrix`.
    """
    return matrix(read_npy(source), classes, source)


def matches(source: Source) -> bool:
    """Whether the first bytes are those of an ``.npy`` file."""
    return source.head.startswith(NPY_MAGIC)


FORMAT = PredictionFormat(
    name="npy",
    title="a NumPy matrix with a row per instance and a column per class; --classes names the "
    "columns",
    matches=matches,
    read=read,
)
