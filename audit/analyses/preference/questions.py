"""Questions, the scores that a model gives to tokens in each, and senses that a file chooses."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import polars as pl

from audit.base.dag import FloatArray
from audit.base.declared import schema
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import first_bytes, once, read_json, refuse_pickle
from audit.base.json_tables import Line, lines_of, objects_on
from audit.base.tables import open_table

ROWS_AT_A_TIME = 64
"""Number of Parquet rows in memory; one row may hold a vocabulary of 50,000 tokens."""
_KEYS = {"subject": "sub_label", "specific": "obj_label", "general": "obj2_label",
         "relation": "predicate_id", "uri": "sub_uri"}  # fmt: skip
QUESTIONS = schema((" ".join(_KEYS), pl.String()))
"""Columns of questions: the subject, such as ``Lake Louise Ski Resort``, the specific answer, such
as ``Alberta``, the general one, such as ``Canada``, the Wikidata property in question, such as
``P131``, and the id of the subject, null if the file has none."""


class TokenScores(NamedTuple):
    """A model's finite scores of tokens, as written, in the question of a row."""

    question: int
    tokens: tuple[str, ...]
    scores: FloatArray


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=once)


def objects(path: Path) -> Iterator[Line]:
    """The object of each line that is not blank, with its place; one line is held at a time."""
    refuse_pickle(path, first_bytes(path))
    empty = True
    for line in objects_on(lines_of(path), _DECODER):
        empty = False
        yield line
    if empty:
        raise InputError("a file with content is required", found="an empty file", where=path)


def read_questions(path: Path) -> pl.DataFrame:
    """Read the questions of one predicate, in file order: columns `QUESTIONS`.

    Args:
        path: JSON lines with ``sub_label, obj_label`` (specific), ``obj2_label`` (general) and
            ``predicate_id``; optionally ``sub_uri``. Other keys are ignored.

    Raises:
        InputError: If the file cannot be read, is empty, or a line is not a JSON object;
            SchemaError if a text is missing, or predicates differ.
    """
    rows = []
    for where, record in objects(path):
        for key in _KEYS.values():
            value = record.get(key)
            if (key in record or key != "sub_uri") and not (
                isinstance(value, str) and value.strip()
            ):
                found = repr(value) if key in record else f"the keys {', '.join(record)}"
                raise SchemaError(f"a text under {key!r} is required", found=found, where=where)
        rows.append({name: record.get(key) for name, key in _KEYS.items()})
    predicates = sorted({str(row["relation"]) for row in rows})
    if len(predicates) > 1:
        raise SchemaError(
            "all questions must have one predicate_id",
            found=first_cases(predicates),
            where=path,
            hint="put each predicate into a file of its own",
        )
    return pl.DataFrame(rows, schema=QUESTIONS)


def read_scores(path: Path, asked: pl.DataFrame) -> Iterator[TokenScores]:
    """Read scores, one question at a time, in file order.

    Args:
        path: JSON lines ``{"question": ..., "scores": {token: score}}``, or Parquet with
            ``question`` and the lists ``tokens`` and ``scores``. Any numbers that grow with the
            model's preference: probabilities, log probabilities or logits.
        asked: The questions. A whole number under ``question`` is the row of one, from 0, blank
            lines not counted; a text is a ``sub_uri``.

    Raises:
        InputError: If the file cannot be read or is empty; SchemaError if a question is unknown,
            ambiguous or scored twice, has no tokens, or has a score that is not a finite number.

    One line, or `ROWS_AT_A_TIME` rows of Parquet, are in memory at a time.
    """
    named: dict[object, list[int]] = {row: [row] for row in range(len(asked))}
    for row, uri in enumerate(asked["uri"]):
        if uri is not None:
            named.setdefault(uri, []).append(row)
    rows = _in_parquet(path) if path.suffix.lower() == ".parquet" else _in_lines(path)
    seen = set[int]()
    for where, key, tokens, scores in rows:
        found = named.get(key, []) if type(key) in (int, str) else []
        if len(found) != 1 or found[0] in seen:
            raise SchemaError(
                f"a question of the {len(asked):,} is required, once: its row from 0, or its"
                " sub_uri",
                found=f"{key!r}, which {'several have, or one before' if found else 'none is'}",
                where=where,
            )
        seen.add(found[0])
        bad = [one for one in zip(tokens, scores, strict=False) if not _is_sound(*one)]
        if bad or not tokens or len(tokens) != len(scores):
            raise SchemaError(
                "tokens, at least one, each a text with a score, a finite number, are required",
                found=first_cases({token: one} for token, one in bad)
                or f"{len(tokens):,} tokens and {len(scores):,} scores",
                where=where,
            )
        yield TokenScores(found[0], tuple(tokens), np.array(scores, np.float64))


def _is_sound(token: Any, score: Any) -> bool:
    number = type(score) in (int, float) and abs(score) <= sys.float_info.max
    return number and isinstance(token, str)


_Row = tuple[str, object, Sequence[str], list[Any]]


def _in_lines(path: Path) -> Iterator[_Row]:
    for where, record in objects(path):
        scores = record.get("scores")
        if "question" not in record or not isinstance(scores, dict):
            raise SchemaError(
                "'question' and 'scores', an object of tokens and numbers, are required",
                found=f"the keys {', '.join(record) or 'none'}",
                where=where,
            )
        yield where, record["question"], tuple(scores), list(scores.values())


def _in_parquet(path: Path) -> Iterator[_Row]:
    table, row = open_table(path), 0
    types = pl.Schema(table.schema)
    lists = types.get("tokens") == pl.List(pl.String) and isinstance(types.get("scores"), pl.List)
    if "question" not in types or not lists:
        raise SchemaError(
            "the columns question, tokens (lists of texts) and scores (lists of numbers) are "
            "required",
            found=first_cases(f"{name} ({of})" for name, of in types.items()),
            where=path,
        )
    for frame in table.frames(("question", "tokens", "scores"), ROWS_AT_A_TIME):
        for key, tokens, scores in frame.iter_rows():
            yield f"{path}: row {row}", key, tokens or [], scores or []
            row += 1
    if row == 0:
        raise InputError("a file with content is required", found="no rows", where=path)


def read_senses(path: Path) -> Mapping[str, str | None]:
    """Read the node of each answer as written; None for an answer that denotes no node.

    Args:
        path: JSON: a list of pairs ``[answer, node]``, as the synset files released with
            *Abstraction Alignment* are, or an object ``{answer: node}``. A node may be null. An
            answer may be repeated: its last node that is not null counts.
    """
    stated = read_json(path)
    pairs = list(stated.items()) if isinstance(stated, dict) else stated
    chosen: dict[str, str | None] = {}
    try:
        for answer, node in pairs:
            if not isinstance(answer, str) or not (
                node is None or (node and isinstance(node, str))
            ):
                raise ValueError(f"[{answer!r}, {node!r}]")
            chosen[answer] = node or chosen.get(answer)
    except (TypeError, ValueError) as error:
        chosen, stated = {}, str(error)
    if not chosen:
        raise SchemaError(
            "pairs of an answer and its node, or null, are required",
            found=f"{stated!r:.80}",
            where=path,
            hint='[["painter", "painter.n.01"], ["official", null]]',
        )
    return chosen
