"""Attributions from files, each row with the human evidence for it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
import polars as pl

from audit.analyses.explanations import words
from audit.analyses.explanations.converters import converted
from audit.analyses.explanations.marks import TEXT, marked
from audit.analyses.explanations.words import SPECIAL_TOKENS, word_of
from audit.base.declared import schema
from audit.base.errors import InputError, SchemaError, first_cases, refuse_unknown
from audit.base.files import bare_suffix, files_in, first_bytes, once, refuse_pickle
from audit.base.json_tables import Line, excerpt, frames, numbered_lines, objects_on
from audit.base.readings import Reading
from audit.base.table import list_column
from audit.base.tables import open_table
from audit.data.records import sound_records, tidy

REQUIRED = ("id", "target", "tokens", "scores")
KEY = ("id", "target", "method", "model", "seed", "borrowed")
"""What a row is known by, and the order of rows."""
PLAIN = schema(("id target method model seed group gold predicted borrowed explanation", pl.String))
FILE = PLAIN | schema(
    ("tokens explanation_tokens", pl.List(pl.String)),
    ("scores", pl.List(pl.Float64)),
    ("offsets", pl.List(pl.List(pl.Int64))),
    ("marks", pl.List(pl.List(pl.Float64))),
    ("spans", pl.List(pl.List(pl.List(pl.Int64)))),
    ("text", pl.String),
)
"""Columns of files; ``marks`` and ``spans`` may be one list in place of a list an annotator."""
_FLOATS = schema(
    ("offsets", pl.List(pl.List(pl.Float64))), ("spans", pl.List(pl.List(pl.List(pl.Float64))))
)
"""As what whole numbers may be written, such as 3.0."""
_BY_ANNOTATOR = ("marks", "spans")
_DECODER = json.JSONDecoder(
    object_pairs_hook=once, parse_float=str, parse_int=str, parse_constant=int
)
"""Numbers stay as they are written, such as the code 250.10; NaN and Infinity are none."""
ROWS = schema(
    ("id target method model", pl.String),
    ("seed", pl.Int64),
    ("gold predicted", pl.Boolean),
    ("group", pl.String),
    ("borrowed", pl.Boolean),
    ("tokens words", pl.List(pl.String)),
    ("scores marks", pl.List(pl.Float64)),
    ("said", pl.List(pl.String)),
    ("annotators", pl.Int64),
)
ROW_REASONS = (
    *("missing_value", "length_differs", "not_finite", "no_tokens"),
    *("repeated", "conflicting"),
)
"""Why rows are left out, as the ledger counts them.

