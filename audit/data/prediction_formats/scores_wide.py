"""Wide tables of scores: one row per instance, and one column of numbers per class."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import called
from audit.base.readings import Reading
from audit.data.arrays import AnyArray
from audit.data.class_names import Classes
from audit.data.label_formats import id_lines
from audit.data.label_formats.several import families
from audit.data.label_formats.wide import refuse_repeated
from audit.data.prediction_format import PredictionFormat, RawPredictions, matrix, numbers_in
from audit.data.prediction_formats.listed import (
    SCORE,
    UNNAMED,
    TableRoles,
    as_frame,
    called_like,
    is_unnamed,
    roles_of,
    without_index,
)
from audit.data.records import pick, plain
from audit.data.sources import File, Source
from audit.data.sources.source import ID_NAMES

_OTHER_SHAPES = {"label", "labels", "node", "score", "parent"}
"""Columns that tables of another shape have."""
_PARTS = ("split", "fold", "partition", "subset")
"""What a column of the parts of data is called."""
_FLAGS = ("0", "1", "true", "false")


def read(source: Source, classes: Classes | None) -> RawPredictions:
    """Read a table in which every column is a class, except the id, and answers and true labels.

    Where columns begin alike, as ``p_dog`` and ``p_cat``, these alone are classes. The id is the
    column that the labels have too, as named by the user; else ``id``, ``instance`` or ``hadm_id``,
    else the only column that does not hold numbers, else a first column without a name, else the
    first one where it holds whole numbers beyond 0 and 1, each once, and the others do not all hold
    whole numbers; else rows are numbered from 0. Where every value is 0 or 1 without a point, or
    true or false, the table says which classes were predicted, and no scores.
    """
    frame = source.table()
    refuse_repeated(frame.columns, source)
    roles = roles_of(source, frame.columns)
    frame = frame.drop(roles.beside)
    instance = _id_column(frame, source)
    own = [] if instance is None else [instance]
    scored = frame if instance in UNNAMED else without_index(frame)
    named = scored.select([*roles.classes]) if roles.before else scored.drop(own)
    _refuse_parts(named, source)
    if not named.width:
        raise SchemaError("a column of numbers a class is required", found="none", where=source)
    if instance is not None:
        source.refuse_numbers(instance)
    raw = matrix(
        _numbers(named, source),
        classes,
        source,
        own_classes=np.array([roles.classes.get(n, n.strip()) for n in named.columns], dtype=str),
        instances=None if instance is None else _ids(frame.select(instance), source),
    )
    return replace(raw, readings=_told(roles, raw))


_VECTOR = r"^\s*\[\s*[-+\d.eE]+(?:\s*,\s*[-+\d.eE]+)+\s*\]\s*$"


def unpacked(source: Source, classes: Classes | None) -> Source:
    """A table with the numbers of lists of one length, ``[0.1, 0.9]``, as Spark ML writes them, in
    a column each, or with a row for each of ``label_0, prob_0, label_1``; another source as it
    is."""
    table = isinstance(source, File) and source.is_text
    if table and (ranked := _ranked(source)) is not None:
        return as_frame(ranked, source, classes)
    for name in called_like(source.schema, SCORE) if table else ():
        first = pl.Series(source.first_cells(name), dtype=pl.String)
        if not (len(first) and first.str.contains(_VECTOR).all()):
            continue
        frame = source.table()
        lists = frame[name].str.strip_chars(" []").str.split(",")
        (width, *others) = lists.list.len().unique().to_list()
        if width is None or others:
            continue
        columns = [lists.list.get(n).str.strip_chars().alias(f"{name}_{n}") for n in range(width)]
        return as_frame(frame.drop(name).with_columns(columns), source, classes)
    return source


def _ranked(source: Source) -> pl.DataFrame | None:
    """A row for each answer of a table whose answers and scores stand in two families of columns
    with the same numbers; None of another table."""
    every = {one: own for one, own in families(source.schema).items() if "#" in one}
    nodes = [n for n, own in every.items() if all(map(source.share_of_nodes, own))]
    scores = [n for n in every if called_like([n.strip("#_ .-")], SCORE)]
    numbers = [[re.sub(r"\D", "", name) for name in every[n]] for n in (*nodes, *scores)]
    if len(nodes) != 1 or len(scores) != 1 or numbers[0] != numbers[1]:
        return None
    frame, both = source.table(), zip(every[nodes[0]], every[scores[0]], strict=True)
    rest = pl.exclude(*every[nodes[0]], *every[scores[0]])
    parts = (frame.select(rest, node=pl.col(node), score=pl.col(score)) for node, score in both)
    return pl.concat(parts).drop_nulls("node")


def _told(roles: TableRoles, raw: RawPredictions) -> tuple[Reading, ...]:
    """What is told of a table with answers and scores, which need not agree."""
    if not (roles.answers and roles.classes):
        return ()
    decision = f"the answers are in the scores of {len(roles.classes)} columns"
    decision += f", and {first_cases(roles.answers)} is left out"
    why = f"{first_cases([*roles.classes][:1], len(roles.classes))} are called as nodes"
    why += f", {roles.before!r} before them" if roles.before else ""
    return (Reading(decision, why, len(raw.instances), "--predictions-format answers"),)


def _refuse_parts(named: pl.DataFrame, source: Source) -> None:
    """Refuse a column that says of which part of the data a row is, and has no scores."""
    parts = [n for n in called(named.columns, _PARTS) if not _holds_scores(named[n])]
    if parts and len(parts) < named.width:
        raise SchemaError(
            "every column except the id must hold the scores of a class",
            found=f"{parts[0]!r}, which holds {first_cases(named[parts[0]].unique().sort())}",
            where=source,
            hint="leave out that column, and the rows of other parts of the data",
        )


def _holds_scores(column: pl.Series) -> bool:
    numbers = numbers_in(column.cast(pl.String).str.strip_chars())
    return not numbers.null_count() and bool((numbers % 1 != 0).any())


def matches(source: Source) -> bool:
    """Whether most columns, or most of the first values, are numbers, and none is of a list."""
    roles, kinds = roles_of(source, source.schema), list(source.schema.values())
    if roles.answers or _OTHER_SHAPES & source.columns.keys():
        return bool(roles.classes) and not {"node", "score"} <= source.columns.keys()
    if len(kinds) < 2:
        return False
    if id_lines.is_grouped(source) or id_lines.is_piped(source):
        return False
    if 2 * sum(kind == pl.Boolean or kind.is_numeric() for kind in kinds) > len(kinds):
        return True
    values = [cell.strip() for row in source.head_rows[1:] for cell in row[1:] if cell.strip()]
    return 2 * sum(map(_is_number, values)) > len(values)


def _is_number(cell: str) -> bool:
    return cell.lower() in _FLAGS or numbers_in(pl.Series([cell])).item() is not None


def _id_column(frame: pl.DataFrame, source: Source) -> str | None:
    known = source.known_id(frame.columns)
    usual = [known] if known is not None else called(frame.columns, ID_NAMES)
    texts = usual or [name for name in frame.columns if not _holds_numbers(frame[name])]
    if is_unnamed(frame.columns) and not (usual or frame.to_series().is_duplicated().any()):
        texts = list(dict.fromkeys([frame.columns[0], *texts]))
        texts = without_index(frame.select(texts)).columns
    if len(texts) > 1:
        raise SchemaError(
            "one column must hold the ids, and every other one the numbers of a class",
            found=f"the candidates {first_cases(texts)}",
            where=source,
            hint="--id names it where the labels have it too; leave out columns that are neither",
        )
    return texts[0] if texts else _first_of_whole_numbers(frame)


def _holds_numbers(column: pl.Series) -> bool:
    """Whether most of the values that are not blank are numbers or flags."""
    if column.dtype == pl.Boolean or column.dtype.is_numeric():
        return True
    text = column.cast(pl.String, strict=False).str.strip_chars().str.to_lowercase()
    text = text.filter(text != "")
    numbers = numbers_in(text).is_not_null() | text.is_in(_FLAGS)
    return 2 * int(numbers.sum()) > len(text)


def _first_of_whole_numbers(frame: pl.DataFrame) -> str | None:
    """The first column, if it numbers the rows; a class has scores, or 0 and 1."""
    columns = [numbers_in(column.cast(pl.String).str.strip_chars()) for column in frame]
    whole = [bool((column == column.floor()).all()) for column in columns]
    first = columns[0]
    numbers_rows = whole[0] and first.n_unique() == len(first) and (first.max() or 0) > 1  # type: ignore[operator]
    return frame.columns[0] if numbers_rows and not all(whole) else None


def _ids(ids: pl.DataFrame, source: Source) -> AnyArray:
    written = pick(ids, source, instance=ids.columns[0]).to_series()
    blank = written.is_null().arg_true()
    if len(blank):
        cases = [f"row {row + 1}" for row in blank.head(5)]
        raise SchemaError(
            "every row must have an id",
            found=f"none in {first_cases(cases, len(blank))}",
            where=source,
        )
    return np.array(written.to_list(), dtype=str)


def _numbers(columns: pl.DataFrame, source: Source) -> AnyArray:
    """A matrix, shape (n_instances, n_classes); whole numbers where every value is a flag."""
    columns = plain(columns, source)
    text = columns.select(pl.all().cast(pl.String, strict=False).str.strip_chars())
    text = text.select(pl.all().str.to_lowercase())
    if text.select(pl.all_horizontal((pl.all().is_in(_FLAGS)).fill_null(False).all())).item():
        return text.select(pl.all().is_in(("1", "true")).cast(pl.Int8)).to_numpy()
    numbers = pl.DataFrame([numbers_in(column) for column in text])
    _require_numbers(columns, numbers, source)
    return numbers.to_numpy()


def _require_numbers(columns: pl.DataFrame, numbers: pl.DataFrame, source: Source) -> None:
    for name in numbers.columns:
        wrong = numbers[name].is_null().arg_true()
        if len(wrong):
            values = columns[name].gather(wrong.head(5)).to_list()
            cases = [
                f"{'nothing' if value is None else value} in row {row + 1}"
                for row, value in zip(wrong.head(5), values, strict=True)
            ]
            raise SchemaError(
                f"the column {name!r} must hold a number in every row",
                found=first_cases(cases, len(wrong)),
                where=source,
                hint=_BLANKS
                if columns[name].gather(wrong).is_null().all()
                else "every column except the id is read as a class; leave out the others",
            )


_BLANKS = (
    "write 0 where the model has no score, or a row for each score with the columns instance, node "
    "and score, where a node that is not listed has score 0"
)

FORMAT = PredictionFormat(
    name="wide",
    title="CSV, TSV or Parquet with a column for the id, then a column of scores for each class",
    matches=matches,
    read=read,
)
