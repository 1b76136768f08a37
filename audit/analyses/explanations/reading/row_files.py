"""Rows of attributions and of evidence, from text and from Parquet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.explanations.lists import list_column, starts_of
from audit.analyses.explanations.reading.text_rows import objects_in
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import bare_suffix, files_in, first_bytes, once, refuse_pickle
from audit.base.json_tables import Line, frames
from audit.base.table import column_among
from audit.base.tables import open_table
from audit.data.records import tidy

FLAG, NUMBER, LABEL = "flag", "number", "label"
"""What a value of ``gold`` or ``predicted`` was in the file: true or false, a number, or text."""

_TEXT, _TOKENS, _SCORES = pl.String(), pl.List(pl.String), pl.List(pl.Float64)
_MASKS, _PAIRS, _SPANS = (
    pl.List(pl.List(pl.Float64)),
    pl.List(pl.List(pl.Int64)),
    pl.List(pl.List(pl.List(pl.Int64))),
)
COLUMNS: Mapping[str, Any] = {
    "id": _TEXT,
    "target": _TEXT,
    "tokens": _TOKENS,
    "scores": _SCORES,
    "method": _TEXT,
    "model": _TEXT,
    "seed": pl.Int64(),
    "gold": _TEXT,
    "predicted": _TEXT,
    "group": _TEXT,
    "borrowed": _TEXT,
    "marks": _MASKS,
    "spans": _SPANS,
    "offsets": _PAIRS,
    "text": _TEXT,
    "explanation": _TEXT,
    "explanation_tokens": _TOKENS,
}
"""Columns that are read, with what they hold; masks and spans have a list for each annotator."""
EVIDENCE = ("marks", "spans", "offsets", "text", "explanation", "explanation_tokens")
"""Columns whose faults cost the evidence of a row, but not the row."""
FLAGS = ("gold", "predicted", "borrowed")
"""Columns that come with a second one, ``<name>:kind``: `FLAG`, `NUMBER` or `LABEL`."""

_FAULTS = ("fault", "evidence_fault")
_WRITTEN = {**COLUMNS, "scores": _TOKENS, "seed": _TEXT}
"""The types of columns in JSON, where numbers are still as they are written."""


def read_rows(path: Path, required: Iterable[str]) -> pl.DataFrame:
    """The rows of a file, with those of the `COLUMNS` that it has.

    Beside them stand ``fault`` and ``evidence_fault``: true where a value has a wrong type; it is
    null then.

    Args:
        path: What `objects_in` reads (also packed with gzip), or Parquet.
        required: Columns that the file must have.
    """
    if not path.is_dir():
        refuse_pickle(path, first_bytes(path), "attributions and evidence")
    parts = files_in(path) if path.is_dir() else [path]
    stored = any(bare_suffix(part) == ".parquet" for part in parts)
    read = _parquet_rows if stored else _text_rows
    rows = read(path, required)
    if rows.is_empty():
        raise InputError("a file with rows is required", found="none", where=path)
    return rows


def _text_rows(path: Path, required: Iterable[str]) -> pl.DataFrame:
    met = dict[str, None]()

    def frame_of(lines: Sequence[Line]) -> pl.DataFrame:
        met.update(dict.fromkeys(key for _, line in lines for key in line))
        keys = {key.strip().lower(): key for key in met} | {key: key for key in met}
        named = {name: keys[name] for name in COLUMNS if name in keys}
        return _frame([line for _, line in lines], named, _WRITTEN)

    parts = list(frames(objects_in(path, _DECODER), frame_of, path))
    if not parts:
        return pl.DataFrame()
    _refuse_missing(list(met), required, path)
    return pl.concat(parts, how="diagonal")


class Number(str):
    """A number as it is written."""

    __slots__ = ()


_DECODER = json.JSONDecoder(
    parse_int=Number, parse_float=Number, parse_constant=Number, object_pairs_hook=once
)
"""Keeps numbers as they are written, since ``428.0`` may be a code, and lets NaN through, which
Python writes although it is not JSON: a score that is none is counted."""


def _frame(
    chunk: Sequence[Mapping[str, Any]], keys: Mapping[str, str], written: Mapping[str, Any]
) -> pl.DataFrame:
    """Objects as rows."""
    columns: dict[str, pl.Series] = {}
    faults = {name: pl.repeat(False, len(chunk), eager=True) for name in _FAULTS}
    for name, key in keys.items():
        values = [line.get(key) for line in chunk]
        if name in FLAGS:
            kinds = [None if value is None else _kind(value) for value in values]
            columns[f"{name}:kind"] = pl.Series(kinds, dtype=pl.String)
        columns[name], wrong = _column(values, _READ[name], written[name])
        if wrong is not None:
            faults[_FAULTS[name in EVIDENCE]] |= wrong
    return _cast(pl.DataFrame({**columns, **faults}))


def _cast(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the types of `COLUMNS`; a seed that is no whole number is a fault."""
    names = [name for name in COLUMNS if name in frame.columns]
    cast = frame.with_columns(pl.col(name).cast(COLUMNS[name], strict=False) for name in names)
    if "seed" not in names:
        return cast
    return cast.with_columns(
        fault=cast["fault"] | (cast["seed"].is_null() & frame["seed"].is_not_null())
    )


_UNFIT = (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError)
"""What a value raises that is not of the type that it should have."""


