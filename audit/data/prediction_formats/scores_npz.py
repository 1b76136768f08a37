"""Archives of NumPy arrays: scores, with the names of their columns and rows."""

from __future__ import annotations

from audit.data.class_names import Classes
from audit.data.label_formats.arrays import ZIP_MAGIC, read_npz
from audit.data.prediction_format import PredictionFormat, RawPredictions
from audit.data.prediction_formats.scores import matrix_among
from audit.data.sources import Source


def read(source: Source, classes: Classes | None) -> RawPredictions:
    """Read the array ``scores``, or the only matrix, with ``classes`` and ``instances``, if any.

    Names in the archive take precedence over those of the file ``classes``.

    Raises:
        InputError: If it is not such an archive, is truncated, or holds pickled objects.
        SchemaError: As in `audit.data.prediction_formats.scores.matrix_among`.
    """
    return matrix_among(read_npz(source), classes, source)


def matches(source: Source) -> bool:
    """Whether the suffix is ``.npz`` and the first bytes are those of an archive."""
    return source.suffix == ".npz" and source.head.startswith(ZIP_MAGIC)


FORMAT = PredictionFormat(
    name="npz",
    title="an archive of NumPy arrays: scores and, if any, classes and instances",
    matches=matches,
    read=read,
)
