"""Long tables of scores: one row per instance and node, with the score."""

from __future__ import annotations

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import column_named
from audit.data.class_names import Classes
from audit.data.prediction_format import PredictionFormat, RawPredictions, listed, numbers_in
from audit.data.records import id_among, pick
from audit.data.sources import Source


def read(source: Source, classes: Classes | None) -> RawPredictions:
    """Read the columns ``instance, node, score``; a node that is not listed has score 0.

    The id is ``id``, ``instance`` or ``hadm_id``, else the only further column.

    Raises:
        InputError: If the table cannot be read or has no row.
        SchemaError: If a column is missing, a value is blank, a score is not a number, or an
            instance has two scores for a node.
    """
    frame = source.table()
    node, score = (column_named(frame, name, source) for name in ("node", "score"))
    instance = id_among(frame.columns, None, {node, score}, source)
    return read_columns(source, instance, node, score)


def read_columns(source: Source, instance: str, node: str, score: str) -> RawPredictions:
    """Read the columns of these names; raises as `read`."""
    frame = source.table()
    source.refuse_numbers(instance, node)
    scores = pick(frame, source, instance=instance, node=node)
    scores = scores.with_columns(_numbers(frame[score], source))
    _require_rows(scores, source)
    return listed(scores, scores["instance"].unique(maintain_order=True), source)


def matches(source: Source) -> bool:
    """Whether the table has the columns ``node`` and ``score``."""
    return {"node", "score"} <= source.columns.keys()


def _numbers(written: pl.Series, source: Source) -> pl.Series:
    """Scores as float64, null where blank."""
    values = written
    if written.dtype == pl.String:
        values = written.str.strip_chars().replace("", None)
    elif not written.dtype.is_numeric():
        raise SchemaError(
            f"the column {written.name!r} must hold numbers", found=str(written.dtype), where=source
        )
    numbers = numbers_in(values) if values.dtype == pl.String else values.cast(pl.Float64)
    wrong = (numbers.is_null() & values.is_not_null()).arg_true()
    if len(wrong):
        cases = [f"{written[row]} in row {row + 1}" for row in wrong.head(5)]
        raise SchemaError(
            "every score must be a number", found=first_cases(cases, len(wrong)), where=source
        )
    return numbers.alias("score")


def _require_rows(scores: pl.DataFrame, source: Source) -> None:
    if scores.is_empty():
        raise SchemaError("a table with scores is required", found="no row", where=source)
    for name in scores.columns:
        blank = scores[name].is_null().arg_true()
        if len(blank):
            cases = [f"row {row + 1}" for row in blank.head(5)]
            raise SchemaError(
                f"every row must have a value in the column of the {name}",
                found=f"none in {first_cases(cases, len(blank))}",
                where=source,
            )


FORMAT = PredictionFormat(
    name="long",
    title="CSV, TSV or Parquet with the columns instance, node and score",
    matches=matches,
    read=read,
)