def _column(
    values: list[Any], read: Callable[[Any], Any], dtype: Any
) -> tuple[pl.Series, pl.Series | None]:
    """A column of values, null where they have a wrong type, and which have one."""
    wrong = [False] * len(values)
    for place, value in enumerate(values):
        if value is not None:
            try:
                values[place] = read(value)
            except _UNFIT:
                values[place], wrong[place] = None, True
    try:
        return pl.Series(values, dtype=dtype), pl.Series(wrong) if any(wrong) else None
    except _UNFIT:
        pass
    for place, value in enumerate(values):
        try:
            pl.Series([value], dtype=dtype)
        except _UNFIT:
            values[place], wrong[place] = None, True
    return pl.Series(values, dtype=dtype), pl.Series(wrong)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return FLAG
    return NUMBER if isinstance(value, (Number, int, float)) else LABEL


def _read_text(value: Any) -> str | None:
    return _read_passage(value).strip() or None


def _read_passage(value: Any) -> str:
    """Text with the spaces at its ends, since spans count them."""
    if isinstance(value, str):
        return value
    raise TypeError


def _read_flag(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    text = _read_text(value)
    return _WHOLE.get(text, text) if text and isinstance(value, Number) else text


_WHOLE = {"0.0": "0", "1.0": "1"}
"""How 0 and 1 are written where a column also has missing values, as pandas writes them."""


def _read_list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    raise TypeError


def _read_masks(value: Any) -> list[list[float]]:
    masks = _read_list(value)
    masks = masks if any(isinstance(mask, list) for mask in masks) else [masks]
    return [[float(mark) for mark in _read_list(mask)] for mask in masks]


def _read_pairs(value: Any) -> list[list[int]]:
    pairs = [[int(end) for end in _read_list(pair)] for pair in _read_list(value)]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError
    return pairs


def _read_spans(value: Any) -> list[list[list[int]]]:
    spans = _read_list(value)
    of_annotators = any(
        isinstance(one, list) and (not one or isinstance(one[0], list)) for one in spans
    )
    return [_read_pairs(own) for own in (spans if of_annotators else [spans])]


_READ: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(COLUMNS, _read_text),
    **dict.fromkeys(FLAGS, _read_flag),
    "text": _read_passage,
    **dict.fromkeys(("tokens", "scores", "explanation_tokens"), _read_list),
    "marks": _read_masks,
    "spans": _read_spans,
    "offsets": _read_pairs,
}


def _parquet_rows(path: Path, required: Iterable[str]) -> pl.DataFrame:
    table = open_table(path).frame()
    _refuse_missing(table.columns, required, path)
    height = table.height
    named = {name: column_among(table.columns, name) for name in COLUMNS}
    columns = {}
    for name, written in named.items():
        if written is None:
            continue
        column = table.drop_in_place(written).rechunk()
        columns[name] = _typed(column.alias(name), path)
        if name in FLAGS:
            kind = FLAG if column.dtype == pl.Boolean else LABEL
            kind = NUMBER if column.dtype.is_numeric() else kind
            columns[f"{name}:kind"] = pl.repeat(kind, height, eager=True)
    return _cast(pl.DataFrame(columns).with_columns(fault=False, evidence_fault=False))


def _typed(column: pl.Series, path: Path) -> pl.Series:
    """A column of a Parquet file, plain ones as text; SchemaError if its type is a wrong one."""
    wanted = COLUMNS[column.name]
    if not wanted.is_nested():
        if column.name == "text" and column.dtype == pl.String:
            return column
        return tidy(column.to_frame(), path).to_series()
    depth, inner = _depth(column.dtype)
    deepest, number = _depth(wanted)
    one_annotator = column.name in ("marks", "spans") and depth == deepest - 1
    numeric = inner.is_numeric() or inner in (pl.Boolean, pl.Null)
    texts = inner in (pl.String, pl.Categorical, pl.Enum, pl.Null)
    if not (depth == deepest or one_annotator) or not (texts if number == pl.String else numeric):
        raise SchemaError(
            f"the column {column.name!r} must hold {_HOLDS[column.name]}",
            found=str(column.dtype),
            where=path,
        )
    as_lists = column.cast(_nested(number, depth), strict=False)
    return wrapped(as_lists) if one_annotator else as_lists


_HOLDS = {
    "tokens": "a list of texts",
    "explanation_tokens": "a list of texts",
    "scores": "a list of numbers",
    "marks": "a list of numbers from 0 to 1, or such a list for each annotator",
    "spans": "a list of [start, end], or such a list for each annotator",
    "offsets": "a list of [start, end]",
}


def _depth(dtype: Any) -> tuple[int, Any]:
    depth = 0
    while isinstance(dtype, (pl.List, pl.Array)):
        depth, dtype = depth + 1, dtype.inner
    return depth, dtype


def _nested(dtype: Any, depth: int) -> Any:
    for _ in range(depth):
        dtype = pl.List(dtype)
    return dtype


def wrapped(column: pl.Series) -> pl.Series:
    """Each list as the only one of a list; null stays null."""
    given = column.is_not_null()
    lists = list_column(column.drop_nulls(), starts_of(given.to_numpy().astype(np.int64)))
    frame = pl.DataFrame({"given": given, "lists": lists})
    return frame.select(pl.when("given").then("lists")).to_series().alias(column.name)


def _refuse_missing(names: list[str], required: Iterable[str], path: Path) -> None:
    met = {name.strip().lower() for name in names}
    missing = [name for name in required if name not in met]
    if missing:
        raise SchemaError(
            f"the columns {first_cases(required)} are required",
            found=f"the columns {first_cases(names)}, without {first_cases(missing)}"
            if names
            else "no columns",
            where=path,
        )
