"""Rows of attributions and of evidence, typed, from JSON lines, Parquet and published evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from audit.analyses.explanations.lists import list_column, starts_of
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import bare_suffix, files_in, first_bytes, once, read_text, refuse_pickle
from audit.base.json_tables import Line, excerpt, frames, lines_of, objects_on
from audit.base.table import column_among
from audit.base.tables import open_table
from audit.data.records import tidy

FLAG, NUMBER, LABEL = "flag", "number", "label"
"""What a value of ``gold`` or ``predicted`` was in the file: true or false, a number, or text."""
_TEXTS, _NUMBERS = pl.List(pl.String), pl.List(pl.Float64)
COLUMNS: Mapping[str, Any] = {
    **dict.fromkeys(("id", "target", "method", "model", "group"), pl.String()),
    **dict.fromkeys(("gold", "predicted", "borrowed", "text", "explanation"), pl.String()),
    **dict.fromkeys(("tokens", "explanation_tokens"), _TEXTS),
    "seed": pl.Int64(),
    "scores": _NUMBERS,
    "marks": pl.List(_NUMBERS),
    "offsets": pl.List(pl.List(pl.Int64)),
    "spans": pl.List(pl.List(pl.List(pl.Int64))),
}
"""Columns that are read, with what they hold; masks and spans have a list for each annotator."""
_HOLDS = {
    "tokens": "a list of texts",
    "explanation_tokens": "a list of texts",
    "scores": "a list of numbers",
    "marks": "a list of numbers from 0 to 1, or such a list for each annotator",
    "spans": "a list of [start, end], or such a list for each annotator",
    "offsets": "a list of [start, end]",
}
EVIDENCE = ("marks", "spans", "offsets", "text", "explanation", "explanation_tokens")
"""Columns whose faults cost the evidence of a row, but not the row."""
FLAGS = ("gold", "predicted", "borrowed")
"""Columns that come with a second one, ``<name>:kind``: `FLAG`, `NUMBER` or `LABEL`."""


def read_rows(path: Path, required: Iterable[str]) -> pl.DataFrame:
    """The rows of a file or folder, with those of the `COLUMNS` that it has.

    Beside them stand ``fault`` and ``evidence_fault``: true where a value has a wrong type; it is
    null then.

    Args:
        path: JSON lines, CodiEsp's third track or MDACE, each maybe gzipped, or Parquet.
        required: Columns that the file must have.
    """
    if not path.is_dir():
        refuse_pickle(path, first_bytes(path), "attributions and evidence")
    parts = files_in(path) if path.is_dir() else [path]
    stored = any(bare_suffix(part) == ".parquet" for part in parts)
    rows = _parquet_rows(path, required) if stored else _text_rows(path, parts, required)
    if rows.is_empty():
        raise InputError("a file with rows is required", found="none", where=path)
    whole = pl.col("written_seed").is_not_null() & pl.col("seed").is_null()
    if "seed" in rows.columns:
        rows = rows.with_columns(written_seed="seed").cast({"seed": pl.Int64}, strict=False)
        rows = rows.with_columns(pl.col("fault") | whole).drop("written_seed")
    return rows


class Number(str):
    """A number as it is written, since ``428.0`` may be a code."""

    __slots__ = ()


_DECODER = json.JSONDecoder(
    parse_int=Number, parse_float=Number, parse_constant=Number, object_pairs_hook=once
)
"""Lets NaN through, which Python writes although it is no JSON: such a score is counted."""


def _text_rows(path: Path, parts: Sequence[Path], required: Iterable[str]) -> pl.DataFrame:
    met = dict[str, None]()

    def frame_of(lines: Sequence[Line]) -> pl.DataFrame:
        met.update(dict.fromkeys(key for _, line in lines for key in line))
        keys = {key.strip().lower(): key for key in met} | {key: key for key in met}
        values = {
            name: [line.get(keys[name]) for _, line in lines] for name in COLUMNS if name in keys
        }
        faults = np.zeros((2, len(lines)), np.bool_)
        columns = dict[str, pl.Series]()
        for name, own in values.items():
            if name in FLAGS:
                columns[f"{name}:kind"] = pl.Series([*map(_kind, own)], dtype=pl.String)
            columns[name], wrong = _typed_values(name, own)
            faults[int(name in EVIDENCE)] |= wrong
        return pl.DataFrame({**columns, "fault": faults[0], "evidence_fault": faults[1]})

    found = [*frames(_objects(parts), frame_of, path)]
    if found:
        _refuse_missing([*met], required, path)
    return pl.concat(found, how="diagonal") if found else pl.DataFrame()


def _kind(value: Any) -> str | None:
    if value is None:
        return None
    return FLAG if isinstance(value, bool) else NUMBER if isinstance(value, Number) else LABEL


def _typed_values(name: str, values: list[Any]) -> tuple[pl.Series, np.ndarray[Any, Any]]:
    """A column of JSON values, null where they have a wrong type, and which have one."""
    if name in FLAGS:
        whole = {"0.0": "0", "1.0": "1"}  # as pandas writes them beside missing values
        values = [
            str(value).lower() if isinstance(value, bool)
            else whole.get(value, value) if isinstance(value, Number) else value
            for value in values
        ]  # fmt: skip
    if name in ("marks", "spans"):
        values = [_by_annotator(name, value) for value in values]
    dtype = COLUMNS[name]
    depth, _ = _nesting(dtype)
    arrow: Any = pa.large_string()
    for _ in range(depth):
        arrow = pa.large_list(arrow)
    width = 2 if name in ("offsets", "spans") else 0
    wrong = np.array([v is not None and not _is_nested(v, depth, width) for v in values], np.bool_)
    try:
        array = pa.array(values, arrow, mask=wrong)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        wrong |= [not _fits(value, arrow) for value in values]
        array = pa.array(values, arrow, mask=wrong)
    column = pl.Series(name, pl.from_arrow(array))
    if depth:
        return column.cast(dtype, strict=False), wrong
    return (column if name == "text" else column.str.strip_chars().replace("", None)), wrong


def _by_annotator(name: str, value: Any) -> Any:
    """Masks or spans with a list for each annotator; those of one are its only list."""
    if not isinstance(value, list):
        return value
    lists = [one for one in value if isinstance(one, list)]
    if name == "spans":
        lists = [one for one in lists if not one or isinstance(one[0], list)]
    return value if lists else [value]


def _is_nested(value: Any, depth: int, width: int) -> bool:
    """Whether lists are so deep, the innermost of a width if there is one; texts are no lists."""
    if not isinstance(value, list):
        return depth == 0
    if depth <= 1:
        return depth == 1 and (not width or len(value) == width)
    return all(_is_nested(one, depth - 1, width) for one in value)


def _fits(value: Any, arrow: Any) -> bool:
    try:
        pa.array([value], arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True


def _parquet_rows(path: Path, required: Iterable[str]) -> pl.DataFrame:
    table = open_table(path).frame()
    _refuse_missing(table.columns, required, path)
    columns = list[pl.Series]()
    for name in COLUMNS:
        if (written := column_among(table.columns, name)) is None:
            continue
        column = table.drop_in_place(written).rechunk().alias(name)
        columns.append(_typed_column(column, path))
        if name in FLAGS:
            kind = NUMBER if column.dtype.is_numeric() else LABEL
            kind = FLAG if column.dtype == pl.Boolean else kind
            columns.append(pl.repeat(kind, len(column), eager=True).alias(f"{name}:kind"))
    return pl.DataFrame(columns).with_columns(fault=False, evidence_fault=False)


def _typed_column(column: pl.Series, path: Path) -> pl.Series:
    """A column of a Parquet file, plain ones as text; SchemaError if its type is a wrong one."""
    wanted = COLUMNS[column.name]
    if not wanted.is_nested():
        if column.name == "text" and column.dtype == pl.String:
            return column
        return tidy(column.to_frame(), path).to_series()
    (depth, inner), (deepest, number) = _nesting(column.dtype), _nesting(wanted)
    one_annotator = column.name in ("marks", "spans") and depth == deepest - 1
    text = number == pl.String
    kinds = (pl.String, pl.Categorical, pl.Enum, pl.Null) if text else (pl.Boolean, pl.Null)
    fits = inner in kinds or (not text and inner.is_numeric())
    if not (fits and (depth == deepest or one_annotator)):
        raise SchemaError(
            f"the column {column.name!r} must hold {_HOLDS[column.name]}",
            found=str(column.dtype),
            where=path,
        )
    if not one_annotator:
        return column.cast(wanted, strict=False)
    given = column.is_not_null()
    lists = list_column(
        column.drop_nulls().cast(wanted.inner, strict=False), starts_of(given.to_numpy())
    )
    frame = pl.DataFrame({"given": given, "lists": lists})
    return frame.select(pl.when("given").then("lists")).to_series().alias(column.name)


def _nesting(dtype: Any) -> tuple[int, Any]:
    """How deep lists are nested, and of what the deepest are."""
    depth = 0
    while isinstance(dtype, (pl.List, pl.Array)):
        depth, dtype = depth + 1, dtype.inner
    return depth, dtype


def _refuse_missing(names: Sequence[str], required: Iterable[str], path: Path) -> None:
    met = {name.strip().lower() for name in names}
    if missing := [name for name in required if name not in met]:
        raise SchemaError(
            f"the columns {first_cases(required)} are required",
            found=f"the columns {first_cases(names)}, without {first_cases(missing)}"
            if names
            else "no columns",
            where=path,
        )


_SPANS = re.compile(r"\d+ \d+(?:;\d+ \d+)*")
_TRACK_X = re.compile(rf"[^\t]+\t(?:DIAGNOSTICO|PROCEDIMIENTO)\t[^\t]+\t[^\t]*\t{_SPANS.pattern}")
_Spans = dict[tuple[str, str], list[list[int]]]
"""Spans by text and code."""


def _objects(parts: Iterable[Path]) -> Iterator[Line]:
    """The rows of texts, as objects by the names of columns."""
    for part in parts:
        first = next((line.strip() for _, line in lines_of(part)), "")
        if _TRACK_X.fullmatch(first):
            yield from _track_x(part)
        elif first.startswith(("{", "[")):
            found = _document(part) if first == "{" else objects_on(lines_of(part), _DECODER)
            for where, one in found:
                notes = one.get("notes")
                yield from _notes(notes, where) if isinstance(notes, list) else [(where, one)]
        elif first:
            raise InputError(
                "attributions and evidence are lines of JSON objects, or Parquet",
                found=excerpt(first),
                where=part,
                hint="write_ndjson of Polars, or to_json(lines=True) of pandas, writes lines",
            )


def _document(part: Path) -> Iterator[Line]:
    try:
        yield str(part), dict(_DECODER.decode(read_text(part).strip()))
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError("a JSON object is required", found=str(error), where=part) from None


def _track_x(part: Path) -> Iterator[Line]:
    """CodiEsp: id, kind, code, words and their places on a line."""
    spans = _Spans()
    for where, text in lines_of(part):
        cells = [cell.strip() for cell in text.split("\t")]
        if len(cells) != 5 or not _SPANS.fullmatch(cells[4]):
            raise InputError(
                "each line must hold five cells, the last with spans such as 307 316;348 361",
                found=excerpt(text.rstrip("\n")),
                where=where,
            )
        own = spans.setdefault((cells[0], cells[2]), [])
        own += [[int(end) for end in pair.split()] for pair in cells[4].split(";")]
    yield from _records(str(part), spans)


def _notes(notes: Sequence[Any], where: str) -> Iterator[Line]:
    """MDACE: notes with annotations."""
    spans = _Spans()
    for note in notes:
        try:
            for one in note["annotations"]:
                key = str(note["note_id"]), str(one["code"])
                spans.setdefault(key, []).append([int(one["begin"]), int(one["end"])])
        except (KeyError, TypeError, ValueError) as error:
            raise SchemaError(
                "each note needs a note_id, and annotations with code, begin and end",
                found=f"{type(error).__name__}: {error}",
                where=where,
            ) from None
    yield from _records(where, spans)


def _records(where: str, spans: _Spans) -> Iterator[Line]:
    """A record for each text and code; spans that share characters are one."""
    for (name, code), own in spans.items():
        united: list[list[int]] = []
        for first, end in sorted(own):
            if united and first < united[-1][1] and first < end:
                united[-1][1] = max(united[-1][1], end)
            else:
                united.append([first, end])
        texts = [[Number(start), Number(end)] for start, end in united]
        yield where, {"id": name, "target": code, "spans": texts}
