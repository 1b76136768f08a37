"""Files of predictions: arrays, JSON, tables and lines, or the same in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import bare_suffix, parsed_json, text_blocks
from audit.base.remote import local
from audit.base.stored_tables import arrays_in
from audit.base.table import Table
from audit.base.tables import open_table
from audit.data.class_lists import columns_named, distinct
from audit.data.columns import Columns
from audit.data.prediction_tables import Labelled, PredictionTable, in_frame
from audit.data.published.events import json_lines_of
from audit.data.published.wanted import Wanted
from audit.data.raw_predictions import AnyArray, RawPredictions, stored, texts_in, with_names


def read_predictions(data: object, known: Labelled) -> RawPredictions:
    """Predictions of a file, a folder of parts of one table, a frame, an array or lists.

    Raises:
        InputError: If it cannot be read; else as `in_frame`.
    """
    return _read(data, known).with_names(known.names)


def _read(data: object, known: Labelled) -> RawPredictions:
    if isinstance(data, np.ndarray):
        return _matrix(data, known, "array")
    if isinstance(data, list):
        nested = [one for one in data[:1] if isinstance(one, list)]
        inner = nested[0][:1] if nested else data[:1]
        if any(isinstance(one, dict) for one in inner):
            return _in_entries(data, known, "list")
        if nested and any(isinstance(one, float) for one in inner):
            return _matrix(np.asarray(data), known, "list")
    if not isinstance(data, (str, Path)):
        return _in_table(open_table(data), known)
    path = local(data)
    suffix = bare_suffix(path)
    if suffix in (".pt", ".pth", ".safetensors", ".pkl", ".pickle"):
        required = "predictions are read from arrays of NumPy, tables and JSON"
        hint = 'np.save("scores.npy", scores) writes an array of NumPy'
        raise InputError(required, found=suffix, where=path, hint=hint)
    if suffix in (".npy", ".npz"):
        return replace(_in_arrays(path, known), sources=(path,))
    if suffix in (".json", ".jsonl", ".ndjson"):
        entries = _entries_of("".join(text_blocks(path)), path)
        return replace(_in_entries(entries, known, path), sources=(path,))
    table = json_lines_of(path, Wanted(Columns(), known.nodes)) or open_table(path)
    return replace(_in_table(table, known), sources=table.files)


def _in_arrays(path: Path, known: Labelled) -> RawPredictions:
    """Predictions of a NumPy file: scores, and beside these in ``.npz`` classes and instances."""
    arrays = arrays_in(path, str(path))
    scores = [name for name in arrays if name not in ("classes", "instances")]
    if len(scores) != 1:
        raise SchemaError(
            "exactly one array of scores is required",
            found=first_cases(f"{name} of shape {arrays[name].shape}" for name in scores) or "none",
            where=path,
            hint="beside it may stand instances, the ids of its rows, and classes",
        )
    classes = None if known.names else arrays.get("classes")
    raw = _matrix(arrays[scores[0]], known, path, classes)
    return raw.with_ids(arrays["instances"]) if "instances" in arrays else raw


def _matrix(
    scores: AnyArray, known: Labelled, where: object, classes: AnyArray | None = None
) -> RawPredictions:
    """Predictions of a matrix, shape (n_instances, n_classes); whole numbers 0 and 1 are sets.

    An array of one dimension holds the answer of each instance, by number or name.
    """
    scores = np.asarray(scores.tolist()) if scores.dtype == object else scores
    if scores.ndim == 1 and len(scores) and scores.dtype.kind in "iuU":
        answers = pl.DataFrame({"prediction": texts_in(scores, where)})
        return PredictionTable(answers, known, where, ids=False).long(None)
    if scores.ndim != 2 or scores.dtype.kind not in "biuf" or not scores.size:
        raise SchemaError(
            "scores must be a matrix of numbers, with a row per instance and a column per class",
            found=f"{scores.dtype} of shape {scores.shape}",
            where=where,
        )
    flags = scores.dtype.kind in "biu" and bool(((scores == 0) | (scores == 1)).all())
    given = known.names if classes is None else texts_in(classes, where)
    names = columns_named(distinct(given, "class", where), scores.shape[1], where)
    rows = tuple(map(str, range(len(scores))))
    return RawPredictions(
        rows, names, stored(scores), flags, (), str(where), numbered=True, named=classes is None
    )


def _in_table(table: Table, known: Labelled) -> RawPredictions:
    frame = table.frame()
    lists = [one for one in frame.dtypes if isinstance(one, pl.List | pl.Array)]
    if pl.Struct in frame.dtypes or any(one.inner.is_nested() for one in lists):
        return _in_entries(frame.to_dicts(), known, table)
    for name, names in table.class_names.items():
        frame = frame.with_columns(with_names(frame[name], names))
    return in_frame(frame, known, table)


def _entries_of(text: str, where: object) -> list[Any]:
    """The entries of JSON lines or of an array."""
    lines = [line for line in text.split("\n") if line.strip()]
    try:
        held = [parsed_json(line, where) for line in lines]
    except InputError:
        held = []
    held = held if len(held) > 1 else parsed_json(text, where)
    return held if isinstance(held, list) else [held]


def _in_entries(entries: Sequence[Any], known: Labelled, where: object) -> RawPredictions:
    """Predictions of entries of JSON.

    An entry holds, below one of its keys, scores by label, or a list of objects, each with a label
    and its score, as pipelines give them, which may be an entry themselves; or a list of labels.
    """
    if not all(isinstance(entry, (dict, list)) for entry in entries):
        required, found = "every entry must be an object, or a list", repr(entries[0])[:60]
        raise SchemaError(required, found=found, where=where)
    rows = [one if isinstance(one, dict) else {"labels": one} for one in entries]
    inside = [*dict.fromkeys(k for one in rows for k, value in one.items() if _answers(value))]
    if len(inside) > 1:
        raise SchemaError(
            "one list of labels with their scores is required in an entry",
            found=first_cases(inside),
            where=where,
            hint='{"id": "7", "scores": {"NAME": 0.9}} is one',
        )
    frame = _frame([{k: v for k, v in one.items() if k not in inside} for one in rows], where)
    if not inside:
        return in_frame(frame, known, where, absent=0.0)
    table = PredictionTable(frame, known, where)
    table.find_id(())
    ids = table.ids()
    each = ((id_, _answers(of.get(inside[0]))) for id_, of in zip(ids, rows, strict=True))
    pairs = [(id_, one) for id_, answers in each for one in answers]
    own = PredictionTable(_frame([one for _, one in pairs], where), known, where, ids=False)
    raw = own.long(pl.Series([id_ for id_, _ in pairs], dtype=pl.String), ids)
    return replace(raw, numbered=table.id is None, readings=(*table.unread(()), *raw.readings))


def _answers(value: Any) -> list[dict[str, Any]]:
    """The labels of an entry with their scores, if a value holds such."""
    if isinstance(value, dict) and {*map(type, value.values())} <= {int, float}:
        return [{"node": node, "score": score} for node, score in value.items()]
    objects = isinstance(value, list) and all(isinstance(one, dict) for one in value)
    return value if objects else []


def _frame(rows: Sequence[Mapping[str, Any]], where: object) -> pl.DataFrame:
    plain = [{key: _plain(value) for key, value in row.items()} for row in rows]
    try:
        return pl.DataFrame(plain, infer_schema_length=None, strict=False)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        required = "values of one kind under a key, in all entries, are required"
        raise SchemaError(required, found=str(error).split("\n")[0], where=where) from None


def _plain(value: Any) -> Any:
    """A value that a cell can hold: objects, and lists of such, as JSON."""
    deep = isinstance(value, list) and any(isinstance(one, (list, dict)) for one in value)
    return json.dumps(value, default=str) if deep or isinstance(value, dict) else value
