"""Files of predictions: arrays, JSON, tables and lines, or the same in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from audit.base.errors import InputError, SchemaError
from audit.base.files import once
from audit.base.readings import Reading
from audit.base.remote import local
from audit.base.streams import CONVERTED, bare_suffix, text_blocks
from audit.base.table import Table
from audit.base.tables import open_table
from audit.data.columns import Columns
from audit.data.layouts import layout_of
from audit.data.prediction_cells import LOOKED_AT, Labelled, numbers_of, with_names
from audit.data.prediction_tables import NEARLY_ALL, ids_beside, in_frame, in_rows
from audit.data.published.lines import lines_of
from audit.data.published.wanted import Wanted
from audit.data.raw_predictions import RawPredictions, in_arrays, matrix

_JSON = (".json", ".jsonl", ".ndjson")
_FASTTEXT = "__label__"


def read_predictions(data: object, known: Labelled) -> RawPredictions:
    """Predictions of a file, a folder of parts of one table, a frame, an array or lists.

    Raises:
        InputError: If it cannot be read; else as `in_frame`.
    """
    if isinstance(data, np.ndarray):
        return matrix(data, known.names, "array")
    if isinstance(data, list) and data and isinstance(data[0], (list, dict)):
        inner = data[0][:1] if isinstance(data[0], list) else [data[0]]
        if any(isinstance(one, dict) for one in inner):
            return in_entries(data, known, "list")
        if any(isinstance(one, float) for one in inner):
            return matrix(np.asarray(data), known.names, "list")
    if not isinstance(data, (str, Path)):
        return _in_table(open_table(data), known)
    path = local(data)
    if bare_suffix(path) in (".pt", ".pth", ".safetensors", ".pkl", ".pickle"):
        required = "predictions are read from arrays of NumPy, tables and JSON"
        hint = 'np.save("scores.npy", scores) writes an array of NumPy'
        raise InputError(required, found=bare_suffix(path), where=path, hint=hint)
    if bare_suffix(path) in (".npy", ".npz"):
        return in_arrays(path, known.names)
    if bare_suffix(path) in _JSON:
        entries = entries_of("".join(text_blocks(path, way=CONVERTED)), path, known.ids)
        return replace(in_entries(entries, known, path), sources=(path,))
    table = lines_of(path, Wanted(Columns(), known.nodes)) or open_table(path)
    return replace(_in_table(table, known), sources=table.files)


def _in_table(table: Table, known: Labelled) -> RawPredictions:
    frame = table.frame()
    if any(isinstance(getattr(one, "inner", one), pl.Struct) for one in frame.dtypes):
        return in_entries(frame.to_dicts(), known, table)
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
    if not alike or known.id in frame.columns:
        return False
    nodes = (name for name in frame.columns if known.is_node(name.strip()))
    return any(known.share(frame[name], known.is_node) >= NEARLY_ALL for name in nodes)


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
    return in_entries(entries, known, where)


Fields: TypeAlias = dict[str, Any]


def entries_of(text: str, where: object, ids: Set[str]) -> list[Any]:
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
    if isinstance(held, dict) and len(held) == 1 and isinstance(next(iter(held.values())), list):
        held = next(iter(held.values()))
    nested = isinstance(held, dict) and all(isinstance(n, (dict, list)) for n in held.values())
    if nested or (isinstance(held, dict) and held.keys() & ids):
        held = [{"id": id_, "scores": one} for id_, one in held.items()]
    return held if isinstance(held, list) else [held]


def in_entries(entries: Sequence[Any], known: Labelled, where: object) -> RawPredictions:
    """Predictions of entries of JSON.

    An entry holds scores by label; a list of objects, each with a label and its score, as pipelines
    give them; labels in a list and their scores in another; or a list of labels alone. These stand
    in the entry or below any of its keys.

    Raises as `in_frame` does.
    """
    if not all(isinstance(entry, (dict, list)) for entry in entries):
        required, found = "every entry must be an object, or a list", repr(entries[0])[:60]
        raise SchemaError(required, found=found, where=where)
    parts = [_parts(e if isinstance(e, dict) else {"labels": e}, where) for e in entries]
    lists = [rows for _, rows in parts]
    head = _frame([fields for fields, _ in parts], where)
    if not any(rows is not None for rows in lists):
        return in_frame(head, known, where, absent=0.0)
    own, told = ids_beside(head, known, where)
    ids = [*map(str, range(len(parts)))] if own is None else own
    each = [row | {_OWN: id_} for id_, rows in zip(ids, lists, strict=True) for row in rows or ()]
    rows = _frame(each, where)
    raw = in_rows(rows.drop(_OWN), rows[_OWN], known, where, ids)
    return replace(raw, numbered=own is None, readings=(*told, *raw.readings))


def _frame(rows: Sequence[Fields], where: object) -> pl.DataFrame:
    try:
        return pl.DataFrame(rows, infer_schema_length=None, strict=False)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        required = "values of one kind under a key, in all entries, are required"
        raise SchemaError(required, found=str(error).split("\n")[0], where=where) from None


_OWN = "\0instance"
_Rows: TypeAlias = list[Fields]


def _parts(entry: Mapping[str, Any], where: object) -> tuple[Fields, _Rows | None]:
    """The plain values and lists of an entry, and the rows of a label and its score in it."""
    fields, found = dict[str, Any](), list[_Rows]()
    for key, value in entry.items():
        if isinstance(value, dict) and value and all(map(_is_number, value.values())):
            found.append([{"node": node, "score": score} for node, score in value.items()])
        elif isinstance(value, dict):
            inner, rows = _parts(value, where)
            fields |= {f"{key}.{name}": one for name, one in inner.items()}
            found += [] if rows is None else [rows]
        elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            found.append([{name: _plain(one) for name, one in row.items()} for row in value])
        else:
            fields[key] = value
    lists = {key: one for key, one in fields.items() if isinstance(one, list) and one}
    texts = [key for key, one in lists.items() if all(isinstance(text, str) for text in one)]
    numbers = [key for key, one in lists.items() if all(map(_is_number, one))]
    if len(texts) == len(numbers) == 1 and len(lists[texts[0]]) == len(lists[numbers[0]]):
        pairs = zip(fields.pop(texts[0]), fields.pop(numbers[0]), strict=True)
        found.append([{"node": node, "score": score} for node, score in pairs])
    if len(found) > 1:
        raise SchemaError(
            "one list of labels with their scores is required in an entry",
            found=f"{len(found)} in {json.dumps(entry)[:80]}",
            where=where,
            hint='{"id": "7", "scores": {"NAME": 0.9}} is one',
        )
    return fields, found[0] if found else None


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (dict, list)) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
