"""Files of predictions: arrays, JSON, tables and lines, or the same in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import once
from audit.base.readings import Reading
from audit.base.remote import local
from audit.base.stored_tables import arrays_in
from audit.base.streams import bare_suffix, text_blocks
from audit.base.table import Table
from audit.base.tables import open_table
from audit.data.class_lists import columns_named, distinct
from audit.data.columns import Columns
from audit.data.layouts import layout_of
from audit.data.prediction_cells import LOOKED_AT, Labelled, numbers_of, with_names
from audit.data.prediction_tables import NEARLY_ALL, PredictionTable, in_frame
from audit.data.published.lines import lines_of
from audit.data.published.wanted import Wanted
from audit.data.raw_predictions import AnyArray, RawPredictions, stored, texts_in

_FASTTEXT = "__label__"
_SCORES = ("scores", "logits", "probabilities", "probs", "predictions", "preds", "y_pred")
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

    The scores are the array of one of the usual names, else the only one of two dimensions.
    """
    arrays = arrays_in(path, str(path))
    beside = [name for name in arrays if name not in (*_CLASSES, *_IDS)]
    two = [name for name in beside if arrays[name].ndim == 2]
    chosen = [name for name in _SCORES if name in arrays][:1] or two or beside
    if len(chosen) != 1:
        found = first_cases(f"{name} of shape {one.shape}" for name, one in arrays.items())
        required = "exactly one array of scores is required"
        raise SchemaError(required, found=found or "none", where=path, hint="call it scores")
    scores = arrays[chosen[0]]
    ids, told = _beside(arrays, _IDS, scores.shape, 0)
    classes, also = (None, ()) if known.names else _beside(arrays, _CLASSES, scores.shape, 1)
    raw = _matrix(scores, known, path, classes)
    return replace(raw if ids is None else raw.with_ids(ids), readings=(*told, *also))


def _beside(
    arrays: Mapping[str, AnyArray], names: Sequence[str], shape: tuple[int, ...], axis: int
) -> tuple[AnyArray | None, tuple[Reading, ...]]:
    """The array of one of some names; else, which is told, the only text as long as scores have
    rows, or columns, but not both."""
    for name in names:
        if name in arrays:
            return arrays[name], ()
    size = shape[axis] if len(shape) == 2 and shape[0] != shape[1] else -1
    found = [name for name, one in arrays.items() if one.shape == (size,) and one.dtype.kind == "U"]
    if len(found) != 1:
        return None, ()
    unit, option = ("instances", "columns")[axis], f"call the array that does {names[0]!r}"
    decision = f"{found[0]!r} names the {unit} of the scores"
    told = Reading(decision, "it alone has a text for each", size, option, unit)
    return arrays[found[0]], (told,)


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
    if any(isinstance(one, pl.Struct) or _holds_nested(one) for one in frame.dtypes):
        return _in_entries(frame.to_dicts(), known, table)
    if table.text.first and table.text.first[0].startswith(_FASTTEXT) and frame.width == 1:
        return _in_fasttext(frame.to_series().fill_null("").to_list(), known, table)
    told: tuple[Reading, ...] = ()
    if table.text.header and table.text.separator and _is_record(frame, known):
        columns = [f"column_{n}" for n in range(1, frame.width + 1)]
        first, frame.columns = pl.DataFrame([frame.columns], columns, orient="row"), columns
        frame = pl.concat([first, frame])
        why = "one of its cells is a node, as those below it"
        decision = "the first line of the predictions is a record, and names no columns"
        told = (Reading(decision, why, 1, "write names of the columns above it"),)
    for name, names in table.class_names.items():
        frame = frame.with_columns(with_names(frame[name], names))
    layout = layout_of(table)
    known.sep = known.sep or (layout.sep if layout else "")
    raw = in_frame(frame, known, table)
    return replace(raw, readings=(*told, *raw.readings))


