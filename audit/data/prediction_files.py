"""Files of predictions: arrays, JSON, tables and lines, or the same in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import bare_suffix, once, text_blocks
from audit.base.remote import local
from audit.base.stored_tables import arrays_in
from audit.base.table import Table
from audit.base.tables import open_table
from audit.data.class_lists import columns_named, distinct
from audit.data.columns import Columns
from audit.data.layouts import layout_of
from audit.data.prediction_cells import Labelled, with_names
from audit.data.prediction_tables import PredictionTable, in_frame
from audit.data.published.events import lines_of
from audit.data.published.wanted import Wanted
from audit.data.raw_predictions import AnyArray, RawPredictions, stored, texts_in

_IDS, _CLASSES = ("instances", "ids", "id"), ("classes",)


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
        entries = _entries_of("".join(text_blocks(path)), path, known.ids)
        return replace(_in_entries(entries, known, path), sources=(path,))
    table = lines_of(path, Wanted(Columns(), known.nodes)) or open_table(path)
    return replace(_in_table(table, known), sources=table.files)


def _in_arrays(path: Path, known: Labelled) -> RawPredictions:
    """Predictions of a file of NumPy; ``.npz`` holds scores and, if any, classes and instances.

    The scores are the array of that name, else the only other one, or the only one of two
    dimensions.
    """
    arrays = arrays_in(path, str(path))
    beside = [name for name in arrays if name not in (*_CLASSES, *_IDS)]
    two = [name for name in beside if arrays[name].ndim == 2]
    chosen = "scores" if "scores" in arrays else (two or beside or [""])[0]
    if chosen not in arrays or (chosen != "scores" and len(two or beside) > 1):
        found = first_cases(f"{name} of shape {one.shape}" for name, one in arrays.items())
        required = "exactly one array of scores is required"
        raise SchemaError(required, found=found or "none", where=path, hint="call it scores")
    classes = None if known.names else arrays.get("classes")
    raw = _matrix(arrays[chosen], known, path, classes)
    ids = [arrays[name] for name in _IDS if name in arrays]
    return raw.with_ids(ids[0]) if ids else raw


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
    frame, layout = table.frame(), layout_of(table)
    if any(isinstance(one, pl.Struct) or _holds_nested(one) for one in frame.dtypes):
        return _in_entries(frame.to_dicts(), known, table)
    if layout is not None and layout.take:
        required = "a column of answers, and one of their scores, are required"
        found, hint = f"lines of the layout {layout.name}", "write rows: id, label, score"
        raise InputError(required, found=found, where=table, hint=hint)
    for name, names in table.class_names.items():
        frame = frame.with_columns(with_names(frame[name], names))
    known.sep = known.sep or (layout.sep if layout else "")
    return in_frame(frame, known, table)


def _entries_of(text: str, where: object, ids: Set[str]) -> list[Any]:
    """The entries of JSON lines, of an array, of an object of entries by id, or of an array below
    the only key; ``ids`` are those of the labels."""
    read = partial(json.loads, object_pairs_hook=once)
    held: Any
    try:
        held = [read(line) for line in text.split("\n") if line.strip()]
    except ValueError:
        held = []
    try:
        held = held if len(held) > 1 else read(text)
    except (ValueError, RecursionError) as error:
        raise InputError("JSON is required", found=str(error), where=where) from None
    values = [*held.values()] if isinstance(held, dict) else []
    if len(values) == 1 and isinstance(values[0], list):
        return values[0]
    if values and (held.keys() & ids or all(isinstance(one, (dict, list)) for one in values)):
        return [{"id": id_, "scores": one} for id_, one in held.items()]
    return held if isinstance(held, list) else [held]


def _in_entries(entries: Sequence[Any], known: Labelled, where: object) -> RawPredictions:
    """Predictions of entries of JSON.

    An entry holds scores by label; a list of objects, each with a label and its score, as pipelines
    give them; labels in a list and their scores in another; or a list of labels alone. These stand
    in the entry or below any of its keys.
    """
    if not all(isinstance(entry, (dict, list)) for entry in entries):
        required, found = "every entry must be an object, or a list", repr(entries[0])[:60]
        raise SchemaError(required, found=found, where=where)
    parts = [_parts(one if isinstance(one, dict) else {"labels": one}) for one in entries]
    inside = [*dict.fromkeys(key for _, answers in parts for key in answers)]
    if len(inside) > 1:
        raise SchemaError(
            "one list of labels with their scores is required in an entry",
            found=first_cases(inside),
            where=where,
            hint='{"id": "7", "scores": {"NAME": 0.9}} is one',
        )
    frame = _frame([{k: v for k, v in own.items() if k not in inside} for own, _ in parts], where)
    if not inside:
        return in_frame(frame, known, where, absent=0.0)
    table = PredictionTable(frame, known, where)
    table.find_id(())
    ids = table.ids()
    each = ((id_, of.get(inside[0], ())) for id_, (_, of) in zip(ids, parts, strict=True))
    rows = [(id_, one) for id_, answers in each for one in answers]
    own = PredictionTable(_frame([one for _, one in rows], where), known, where, ids=False)
    raw = own.long(pl.Series([id_ for id_, _ in rows], dtype=pl.String), ids)
    return replace(raw, numbered=table.id is None, readings=(*table.unread(()), *raw.readings))


def _frame(rows: Sequence[Mapping[str, Any]], where: object) -> pl.DataFrame:
    try:
        return pl.DataFrame(rows, infer_schema_length=None, strict=False)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        required = "values of one kind under a key, in all entries, are required"
        raise SchemaError(required, found=str(error).split("\n")[0], where=where) from None


def _parts(entry: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """The values of an entry by dotted keys, and its lists of objects with a label and its score,
    of which scores by label are one."""
    own, answers = dict[str, Any](), dict[str, list[dict[str, Any]]]()
    for key, value in entry.items():
        if isinstance(value, dict) and value and all(map(_is_number, value.values())):
            answers[key] = [{"node": node, "score": score} for node, score in value.items()]
        elif isinstance(value, dict):
            inner, further = _parts(value)
            own |= {f"{key}.{name}": one for name, one in inner.items()}
            answers |= {f"{key}.{name}": one for name, one in further.items()}
        elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            answers[key] = [{name: _plain(one) for name, one in each.items()} for each in value]
        else:
            deep = isinstance(value, list) and any(isinstance(one, (list, dict)) for one in value)
            own[key] = _plain(value) if deep else value
    lists = {key: one for key, one in own.items() if isinstance(one, list) and one}
    texts = [key for key, one in lists.items() if all(isinstance(x, str) for x in one)]
    numbers = [key for key, one in lists.items() if all(map(_is_number, one))]
    if len(texts) == len(numbers) == 1 and len(lists[texts[0]]) == len(lists[numbers[0]]):
        pairs = zip(own.pop(texts[0]), own.pop(numbers[0]), strict=True)
        answers[""] = [{"node": node, "score": score} for node, score in pairs]
    return own, answers


def _plain(value: Any) -> Any:
    return json.dumps(value, default=str) if isinstance(value, (dict, list)) else value


def _holds_nested(kind: pl.DataType) -> bool:
    return isinstance(kind, pl.List | pl.Array) and kind.inner.is_nested()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
