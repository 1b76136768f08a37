"""JSON lines of predictions: one object per instance, with its scores or its labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

import polars as pl

from audit.base.errors import InputError, SchemaError
from audit.base.files import called
from audit.base.readings import Reading
from audit.data.class_names import Classes, distinct
from audit.data.json_lines import (
    AS_WRITTEN,
    Line,
    is_array,
    keys_of,
    nested,
    objects,
    plain,
)
from audit.data.label_format import Columns, RawLabels
from audit.data.label_formats import jsonl
from audit.data.prediction_format import PredictionFormat, RawPredictions, listed, predicted_sets
from audit.data.prediction_formats import scores_wide
from audit.data.prediction_formats.listed import PREDICTED, as_frame, called_like, of_frame
from audit.data.records import UnclearColumnsError, id_among, table_of
from audit.data.sources import Frame, Source


def read(source: Source, classes: Classes | None) -> RawPredictions:
    """Read scores, answers or predicted sets: an object a line, or entry of an array, an instance.

    Scores are ``{"id": ..., "scores": {node: score}}``, ``{node: score}``, or as pipelines give
    them: lists of ``{"label": node, "score": score}``, alone or in ``scores``, or ``labels`` beside
    their ``scores``. Answers are in a key such as ``prediction``, sets a list in ``labels``. The
    first entry decides which. The id is the key ``id``, ``instance`` or ``hadm_id``, else the only
    key beside the scores that holds a plain value; without one, and for ``{node: score}``, it is
    the number of the entry from 0. A node that is not listed has score 0.
    """
    found = _in_lists(source) if is_array(source) else objects(source)
    rest = ((where, _paired(entry)) for where, entry in found)
    head = next(rest)
    first = head[1]
    named = "scores" in first
    for key in () if named else (*called_like(first, PREDICTED), *called(first, ["labels"])):
        if key == "labels" or isinstance(first[key], list):
            return predicted_sets(_labels_in(key, source), source)
        table = as_frame(table_of(source), source, classes)
        if not scores_wide.matches(table):
            return of_frame(table.frame, source, classes)
        raw = scores_wide.read(table, classes)
        return replace(raw, sources=source.files, name=source.name)
    entries = [head, *rest]
    ids = _ids(entries, source) if named else None
    raw = _listed(ids, [_scores(line, named, where) for where, line in entries], source)
    twice = sum(_repeats(line.get("scores")) for _, line in entries)
    told = Reading(
        "of several scores of a node, as of several boxes, the highest counts",
        "they stand in one list", twice, "write one score for each label",
    )  # fmt: skip
    return replace(raw, readings=(*raw.readings, told)) if twice else raw


def _labels_in(key: str, source: Source) -> RawLabels:
    """The labels in the lists of a key, which are those that no option names."""
    try:
        return jsonl.read(source, Columns(label=key))
    except UnclearColumnsError as error:
        raise SchemaError(
            f"texts, or objects of a label and a score, are required in {key!r}",
            found=error.found, where=source, hint=_LINES,
        ) from None  # fmt: skip


_LINES = "a line is {node: score}, or an object with the key scores or labels"


def _repeats(scores: Any) -> bool:
    """Whether a list of scores has a label more than once."""
    if not (isinstance(scores, list) and all(map(_is_pair, scores))):
        return False
    return len({str(one["label"]).strip() for one in scores}) < len(scores)


Scores: TypeAlias = list[tuple[str, float]]
"""Nodes of one line with their scores."""


def _in_lists(source: Source) -> Iterator[Line]:
    """What a list a line, or an array, holds; a list of scores is what an object has in them."""
    lines = list(source.lines())
    try:
        entries = [AS_WRITTEN.decode(line.strip()) for _, line in lines]
        wheres = [where for where, _ in lines]
    except ValueError:
        entries = []
    if len(entries) < 2:
        try:
            (entries,) = [AS_WRITTEN.decode("\n".join(line for _, line in lines).strip())]
        except ValueError as error:
            raise InputError("JSON is required", found=str(error), where=source) from None
        wheres = [f"{source}: entry {number}" for number in range(1, len(entries) + 1)]
    for where, entry in zip(wheres, entries, strict=True):
        pair = isinstance(entry, dict) and entry.keys() >= _PAIR
        listed = isinstance(entry, list)
        yield where, {"scores": entry} if listed else entry | {"scores": [entry]} if pair else entry


_PAIR = {"label", "score"}


def _is_pair(value: object) -> bool:
    return isinstance(value, dict) and value.keys() >= _PAIR


_SCORE, _NODE = ("score", "probability", "prob", "confidence"), (
    "label", "class", "class_name", "category", "node", "code", "tag", "name", "id",
)  # fmt: skip


def _pair_of(value: object) -> dict[str, Any] | None:
    """A label and its score, whatever their keys are called; None of what is none."""
    if not isinstance(value, dict):
        return None
    found = [[key for key in names if key in value] for names in (_NODE, _SCORE)]
    return {"label": value[found[0][0]], "score": value[found[1][0]]} if all(found) else None


_TEXT = "sequence"
"""The key of the text that a pipeline was given, which is no id."""


def _paired(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry with scores by label: in one list under any key, also in an object below one, or in
    lists of both."""
    for key, value in entry.items():
        inner = _paired(value) if isinstance(value, dict) else {}
        pairs = [*map(_pair_of, value)] if isinstance(value, list) else []
        scores = pairs if pairs and all(pairs) else inner.get("scores")
        if key != "scores" and isinstance(scores, list):
            return {name: one for name, one in entry.items() if name != key} | {"scores": scores}
    labels, scores = entry.get("labels"), entry.get("scores")
    if not (isinstance(labels, list) and isinstance(scores, list) and len(labels) == len(scores)):
        return entry
    beside = {key: value for key, value in entry.items() if key not in ("labels", _TEXT)}
    named = zip(map(str, labels), scores, strict=True)
    pairs = [{"label": label, "score": score} for label, score in named]
    return beside | {"scores": pairs}