def _is_record(frame: pl.DataFrame, known: Labelled) -> bool:
    """Whether the names of columns are as the cells below them: a node above nodes, and numbers
    above numbers."""
    first = frame.head(LOOKED_AT)
    numbers = ((numbers_of(pl.Series([name])), numbers_of(first[name])) for name in frame.columns)
    alike = all(above.has_nulls() == below.has_nulls() for above, below in numbers)
    nodes = (name for name in frame.columns if known.is_node(name.strip()))
    return (
        alike
        and known.id not in frame.columns
        and any(known.share(frame[name], known.is_node) >= NEARLY_ALL for name in nodes)
    )


def _in_fasttext(lines: Sequence[str], known: Labelled, where: object) -> RawPredictions:
    """Predictions of lines of labels, each with its probability if there are any."""
    pair = re.compile(rf"{_FASTTEXT}(\S+)(?:\s+([0-9]+(?:\.[0-9]+)?(?:e-[0-9]+)?)(?=\s|$))?")
    if odd := [line for line in lines if pair.sub("", line).strip()]:
        required = f"lines of predictions hold {_FASTTEXT}NAME and a number, in turn"
        raise SchemaError(required, found=repr(odd[0])[:80], where=where)
    found = [pair.findall(line) for line in lines]
    scored = all(score for line in found for _, score in line)
    entries = [
        [{"node": node, "score": float(score)} if scored else node for node, score in line]
        for line in found
    ]
    return _in_entries(entries, known, where)


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
    flat = [_flat(one if isinstance(one, dict) else {"labels": one}) for one in entries]
    try:
        frame = pl.DataFrame(flat, infer_schema_length=None, strict=False)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        required = "values of one kind under a key, in all entries, are required"
        raise SchemaError(required, found=str(error).split("\n")[0], where=where) from None
    inside = {name: name.split(_EACH) for name in frame.columns if _EACH in name}
    if not inside:
        return in_frame(frame, known, where, absent=0.0)
    if len({parts[0] for parts in inside.values()}) > 1:
        raise SchemaError(
            "one list of labels with their scores is required in an entry",
            found=first_cases(inside),
            where=where,
            hint='{"id": "7", "scores": {"NAME": 0.9}} is one',
        )
    table = PredictionTable(frame.drop(inside), known, where)
    table.find_id(())
    ids = table.ids()
    rows = frame.select(pl.Series(_EACH, ids, pl.String), *inside).explode(*inside)
    rows = rows.filter(pl.any_horizontal(pl.exclude(_EACH).is_not_null()))
    own = rows.drop(_EACH).rename({name: parts[-1] for name, parts in inside.items()})
    raw = PredictionTable(own, known, where, ids=False).long(rows[_EACH], ids)
    told = (*table.unread(()), *raw.readings)
    return replace(raw, numbered=table.id is None, readings=told)


_EACH = "[]."
"""What stands between the key of a list of objects and their keys."""


def _flat(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The values of an entry by dotted keys; of lists of labels and scores those below `_EACH`."""
    found = dict[str, Any]()
    for key, value in entry.items():
        if isinstance(value, dict) and value and all(map(_is_number, value.values())):
            found |= {f"{key}{_EACH}node": [*value], f"{key}{_EACH}score": [*value.values()]}
        elif isinstance(value, dict):
            found |= {f"{key}.{name}": one for name, one in _flat(value).items()}
        elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            for name in dict.fromkeys(name for one in value for name in one):
                found[f"{key}{_EACH}{name}"] = [_plain(one.get(name)) for one in value]
        else:
            deep = isinstance(value, list) and any(isinstance(one, (list, dict)) for one in value)
            found[key] = _plain(value) if deep else value
    lists = {key: one for key, one in found.items() if isinstance(one, list) and _EACH not in key}
    texts = [key for key, one in lists.items() if one and all(isinstance(x, str) for x in one)]
    numbers = [key for key, one in lists.items() if one and all(map(_is_number, one))]
    if len(texts) == len(numbers) == 1 and len(lists[texts[0]]) == len(lists[numbers[0]]):
        found |= {f"{_EACH}node": found.pop(texts[0]), f"{_EACH}score": found.pop(numbers[0])}
    return found


def _plain(value: Any) -> Any:
    return json.dumps(value, default=str) if isinstance(value, (dict, list)) else value


def _holds_nested(kind: pl.DataType) -> bool:
    return isinstance(kind, pl.List | pl.Array) and kind.inner.is_nested()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
