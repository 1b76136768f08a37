"""Answers of language models to questions about tuples, as files: this package calls no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from audit.analyses.entailment.answer_columns import with_every_role
from audit.analyses.entailment.predictions import (
    MISSING_ID,
    predictions_of,
)
from audit.base.declared import schema
from audit.base.tables import open_table
from audit.data.records import Records, records

ROLES = {
    "id": ("id",),
    "model": ("model",),
    "trained_on": ("trained_on",),
    "answer": ("answer", "text"),
}
"""Names of columns by role."""
YES_WORDS, NO_WORDS = ("yes", "true", "valid"), ("no", "false", "invalid")
ANSWERS = schema(("model id answer", pl.String), ("valid", pl.Boolean))
"""One row per answer, as it was given; ``valid`` is what it says, null if it says neither."""


def read_answers(paths: Sequence[Path], columns: Mapping[str, str] | None = None) -> Records:
    """Read a language model's answers as predictions without scores.

    A file (JSON lines, CSV, TSV or Parquet) has an ``id`` and an ``answer``; `said_valid` says what
    an answer means. ``model`` is the file's name without suffix where there is no such column.

    Args:
        paths: The files.
        columns: Column for each of `ROLES` that has another name.

    Raises:
        InputError: If a file cannot be read, no row has an id, or a model answers a question twice.
        SchemaError: If a column is missing.
    """
    return predictions_of([_read(path, columns) for path in paths], paths)


def said_valid(answer: pl.Expr) -> pl.Expr:
    """Whether a free answer says valid, invalid, or (null) neither.

    The first word decides if it is one of `YES_WORDS` or `NO_WORDS`, else the last one if it is yes
    or no; else the answer says what the only ones of these words in it say, unless it has a "not".
    """
    words = answer.fill_null("").str.to_lowercase().str.extract_all(r"\p{L}+")
    yes, no = (
        words.list.set_intersection(pl.lit(list(said))).list.len() > 0
        for said in (YES_WORDS, NO_WORDS)
    )
    doubtful = words.list.contains("not")
    return pl.coalesce(
        _meaning(words.list.first(), YES_WORDS, NO_WORDS),
        _meaning(words.list.last(), YES_WORDS[:1], NO_WORDS[:1]),
        pl.when((yes ^ no) & ~doubtful).then(yes),
    )


def _meaning(word: pl.Expr, yes: Sequence[str], no: Sequence[str]) -> pl.Expr:
    return pl.when(word.is_in(yes)).then(True).when(word.is_in(no)).then(False)


def answer_texts(paths: Sequence[Path]) -> pl.DataFrame:
    """What models said, columns `ANSWERS`, from the files that `read_answers` reads."""
    given = [_given(path, None) for path in paths]
    return pl.concat([pl.DataFrame(schema=ANSWERS), *(one.select(*ANSWERS) for one in given)])


def _read(path: Path, columns: Mapping[str, str] | None) -> pl.DataFrame:
    return _given(path, columns).with_columns(
        score=pl.lit(None, pl.Float64),
        unparsable=pl.col("valid").is_null(),
        refused=pl.when(pl.col("id").is_null()).then(pl.lit(MISSING_ID)),
    )


def _given(path: Path, columns: Mapping[str, str] | None) -> pl.DataFrame:
    table = records(open_table(path), ROLES, columns, ("id", "answer")).frame
    whole = with_every_role(table, ROLES, path)
    return whole.with_columns(valid=said_valid(pl.col("answer")))