def _listed(ids: tuple[str, ...] | None, scores: list[Scores], source: Source) -> RawPredictions:
    instances = ids or [*map(str, range(len(scores)))]
    triples = [
        (instance, node, score)
        for instance, own in zip(instances, scores, strict=True)
        for node, score in own
    ]
    frame = pl.DataFrame(triples, schema=_SCORES, orient="row")
    raw = listed(frame, pl.Series("instance", instances, pl.String), source)
    return replace(raw, numbered=not ids)


_SCORES = {"instance": pl.String, "node": pl.String, "score": pl.Float64}


def _ids(lines: list[Line], source: Source) -> tuple[str, ...] | None:
    names = keys_of(lines)
    beside = {"scores", *_PAIR, *nested(lines)}
    if not set(names) - beside:
        return None
    free = [name for name in names if name not in beside]
    columns = {name: [line.get(name) for _, line in lines] for name in free}
    table = Frame(pl.DataFrame(columns, schema=dict.fromkeys(free, pl.String), strict=False))
    table.id, table.instances = source.id, source.instances
    key = id_among(names, table.known_id(free), beside, source)
    return distinct([_id(line, key, where) for where, line in lines], "instance", source)


def _id(line: dict[str, Any], key: str, where: str) -> str:
    instance = (plain(line.get(key), key, where) or "").strip()
    if not instance:
        raise SchemaError(f"every line must have an id in the key {key!r}", where=where)
    return instance


def _scores(line: dict[str, Any], named: bool, where: str) -> Scores:
    scores = line.get("scores") if named else line
    if isinstance(scores, list) and all(map(_is_pair, scores)):
        pairs = [(str(one.get("label")).strip(), one.get("score")) for one in scores]
        highest = dict[str, tuple[float, Any]]()
        for node, score in pairs:
            own = (_number(score, node, where), score)
            highest[node] = max(own, highest.get(node, own))
        scores = {node: score for node, (_, score) in highest.items()}
    if not isinstance(scores, dict):
        raise SchemaError(
            "the key 'scores' must hold an object {node: score}, as on the first line",
            found=type(scores).__name__,
            where=where,
        )
    return [(node.strip(), _number(score, node, where)) for node, score in scores.items()]


def _matches(source: Source) -> bool:
    """Whether it is JSON of objects, or of lists of labels with scores."""
    lists = is_array(source) and '"label"' in "".join(source.head_lines)
    return lists or jsonl.matches(source)


def _number(score: Any, node: str, where: str) -> float:
    """A score as a number; the decoder leaves numbers as they are written."""
    if isinstance(score, str):
        with suppress(ValueError):
            return float(score)
    raise SchemaError(
        "every score must be a number",
        found=f"{score!r} for {node!r}",
        where=where,
        hint=_LINES,
    )


FORMAT = PredictionFormat(
    name="jsonl",
    title="JSON lines of {node: score}, or with such an object in scores, or a list in labels",
    matches=_matches,
    read=read,
)
