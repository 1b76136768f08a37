"""JSON lines of predictions: one object per instance, with its scores or its labels."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeAlias

import polars as pl

from audit.base.errors import SchemaError
from audit.data.class_names import Classes, distinct
from audit.data.json_lines import Line, keys_of, nested, objects, plain
from audit.data.label_format import Columns
from audit.data.label_formats import jsonl
from audit.data.prediction_format import PredictionFormat, RawPredictions, listed, predicted_sets
from audit.data.records import id_among
from audit.data.sources import Source


def read(source: Source, classes: Classes | None) -> RawPredictions:
    """Read ``{"id": ..., "scores": {node: score}}``, ``{node: score}`` or a list in ``labels``.

    The first line decides which. The id is the key ``id``, ``instance`` or ``hadm_id``, else the
    only key beside the scores that holds a plain value; without one, and for ``{node: score}``,
    it is the number of the object from 0. A node that is not listed has score 0.

    Raises:
        InputError: If a line is not a JSON object.
        SchemaError: If a line has another form than the first, a score is not a number, or an id
            is missing or occurs twice.
    """
    lines = list(objects(source))
    first = lines[0][1]
    if "labels" in first and "scores" not in first:
        return predicted_sets(jsonl.read(source, Columns()), source)
    named = "scores" in first
    ids = _ids(lines, source) if named else _row_numbers(lines)
    return _listed(ids, [_scores(line, named, where) for where, line in lines], source)


Scores: TypeAlias = list[tuple[str, float]]
"""Nodes of one line with their scores."""


def _listed(ids: tuple[str, ...], scores: list[Scores], source: Source) -> RawPredictions:
    triples = [
        (instance, node, score)
        for instance, own in zip(ids, scores, strict=True)
        for node, score in own
    ]
    frame = pl.DataFrame(triples, schema=_SCORES, orient="row")
    return listed(frame, pl.Series("instance", ids, pl.String), source)


_SCORES = {"instance": pl.String, "node": pl.String, "score": pl.Float64}


def _row_numbers(lines: list[Line]) -> tuple[str, ...]:
    return tuple(str(row) for row in range(len(lines)))


def _ids(lines: list[Line], source: Source) -> tuple[str, ...]:
    names = keys_of(lines)
    beside = {"scores", *nested(lines)}
    if not set(names) - beside:
        return _row_numbers(lines)
    key = id_among(names, None, beside, source)
    return distinct([_id(line, key, where) for where, line in lines], "instance", source)


def _id(line: dict[str, Any], key: str, where: str) -> str:
    instance = (plain(line.get(key), key, where) or "").strip()
    if not instance:
        raise SchemaError(f"every line must have an id in the key {key!r}", where=where)
    return instance


def _scores(line: dict[str, Any], named: bool, where: str) -> Scores:
    scores = line.get("scores") if named else line
    if not isinstance(scores, dict):
        raise SchemaError(
            "the key 'scores' must hold an object {node: score}, as on the first line",
            found=type(scores).__name__,
            where=where,
        )
    return [(node.strip(), _number(score, node, where)) for node, score in scores.items()]


def _number(score: Any, node: str, where: str) -> float:
    """A score as a number; the decoder leaves numbers as they are written."""
    if isinstance(score, str):
        with suppress(ValueError):
            return float(score)
    raise SchemaError(
        "every score must be a number",
        found=f"{score!r} for {node!r}",
        where=where,
        hint="a line is {node: score}, or an object with the key scores or labels",
    )


FORMAT = PredictionFormat(
    name="jsonl",
    title="JSON lines of {node: score}, or with such an object in scores, or a list in labels",
    matches=jsonl.matches,
    read=read,
)
