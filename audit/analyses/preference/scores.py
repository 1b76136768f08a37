"""Token scores, read question by question from JSON lines or Parquet."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from audit.analyses.preference.questions import Question, objects
from audit.base.dag import FloatArray
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.tables import open_table

ROWS_AT_A_TIME = 64
"""Number of Parquet rows in memory; one row may hold a vocabulary of 50,000 tokens."""

RawRow: TypeAlias = tuple[str, object, Sequence[str], list[Any]]
"""Place in the file, ``question``, tokens and scores, as written."""


@dataclass(frozen=True)
class TokenScores:
    """A model's scores of the tokens of its vocabulary in one question.

    Args:
        question: Position of the question in its file, from 0.
        tokens: Tokens as written, at least one.
        scores: Finite score of each token, shape (n_tokens,). Any numbers that grow with the
            model's preference: probabilities, log probabilities or logits.
    """

    question: int
    tokens: tuple[str, ...]
    scores: FloatArray


def read_scores(path: Path, questions: Sequence[Question]) -> Iterator[TokenScores]:
    """Read scores, one question at a time, in file order.

    Args:
        path: JSON lines ``{"question": ..., "scores": {token: score}}``, or Parquet with
            ``question`` and the lists ``tokens`` and ``scores``.
        questions: The questions. A whole number under ``question`` is the index of one, from 0,
            blank lines not counted; a text is a ``sub_uri``.

    Raises:
        InputError: If the file cannot be read or is empty.
        SchemaError: If a question is unknown, ambiguous or scored twice, has no tokens, or has a
            score
            that is missing, not a number or not finite.

    One line, or `ROWS_AT_A_TIME` rows of Parquet, are in memory at a time.
    """
    rows = _parquet(path) if path.suffix.lower() == ".parquet" else _json_lines(path)
    named: dict[object, list[int]] = {row: [row] for row in range(len(questions))}
    for row, question in enumerate(questions):
        if question.uri is not None:
            named.setdefault(question.uri, []).append(row)
    seen: set[int] = set()
    for where, key, tokens, scores in rows:
        found = named.get(key, []) if type(key) in (int, str) else []
        if len(found) != 1:
            raise SchemaError(
                f"a question of the {len(questions):,} is required: its row from 0, or its sub_uri",
                found=f"{key!r}, which {'several have' if found else 'none is'}",
                where=where,
            )
        if found[0] in seen:
            raise SchemaError("each question may be scored once", found=repr(key), where=where)
        seen.add(found[0])
        yield TokenScores(found[0], tuple(tokens), _numbers(tokens, scores, where))


def _json_lines(path: Path) -> Iterator[RawRow]:
    for where, record in objects(path):
        scores = record.get("scores")
        if "question" not in record or not isinstance(scores, dict):
            raise SchemaError(
                "'question' and 'scores', an object of tokens and numbers, are required",
                found=f"the keys {', '.join(record) or 'none'}",
                where=where,
            )
        yield where, record["question"], tuple(scores), list(scores.values())


def _parquet(path: Path) -> Iterator[RawRow]:
    table, row = open_table(path), 0
    schema = pl.Schema(table.schema)
    lists = schema.get("tokens") == pl.List(pl.String) and isinstance(schema.get("scores"), pl.List)
    if "question" not in schema or not lists:
        raise SchemaError(
            "the columns question, tokens (lists of texts) and scores (lists of numbers) are "
            "required",
            found=first_cases(f"{name} ({of})" for name, of in schema.items()),
            where=path,
        )
    for frame in table.frames(("question", "tokens", "scores"), ROWS_AT_A_TIME):
        filled = frame.with_columns(pl.col("tokens", "scores").fill_null([]))
        for key, tokens, scores in filled.iter_rows():
            yield f"{path}: row {row}", key, tokens, scores
            row += 1
    if row == 0:
        raise InputError("a file with content is required", found="no rows", where=path)


def _numbers(tokens: Sequence[str | None], scores: list[Any], where: str) -> FloatArray:
    """The scores as an array; every one a finite number, one a token."""
    if not tokens or len(tokens) != len(scores):
        raise SchemaError(
            "at least one token is required, each with a score",
            found=f"{len(tokens):,} tokens and {len(scores):,} scores",
            where=where,
        )
    if None in tokens:
        raise SchemaError("a token must be a text", found="null", where=where)
    with suppress(OverflowError):
        values = np.array(scores if {*map(type, scores)} <= {int, float} else np.nan, np.float64)
        if np.isfinite(values).all():
            return values
    bad = [{token: one} for token, one in zip(tokens, scores, strict=True) if not _is_finite(one)]
    raise SchemaError("every score must be a finite number", found=first_cases(bad), where=where)


def _is_finite(score: Any) -> bool:
    return type(score) in (int, float) and abs(score) <= sys.float_info.max