No id, target, tokens or scores, a token that is null, or a value of another type; another number of
scores than of tokens; a score that is missing or infinite; no token that is not special; a row that
repeats another; and rows that differ but stand under one key, of which none is kept.
"""


class Attributions(NamedTuple):
    """Scores of tokens, one row per instance, target label, method, model and seed.

    Args:
        rows: Columns `ROWS`, sorted by `KEY`: ``gold``, whether the target is a true label, and
            ``predicted``, whether the model gives it (null if unknown); ``group``, instances too
            alike to stand for each other; ``borrowed``, whether the model also read the explanation
            of another instance; ``tokens`` without special ones, and the ``words`` by which they
            are compared. Of human evidence, null without: the share of ``annotators`` that marked
            each token in ``marks``, and the words that they point to in ``said``.
        kind: What the evidence is: ``marks``, ``spans`` or ``text``; empty if there is none.
        ledger: How many rows were read, kept, and left out, by reason.
    """

    rows: pl.DataFrame
    kind: str
    ledger: Mapping[str, int]
    sources: tuple[Path, ...] = ()
    readings: tuple[Reading, ...] = ()


Source: TypeAlias = Path | str | pl.DataFrame
"""A file or folder of rows, or a frame of them."""


def read_attributions(
    path: Source,
    evidence: Source | None = None,
    *,
    special: str | None = None,
    stop_words: str = "paper",
) -> Attributions:
    """Read attributions, and the human evidence for the same texts.

    Args:
        path: The attributions, JSON lines, Parquet or a frame: ``id, target, tokens, scores``, and
            further columns.
        evidence: Rows of evidence: ``id, target`` and ``marks``, ``spans`` or ``explanation``.
            Evidence that stands among the attributions is not read then. Without a column
            ``target``, evidence counts for each target of its text.
        special: The list of tokens that are left out: ``all``, ``none`` or ``kamp``; without, all,
            and those that hold no character of a text by their offsets.
        stop_words: The list of words that explanations do not hold: ``paper`` or ``clinical``.

    Raises:
        InputError: If a file is empty, holds no sound row, or no evidence fits the attributions.
        SchemaError: If a required column is missing, or has a wrong type.
    """
    readings, both = list[Reading](), [path] if evidence is None else [path, evidence]
    sources = [Path(one) for one in both if not isinstance(one, pl.DataFrame)]
    places = [*map(_place_of, both)]
    stop = words.stop_words(stop_words)
    rows = read_rows(path, REQUIRED)
    records = None if evidence is None else read_rows(evidence, ("id",))
    if records is not None and not records["target"].count():
        decision = "evidence counts for each label of its text"
        reason = f"{places[-1].name} names no target"
        readings.append(Reading(decision, reason, len(records), "a column target"))
    if special is None:
        left_out, told = _special_tokens(rows)
        readings += told
    else:
        refuse_unknown(special, SPECIAL_TOKENS, "a list of special tokens", "lists")
        left_out = SPECIAL_TOKENS[special]
    every, refused = sound_rows(rows, left_out, places[0])
    kept, repeats = _once(every)
    counts = {"rows_read": len(rows), "rows_kept": len(kept), **refused, **repeats}
    if kept.is_empty():
        found = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        raise InputError("a sound row of attributions is required", found=found, where=places[0])
    kind, linked, used = marked(kept, every, records, stop, places[-1])
    lists = every.unique(["id", "model", "given"])["given"].explode()
    counts |= {
        "texts": len(linked.unique(TEXT)),
        "special_tokens": int(lists.is_in(list(left_out)).sum()),
        "rows_of_one_token": int((linked["tokens"].list.len() == 1).sum()),
        **used,
        "rows_without_evidence": linked["marks"].null_count(),
    }
    return Attributions(linked.select(*ROWS), kind, counts, tuple(sources), tuple(readings))


def read_rows(given: Source, required: Collection[str]) -> pl.DataFrame:
    """The rows of a file, folder or frame, columns `FILE`; null where a value has another type.

    Args:
        given: JSON lines, CodiEsp's third track or MDACE, each maybe packed, Parquet, or a frame.
        required: Columns that the file must have.

    Raises:
        InputError: If it is none of these, or has no rows.
        SchemaError: If a required column is missing, or one has a wrong type.
    """
    path = _place_of(given)
    frame = _of_frame(given, path) if isinstance(given, pl.DataFrame) else _of_files(path)
    if frame.is_empty():
        raise InputError("a file with rows is required", found="none", where=path)
    named = [one for one in FILE if frame[one].count()]
    if missing := [name for name in required if name not in named]:
        raise SchemaError(
            f"the columns {first_cases(required)} are required",
            found=f"{first_cases(named) or 'none'} with values, without {first_cases(missing)}",
            where=path,
        )
    return frame


def _place_of(given: Source) -> Path:
    """Where rows are, for messages."""
    return Path("the frame" if isinstance(given, pl.DataFrame) else given)


def _of_files(path: Path) -> pl.DataFrame:
    parts = files_in(path) if path.is_dir() else [path]
    if any(bare_suffix(part) == ".parquet" for part in parts):
        return _of_frame(open_table(path).frame(), path)
    return pl.concat([pl.DataFrame(schema=FILE), *map(_of_text, parts)])


def _of_frame(stored: pl.DataFrame, where: Path) -> pl.DataFrame:
    """A frame with the columns `FILE`, null where it lacks one; SchemaError for another type."""
    columns = [pl.lit(None, kind).alias(name) for name, kind in FILE.items()]
    for place, name in enumerate(FILE):
        if name in stored.columns:
            if (column := _typed(name, stored[name])) is None:
                _refuse_type(f"{name!r} of {stored.schema[name]}", where)
            columns[place] = pl.lit(column)
    return stored.select(columns)


def _of_text(part: Path) -> pl.DataFrame:
    """The rows of a file of text, null where a value has another type."""
    refuse_pickle(part, first_bytes(part), "attributions and evidence")
    if (published := converted(part)) is not None:
        return _of_frame(published, part)
    first = dict[str, Any]()

    def typed(some: Sequence[Line]) -> pl.DataFrame:
        columns = {name: [record.get(name) for _, record in some] for name in FILE}
        for name, values in columns.items():
            if first.get(name) is None:
                said = (value for value in values if value is not None and str(value).strip())
                first[name] = next(said, None)
        return pl.DataFrame([_column(name, values) for name, values in columns.items()])

    lines = objects_on(numbered_lines(part), _DECODER)
    rows = pl.concat([pl.DataFrame(schema=FILE), *frames(lines, typed, part)])
    for name, value in first.items():
        if value is not None and not rows[name].count():
            _refuse_type(f"{name} of {excerpt(value)}", part)
    return rows


def _column(name: str, values: Sequence[Any]) -> pl.Series:
    """Values as a column of its type of `FILE`; null for each that holds something else."""
    if (typed := _typed(name, values)) is not None:
        return typed
    if len(values) == 1:
        return pl.Series(name, [None], FILE[name])
    half = len(values) // 2
    return _column(name, values[:half]).append(_column(name, values[half:]))


def _typed(name: str, values: Sequence[Any] | pl.Series) -> pl.Series | None:
    """Values as a column of its type of `FILE`; None if one holds something else."""
    try:
        column = pl.Series(name, values)
        (held, depth), (wanted, most) = map(_inmost, (column.dtype, FILE[name]))
        if held == pl.Null and depth <= most:
            return column.cast(FILE[name])
        if name in PLAIN:
            return tidy(column.to_frame(), name).to_series()
        fit = held in (pl.String, pl.Categorical, pl.Enum)
        fit |= wanted != pl.String and (held == pl.Boolean or held.is_numeric())
        if not fit or not 0 <= most - depth <= (name in _BY_ANNOTATOR):
            return None
        if depth < most:
            alone = list_column(column, np.arange(len(column) + 1))
            column = alone.zip_with(column.is_not_null(), pl.Series([None], dtype=alone.dtype))
        return column.cast(_FLOATS.get(name, FILE[name])).cast(FILE[name]).alias(name)
    except (TypeError, SchemaError, pl.exceptions.PolarsError):
        return None


def _inmost(kind: Any) -> tuple[Any, int]:
    """What the innermost lists of a type hold, and how deep they are nested."""
    depth = 0
    while isinstance(kind, (pl.List, pl.Array)):
        depth, kind = depth + 1, kind.inner
    return kind, depth


def _refuse_type(found: str, where: object) -> NoReturn:
    raise SchemaError(
        "the columns tokens and scores must hold lists of texts and of numbers, marks and offsets "
        "lists of numbers and of pairs, and all others texts",
        found=found,
        where=where,
    )


def _special_tokens(rows: pl.DataFrame) -> tuple[frozenset[str], list[Reading]]:
    """Tokens to leave out: those of all lists, and any with empty offsets, told as a reading."""
    # A tokenizer gives such offsets to the tokens that it adds; not to all tokens of a row.
    known = rows.filter(pl.col("offsets").list.len() == pl.col("tokens").list.len())
    tokens = known.select("tokens", "offsets", row=pl.int_range(pl.len()))
    tokens, pair = tokens.explode("tokens", "offsets").drop_nulls("tokens"), pl.col("offsets")
    empty = (pair.list.len() == 2) & (pair.list.first() == pair.list.last())
    tokens = tokens.with_columns(empty=empty.fill_null(False))
    added = tokens.filter("empty", ~pl.col("empty").all().over("row"))["tokens"]
    elsewhere = tokens.filter(~pl.col("empty"))["tokens"].unique()
    others = added.filter(~added.is_in([*SPECIAL_TOKENS["all"], *elsewhere])).to_list()
    if not others:
        return SPECIAL_TOKENS["all"], []
    told = f"tokens such as {max(sorted({*others}), key=others.count)!r} are left out"
    evidence = "they hold no character of a text by their offsets"
    reading = Reading(told, evidence, len(others), "--special-tokens all", "tokens")
    return SPECIAL_TOKENS["all"].union(others), [reading]


def sound_rows(
    rows: pl.DataFrame, special: Collection[str], where: object
) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """The sound rows, with flags, and how many were left out by reason.

    They have the tokens as ``given``, those that are not special, and the ``words`` of these. Rows
    may still repeat each other; scores of special tokens may be anything. SchemaError if ``gold``
    or ``predicted`` may be read in two ways, or holds labels of which none is a target.
    """
    tokens, scores, seed = pl.col("tokens"), pl.col("scores"), pl.col("seed")
    number = seed.cast(pl.Int64, strict=False)
    lacking = (
        pl.col(*REQUIRED).is_null(),
        tokens.list.contains(None),
        number.is_null() & seed.is_not_null(),
    )
    full = rows.with_columns(
        *(_flag(rows, name, where) for name in ("gold", "predicted")),
        borrowed=pl.col("borrowed").str.to_lowercase().is_in(["true", "1"]).fill_null(False),
        method=pl.col("method").fill_null("attribution"),
        model=pl.col("model").fill_null("model"),
        seed=number.fill_null(0),
        missing=pl.any_horizontal(*lacking),
        given="tokens",
        place=pl.int_range(pl.len()),
    )
    alike = tokens.list.len() == scores.list.len()
    each = full.filter(alike).select("place", "tokens", "scores").explode("tokens", "scores")
    left = each.filter(~tokens.is_in(list(special)))
    unsaid = left.filter(~scores.is_finite().fill_null(False))["place"].unique()
    reasons = {
        "missing_value": pl.col("missing"),
        "length_differs": ~alike,
        "not_finite": pl.col("place").is_in(unsaid.implode()),
        "no_tokens": ~pl.col("place").is_in(left["place"].unique().implode()),
    }
    refused = pl.coalesce(pl.when(found).then(pl.lit(reason)) for reason, found in reasons.items())
    lists = left.group_by("place", maintain_order=True).agg("tokens", "scores")
    lists = lists.with_columns(words=tokens.list.eval(word_of(pl.element())))
    told = full.with_columns(refused=refused).drop("missing", "tokens", "scores")
    told = told.join(lists, on="place", how="left", maintain_order="left").drop("place")
    found = sound_records(told, ROW_REASONS)
    return found.frame, found.ledger


def _flag(rows: pl.DataFrame, name: str, where: object) -> pl.Expr:
    """Whether a row is flagged; a whole column is true and false, 0 and 1, or labels as targets."""
    value, targets = pl.col(name).str.to_lowercase(), {*rows["target"].drop_nulls()}
    written = {*rows[name].drop_nulls().str.to_lowercase()}
    if written <= {"true", "false"}:
        return (value == "true").alias(name)
    numbers = written <= {"0", "1", "0.0", "1.0"}
    if numbers and targets.isdisjoint(("0", "1")):
        return value.is_in(["1", "1.0"]).alias(name)
    if numbers or targets.isdisjoint(rows[name]):
        raise SchemaError(
            f"the column {name!r} must hold true and false, or labels that are among the targets",
            found=f"{first_cases(sorted(written))} beside targets {first_cases(sorted(targets))}"
            + "; 1 may also stand for the label 1" * numbers,
            where=where,
        )
    return (pl.col(name) == pl.col("target")).alias(name)


def _once(rows: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Rows sorted by `KEY`, less repeats and, if not borrowed, contradictions; counts of both."""
    same = [*KEY, "scores", "gold", "predicted", "group", "given"]
    once = rows.unique(same, keep="first", maintain_order=True)
    clear = once.filter(pl.col("borrowed") | ~pl.struct(KEY).is_duplicated())
    counts = {"repeated": len(rows) - len(once), "conflicting": len(once) - len(clear)}
    return clear.sort(*KEY, "scores"), {reason: n for reason, n in counts.items() if n}
