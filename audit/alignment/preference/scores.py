"""Token scores, read question by question from JSON lines or Parquet, and the words they are of."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from audit.alignment.preference.questions import Question, objects
from audit.base.dag import FloatArray, IntArray
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.tables import open_table

ROWS_AT_A_TIME = 64
"""Number of Parquet rows in memory; one row may hold a vocabulary of 50,000 tokens."""

RawRow: TypeAlias = tuple[str, object, Sequence[str], object]
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
    position = _Positions(questions)
    for where, key, tokens, scores in rows:
        yield TokenScores(position.of(key, where), tuple(tokens), _numbers(tokens, scores, where))


class _Positions:
    """Finds questions by what names them, each once."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self._n = len(questions)
        self._rows: dict[str, list[int]] = {}
        self._seen: set[int] = set()
        for row, question in enumerate(questions):
            if question.uri is not None:
                self._rows.setdefault(question.uri, []).append(row)

    def of(self, key: object, where: str) -> int:
        rows = self._candidates(key)
        if len(rows) != 1:
            raise SchemaError(
                f"a question of the {self._n:,} is required: its row from 0, or its sub_uri",
                found=f"{key!r}, which {'several have' if rows else 'none is'}",
                where=where,
            )
        if rows[0] in self._seen:
            raise SchemaError("each question may be scored once", found=repr(key), where=where)
        self._seen.add(rows[0])
        return rows[0]

    def _candidates(self, key: object) -> list[int]:
        if isinstance(key, str):
            return self._rows.get(key, [])
        if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < self._n:
            return [key]
        return []


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
    _refuse_columns(path, [*table.schema])
    for frame in table.frames(_COLUMNS, ROWS_AT_A_TIME):
        for key, tokens, scores in _rows(frame, path):
            yield f"{path}: row {row}", key, tokens, scores
            row += 1
    if row == 0:
        raise InputError("a file with content is required", found="no rows", where=path)


_COLUMNS = ("question", "tokens", "scores")


def _refuse_columns(path: Path, names: Sequence[str]) -> None:
    missing = [name for name in _COLUMNS if name not in names]
    if missing:
        raise SchemaError(
            "the columns question, tokens and scores are required",
            found=f"the columns {first_cases(names)}",
            where=path,
        )


def _rows(batch: pl.DataFrame, path: Path) -> Iterator[tuple[Any, ...]]:
    if batch.schema["tokens"] != pl.List(pl.String) or not isinstance(
        batch.schema["scores"], pl.List
    ):
        raise SchemaError(
            "tokens and scores must be lists, of texts and of numbers",
            found=f"{batch.schema['tokens']} and {batch.schema['scores']}",
            where=path,
        )
    filled = batch.with_columns(pl.col("tokens", "scores").fill_null([]))
    return filled.select(_COLUMNS).iter_rows()


def _numbers(tokens: Sequence[str], scores: object, where: str) -> FloatArray:
    """The scores as an array; every one a finite number, one a token."""
    assert isinstance(scores, list)
    if not tokens or len(tokens) != len(scores):
        raise SchemaError(
            "at least one token is required, each with a score",
            found=f"{len(tokens):,} tokens and {len(scores):,} scores",
            where=where,
        )
    if None in tokens:
        raise SchemaError("a token must be a text", found="null", where=where)
    values = _floats(scores)
    if values is None or not np.isfinite(values).all():
        bad = [{token: score} for token, score in zip(tokens, scores, strict=True) if _bad(score)]
        raise SchemaError(
            "every score must be a finite number", found=first_cases(bad), where=where
        )
    return values


def _floats(scores: list[Any]) -> FloatArray | None:
    if not set(map(type, scores)) <= {int, float}:
        return None
    try:
        return np.array(scores, np.float64)
    except OverflowError:
        return None


def _bad(score: object) -> bool:
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        return True
    return not abs(score) <= sys.float_info.max


class Vocabulary:
    """The tokens met so far; grows with every row, and maps a repeated list of tokens only once.

    Args:
        position: Position of each compared word.
        form: The form of a token that is looked up among the words.

    ``tokens`` holds the tokens met so far.
    """

    def __init__(self, position: Mapping[str, int], form: Callable[[str], str]) -> None:
        self.tokens: set[str] = set()
        self._position, self._form = position, form
        self._last: tuple[str, ...] = ()
        self._places = np.zeros(0, np.int64)

    def placed(self, row: TokenScores) -> tuple[IntArray, FloatArray]:
        """Position of each token's word, and the highest score of each word's tokens.

        Shapes (n_tokens,), -1 for words that are not compared, and (n_words,), -inf for those
        without a score.
        """
        if row.tokens != self._last:
            found = (self._position.get(self._form(token), -1) for token in row.tokens)
            self._places = np.fromiter(found, np.int64, len(row.tokens))
            self._last = row.tokens
            self.tokens.update(row.tokens)
        values = np.full(len(self._position), -np.inf)
        known = self._places >= 0
        np.maximum.at(values, self._places[known], row.scores[known])
        return self._places, values
