"""Predictions of the validity of tuples, as read from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from scipy.special import expit

from audit.base.errors import InputError, SchemaError, first_cases
from audit.entailment.answer_tables import require_columns, text_columns, validity

PREDICTIONS: dict[str, Any] = {
    "model": pl.String,
    "trained_on": pl.String,
    "id": pl.String,
    "score": pl.Float64,
    "valid": pl.Boolean,
    "unparsable": pl.Boolean,
}
"""One row per model, training data and tuple, each once. ``trained_on`` names a relation or a data
set; null if the file does not say. ``score`` is that of valid, in [0, 1]; null if the model gives
none. ``valid`` is its prediction; null where it is left to the score. ``unparsable`` marks answers
that are neither valid nor invalid, which have no score either."""

MISSING_ID, NO_ANSWER, BAD_SCORE = "missing_id", "no_answer", "bad_score"
"""Why a row is refused: no id; neither score nor prediction; or a score that is no number."""

ROLES = {
    "id": ("id",),
    "model": ("model",),
    "trained_on": ("trained_on",),
    "score": ("score", "probability"),
    "prediction": ("prediction", "predicted"),
    "logit_valid": ("logit_valid", "entailment"),
    "logit_invalid": ("logit_invalid", "neutral"),
}
"""Names of columns by role. ``entailment`` and ``neutral`` are logits of an inference model."""
_LOGITS = ("logit_valid", "logit_invalid")
_KEYS = ("model", "trained_on", "id")
_READ: Any = {**PREDICTIONS, "refused": pl.String}


@dataclass(frozen=True, eq=False)
class ValidityPredictions:
    """Predictions of one or more models.

    Args:
        frame: The predictions, columns `PREDICTIONS`.
        rows_read: Number of rows read; each is in ``frame`` or was refused.
        refused: Number of rows refused, by reason.
        sources: The files.
    """

    frame: pl.DataFrame
    rows_read: int
    refused: Mapping[str, int] = field(default_factory=dict)
    sources: tuple[Path, ...] = ()


def read_validity_predictions(
    paths: Sequence[Path], columns: Mapping[str, str] | None = None
) -> ValidityPredictions:
    """Read predictions of validity from CSV, TSV, JSON lines or Parquet.

    A file has an ``id`` and a ``score`` of valid in [0, 1], or a ``prediction`` (1 or 0, true or
    false, valid or invalid, yes or no), or both; or two logits, of which the softmax is taken: of
    ``logit_valid`` and ``logit_invalid``, or of ``entailment`` and ``neutral`` of an inference
    model, whose contradiction is left out as in *AbsPyramid*. ``model`` is the file's name without
    suffix where there is no such column.

    Args:
        paths: The files.
        columns: Column for each of `ROLES` that has another name.

    Raises:
        InputError: If a file cannot be read, no row can be used, or a model predicts a tuple twice.
        SchemaError: If a column is missing, or a score is outside [0, 1].
    """
    parts = [_read(path, columns or {}) for path in paths]
    read = pl.concat(parts) if parts else pl.DataFrame(schema=_READ)
    refused = read["refused"].drop_nulls().value_counts(sort=True)
    frame = read.filter(pl.col("refused").is_null()).select(PREDICTIONS)
    if frame.is_empty():
        raise InputError(
            "predictions of tuples are required",
            found=f"{read.height:,} rows, none of which can be used: "
            + ", ".join(f"{reason} {n:,}" for reason, n in refused.rows()),
            where=paths[0] if paths else "",
        )
    refuse_repeated(frame, _KEYS, paths)
    return ValidityPredictions(frame, read.height, dict(refused.rows()), tuple(paths))


def refuse_repeated(frame: pl.DataFrame, keys: Sequence[str], paths: Sequence[Path]) -> None:
    """Raise InputError if a model answers the same question twice.

    Args:
        frame: Answers.
        keys: Columns that together name one answer.
        paths: The files, for the message.
    """
    twice = frame.filter(pl.struct(*keys).is_duplicated()).unique(keys, maintain_order=True)
    if not twice.is_empty():
        cases = twice.head(5).select(pl.concat_str(keys, separator=" ", ignore_nulls=True))
        raise InputError(
            "each model must give one answer to each question",
            found=f"several answers of {first_cases(cases.to_series(), twice.height)}",
            where=", ".join(map(str, paths)),
            hint="models, or draws of one model, need names of their own in a column model",
        )


def _read(path: Path, columns: Mapping[str, str]) -> pl.DataFrame:
    table = text_columns(path, ROLES, columns)
    require_columns(table, ("id",), path, "predictions are joined to tuples by the id of the tuple")
    scored = _with_score(table, path)
    prediction = validity(pl.col("prediction")) if "prediction" in table.columns else pl.lit(None)
    written = "prediction" if "prediction" in table.columns else pl.lit(None, pl.String)
    known = scored.with_columns(
        *[pl.lit(None, pl.String).alias(role) for role in _KEYS if role not in table.columns],
        valid=prediction.cast(pl.Boolean),
        written=written,
    ).with_columns(
        model=pl.col("model").fill_null(path.name.removesuffix(".gz").rsplit(".", 1)[0]),
        unparsable=pl.col("written").is_not_null()
        & pl.col("valid").is_null()
        & pl.col("score").is_null(),
    )
    answered = pl.col("score").is_not_null() | pl.col("written").is_not_null()
    refused = (
        pl.when(pl.col("id").is_null())
        .then(pl.lit(MISSING_ID))
        .when(pl.col("bad_score"))
        .then(pl.lit(BAD_SCORE))
        .when(~answered)
        .then(pl.lit(NO_ANSWER))
    )
    return known.select(*PREDICTIONS, refused=refused).cast(_READ)


def _with_score(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The table with ``score`` as a number, and ``bad_score`` where it is written and is none."""
    logits = [role for role in _LOGITS if role in table.columns]
    given = [role for role in ("score", *logits) if role in table.columns]
    if len(logits) == 1 or len(given) == 3:
        raise SchemaError(
            "a score of valid is required, or the two logits of valid and invalid",
            found=f"the columns {first_cases(given)}",
            where=path,
        )
    if not given and "prediction" not in table.columns:
        raise SchemaError(
            "a score of valid in [0, 1], a prediction or two logits are required",
            found=f"columns for {first_cases(table.columns)}",
            where=path,
            hint="name other columns, as in score=p_valid",
        )
    numbers = table.select(pl.col(given).cast(pl.Float64, strict=False))
    finite = numbers.select(pl.col(role).is_finite().fill_null(False) for role in given)
    written = table.select(pl.any_horizontal(pl.col(given).is_not_null())) if given else None
    whole = finite.select(pl.all_horizontal(given)).to_series() if given else None
    if whole is None or written is None:
        return table.with_columns(score=pl.lit(None, pl.Float64), bad_score=pl.lit(False))
    score = numbers.to_series() if not logits else _softmax(numbers, path)
    score = pl.select(pl.when(whole).then(score)).to_series()
    _refuse_outside(score, path)
    return table.with_columns(score=score, bad_score=written.to_series() & ~whole)


def _softmax(numbers: pl.DataFrame, path: Path) -> pl.Series:
    apart = (numbers["logit_valid"] - numbers["logit_invalid"]).to_numpy()
    return pl.Series(expit(apart))


def _refuse_outside(score: pl.Series, path: Path) -> None:
    outside = score.filter(~score.is_between(0, 1))
    if len(outside):
        raise SchemaError(
            "a score of valid must lie between 0 and 1",
            found=f"{len(outside):,} scores outside: {first_cases(outside.head(5), len(outside))}",
            where=path,
            hint="give logits as the two columns logit_valid and logit_invalid",
        )
