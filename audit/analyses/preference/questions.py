"""Questions, the scores that a model gives to tokens in each, and senses that a file chooses."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from audit.base.dag import FloatArray
from audit.base.declared import schema
from audit.base.errors import SchemaError, first_cases
from audit.base.files import first_bytes, once, read_json, refuse_pickle
from audit.base.json_tables import numbered_lines, objects_on
from audit.base.tables import open_table
from audit.data.records import pick

_KEYS = {"subject": "sub_label", "specific": "obj_label", "general": "obj2_label",
         "relation": "predicate_id", "uri": "sub_uri"}  # fmt: skip
QUESTIONS = schema((" ".join(_KEYS), pl.String()))
"""Columns of questions: the subject, such as ``Lake Louise Ski Resort``, the answers, such as
``Alberta`` and ``Canada``, the Wikidata property, such as ``P131``, and the subject's id if any."""


class TokenScores(NamedTuple):
    """A model's finite scores of tokens, as written, in the question of a row."""

    question: int
    tokens: tuple[str, ...]
    scores: FloatArray


_DECODER = json.JSONDecoder(object_pairs_hook=once)


def read_questions(path: Path) -> pl.DataFrame:
    """Read the questions of one predicate, in file order: columns `QUESTIONS`.

    JSON lines have ``sub_label, obj_label`` (specific), ``obj2_label`` (general), ``predicate_id``
    and maybe ``sub_uri``. SchemaError if a text is missing, or predicates differ.
    """
    source = open_table(path)
    there = {name: key for name, key in _KEYS.items() if name != "uri" or key in source.schema}
    asked = pick(source.frame(), source, **there)
    blank = asked.select(pl.any_horizontal(pl.exclude("uri").is_null())).to_series().arg_true()
    predicates = asked["relation"].drop_nulls().unique().sort()
    if len(blank) or len(predicates) > 1:
        raise SchemaError(
            f"texts under {', '.join(there.values())} are required, of one predicate_id",
            found=f"a blank in question {blank[0]}" if len(blank) else first_cases(predicates),
            where=path,
            hint="put each predicate into a file of its own",
        )
    return asked.with_columns(uri=pl.col("uri") if "uri" in there else pl.lit(None, pl.String))


def read_scores(path: Path, asked: pl.DataFrame) -> Iterator[TokenScores]:
    """Read scores, one question at a time, in file order; one line is in memory at a time.

    Args:
        path: JSON lines ``{"question": ..., "scores": {token: score}}``. Any numbers that grow with
            the model's preference: probabilities, log probabilities or logits.
        asked: The questions. A whole number under ``question`` is the row of one, from 0, blank
            lines not counted; a text is a ``sub_uri``.

    Raises:
        InputError: If the file cannot be read; SchemaError if it has no row, or a question is
            unknown, ambiguous or scored twice, has no tokens, or a score is no finite number.
    """
    named: dict[object, list[int]] = {row: [row] for row in range(len(asked))}
    for row, uri in enumerate(asked["uri"]):
        if uri is not None:
            named.setdefault(uri, []).append(row)
    seen = set[int]()
    refuse_pickle(path, first_bytes(path))
    for where, record in objects_on(numbered_lines(path), _DECODER):
        key, scores = record.get("question"), record.get("scores")
        found = named.get(key, []) if type(key) in (int, str) else []
        told = scores if isinstance(scores, dict) else {}
        bad = [{token: one} for token, one in told.items() if not _is_finite(one)]
        if len(found) != 1 or found[0] in seen or bad or not told:
            raise SchemaError(
                f"one of the {len(asked):,} questions, by its row from 0 or its sub_uri, each once,"
                " and 'scores', an object of tokens and finite numbers, are required",
                found=first_cases(bad) or f"the question {key!r} with {len(told):,} tokens",
                where=where,
            )
        seen.add(found[0])
        yield TokenScores(found[0], tuple(told), np.array([*told.values()], np.float64))
    if not seen:
        raise SchemaError("scores of a question are required", found="none", where=path)


def _is_finite(score: Any) -> bool:
    return type(score) in (int, float) and abs(score) <= sys.float_info.max


def read_senses(path: Path) -> Mapping[str, str | None]:
    """Read the node of each answer as written; None for an answer that denotes no node.

    Args:
        path: JSON: a list of pairs ``[answer, node]``, as the synset files released with
            *Abstraction Alignment* are, or an object ``{answer: node}``. A node may be null. An
            answer may be repeated: its last node that is not null counts.
    """
    stated, chosen = read_json(path), dict[str, str | None]()
    pairs = [*stated.items()] if isinstance(stated, dict) else stated
    try:
        table = pl.DataFrame(
            [*map(tuple, pairs)], {"answer": pl.String, "node": pl.String}, orient="row"
        )
        for answer, node in table.iter_rows():
            chosen[answer] = node or chosen.get(answer)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        chosen = {}
    if not chosen or None in chosen:
        raise SchemaError(
            "pairs of an answer and its node, or null, are required",
            found=f"{stated!r:.80}",
            where=path,
            hint='[["painter", "painter.n.01"], ["official", null]]',
        )
    return chosen
