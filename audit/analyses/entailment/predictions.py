"""Predictions of the validity of tuples, as read from files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from scipy.special import expit

from audit.analyses.entailment.answer_columns import refuse_repeated, sound_rows, with_every_role
from audit.analyses.entailment.tuple_files import truths, with_class_names
from audit.base.declared import schema
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.tables import open_table
from audit.data.class_lists import GivenClasses
from audit.data.records import Records, records

PREDICTIONS = schema(
    ("model trained_on id", pl.String),
    ("score", pl.Float64),
    ("valid unparsable", pl.Boolean),
)
"""One row per model, training data and tuple, each once. ``trained_on`` names a relation or a data
set; null if the file does not say. ``score`` is that of valid, in [0, 1]; null if the model gives
none. ``valid`` is its prediction; null where it is left to the score. ``unparsable`` marks answers
that are neither valid nor invalid and have no score."""

MISSING_ID, NO_ANSWER, BAD_SCORE = "missing_id", "no_answer", "bad_score"
"""Why a row is refused: no id; neither score nor prediction; or a score that is not a number."""

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
_KEYS = ("model", "trained_on", "id")
_NUMBERS = ("score", "logit_valid", "logit_invalid")


def read_validity_predictions(
    paths: Sequence[Path],
    columns: Mapping[str, str] | None = None,
    in_order: int | None = None,
    classes: GivenClasses = None,
) -> Records:
    """Read predictions of validity, columns `PREDICTIONS`, from CSV, TSV, JSON lines or Parquet.

    A file has an ``id`` and a ``score`` of valid in [0, 1], or a ``prediction`` (1 or 0, true or
    false, valid or invalid, yes or no), or both; or two logits, of which the softmax is taken: of
    ``logit_valid`` and ``logit_invalid``, or of ``entailment`` and ``neutral`` of an inference
    model, whose contradiction is left out as in *AbsPyramid*. ``model`` is the file's name without
    suffix where there is no such column.

    Args:
        paths: The files.
        columns: Column for each of `ROLES` that has another name.
        in_order: Number of records of tuples without ids, to which as many rows without ids belong.
        classes: Names of classes that predictions number from 0, or their file.

    Raises:
        InputError: If a file cannot be read, no row can be used, a model predicts a tuple twice, or
            predictions say neither valid nor invalid.
        SchemaError: If a column is missing, or a score is outside [0, 1].
    """
    parts = [_read(path, columns or {}, in_order, classes) for path in paths]
    return predictions_of(parts, paths)


def predictions_of(parts: Sequence[pl.DataFrame], paths: Sequence[Path]) -> Records:
    """Predictions, columns `PREDICTIONS`, from tables with these and ``refused``, one per file."""
    return sound_rows(parts, PREDICTIONS, "predictions of tuples", paths, _KEYS)


def together(several: Sequence[Records]) -> Records:
    """Predictions of all models of several readings, none for none."""
    frame = pl.concat([pl.DataFrame(schema=PREDICTIONS), *(one.frame for one in several)])
    sources = tuple(path for one in several for path in one.sources)
    refuse_repeated(frame, _KEYS, sources)
    return Records(frame, sum((Counter(one.ledger) for one in several), Counter[str]()), sources)


def _read(
    path: Path, columns: Mapping[str, str], in_order: int | None, classes: GivenClasses
) -> pl.DataFrame:
    """The rows of a file with why they are refused, null if they are not."""
    table = records(open_table(path), ROLES, columns).frame
    if "id" not in table.columns:
        table = _in_order(table, in_order, path)
    _refuse_ambiguous(table, path)
    whole = with_every_role(table, ROLES, path)
    score, bad = _scores(table, path)
    unsaid = pl.col("score").is_null() & pl.col("prediction").is_not_null()
    whole = whole.with_columns(with_class_names(whole["prediction"], classes, path))
    valid = truths(whole["prediction"])
    words = whole["prediction"].drop_nulls().unique(maintain_order=True)
    if len(words) and not valid.count() and not score.count():
        raise InputError(
            "a prediction must say valid or invalid, by the words of labels",
            found=first_cases(words.head(5), len(words)),
            where=path,
        )
    return whole.with_columns(score=score, bad=bad, valid=valid).with_columns(
        unparsable=unsaid & pl.col("valid").is_null(),
        refused=pl.when(pl.col("id").is_null())
        .then(pl.lit(MISSING_ID))
        .when("bad")
        .then(pl.lit(BAD_SCORE))
        .when(pl.col("score").is_null() & pl.col("prediction").is_null())
        .then(pl.lit(NO_ANSWER)),
    )


def _in_order(table: pl.DataFrame, in_order: int | None, path: Path) -> pl.DataFrame:
    """Rows without ids as those of as many records of tuples without ids, in their order."""
    if in_order != table.height:
        raise SchemaError(
            "a column named 'id' is required, or a row for each record of tuples without ids",
            found=f"{table.height:,} rows of {first_cases(table.columns)}",
            where=path,
        )
    return table.with_columns(id=pl.int_range(pl.len()).cast(pl.String))


def _refuse_ambiguous(table: pl.DataFrame, path: Path) -> None:
    numbers = [role for role in _NUMBERS if role in table.columns]
    if len(numbers) == 3 or numbers in (["logit_valid"], ["logit_invalid"]):
        required = "a score of valid is required, or the two logits of valid and invalid"
    elif not numbers and "prediction" not in table.columns:
        required = "a score of valid, a prediction or two logits are required"
    elif "score" in numbers and len(numbers) > 1:
        required = "a score of valid or two logits are required, not both"
    else:
        return
    raise SchemaError(
        required,
        found=f"columns for {first_cases(table.columns)}",
        where=path,
        hint="name other columns, for example score=p_valid",
    )


def _scores(table: pl.DataFrame, path: Path) -> tuple[pl.Series, pl.Series]:
    """Score of valid of each row, null where there is none, and whether one is no number."""
    given = [role for role in _NUMBERS if role in table.columns]
    if not given:
        nothing = pl.repeat(None, table.height, dtype=pl.Float64, eager=True)
        return nothing, pl.repeat(False, table.height, eager=True)
    numbers = table.select(pl.col(given).cast(pl.Float64, strict=False).fill_nan(None))
    finite = pl.all_horizontal(pl.col(given).is_finite().fill_null(False))
    sound = numbers.select(finite).to_series()
    written = table.select(pl.any_horizontal(pl.col(given).is_not_null())).to_series()
    score = numbers.to_series()
    if len(given) == 2:
        score = pl.Series(expit((numbers[given[0]] - numbers[given[1]]).fill_null(0).to_numpy()))
    score = pl.select(pl.when(sound).then(score)).to_series()
    outside = score.drop_nulls().filter(~score.drop_nulls().is_between(0, 1))
    if len(outside):
        raise SchemaError(
            "a score of valid must be between 0 and 1",
            found=first_cases(outside.head(5), len(outside)),
            where=path,
            hint="give logits as two columns, logit_valid and logit_invalid",
        )
    return score, written & ~sound
