"""Predictions in rows: a node with its score, an answer, or sets as labels are listed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import column_named
from audit.data.class_names import Classes
from audit.data.known_nodes import LEAST_SHARE, KnownNodes, alphanumeric, hold_several
from audit.data.label_format import Columns, LabelFormat
from audit.data.label_formats import id_lines, long
from audit.data.prediction_format import (
    PredictionFormat,
    RawPredictions,
    listed,
    numbers_in,
    predicted_sets,
)
from audit.data.records import id_among, pick
from audit.data.sources import Frame, Source


def read_scores(source: Source, classes: Classes | None) -> RawPredictions:
    """Read the columns ``instance, node, score``; a node that is not listed has score 0.

    The id is ``id``, ``instance`` or ``hadm_id``, else the only further column.
    """
    frame = source.table()
    node, score = (column_named(frame, name, source) for name in ("node", "score"))
    instance = id_among(frame.columns, None, {node, score}, source)
    return read_columns(source, instance, node, score)


def read_columns(source: Source, instance: str, node: str, score: str | None) -> RawPredictions:
    """Read the columns of these names; without one of scores each row is an answer."""
    frame = source.table()
    source.refuse_numbers(instance, node)
    scores = pick(frame, source, instance=instance, node=node)
    numbers = _numbers(frame[score], source) if score else pl.lit(1.0).alias("score")
    scores = scores.with_columns(numbers)
    _require_rows(scores, source)
    instances = scores["instance"].unique(maintain_order=True)
    return listed(scores, instances, source, set_valued=not score)


def matches_scores(source: Source) -> bool:
    """Whether the table has the columns ``node`` and ``score``."""
    return {"node", "score"} <= source.columns.keys()


def _numbers(written: pl.Series, source: Source) -> pl.Series:
    """Scores as float64, null where blank."""
    values = written
    if written.dtype == pl.String:
        values = written.str.strip_chars().replace("", None)
    elif not written.dtype.is_numeric():
        raise SchemaError(
            f"the column {written.name!r} must hold numbers", found=str(written.dtype), where=source
        )
    numbers = numbers_in(values) if values.dtype == pl.String else values.cast(pl.Float64)
    wrong = (numbers.is_null() & values.is_not_null()).arg_true()
    if len(wrong):
        cases = [f"{written[row]} in row {row + 1}" for row in wrong.head(5)]
        raise SchemaError(
            "every score must be a number", found=first_cases(cases, len(wrong)), where=source
        )
    return numbers.alias("score")


def _require_rows(scores: pl.DataFrame, source: Source) -> None:
    if scores.is_empty():
        raise SchemaError("a table with scores is required", found="no row", where=source)
    for name in scores.columns:
        blank = scores[name].is_null().arg_true()
        if len(blank):
            cases = [f"row {row + 1}" for row in blank.head(5)]
            raise SchemaError(
                f"every row must have a value in the column of the {name}",
                found=f"none in {first_cases(cases, len(blank))}",
                where=source,
            )


SCORES = PredictionFormat(
    name="long",
    title="CSV, TSV or Parquet with the columns instance, node and score",
    matches=matches_scores,
    read=read_scores,
)


PREDICTED = (
    *("prediction", "predictions", "predicted", "predicted label", "predicted labels"),
    *("predicted class", "prediction label", "pred", "preds", "pred label", "pred class"),
    *("y pred", "y hat", "top1", "top1 label", "top1 class", "argmax"),
)
_LABELS = ("label", "labels")
_TRUE = (*_LABELS, "true", "true label", "truth", "y true", "target", "gold", "actual")
SCORE = (
    *("score", "confidence", "confidence score", "probability", "prob", "proba", "y prob"),
    *("y score", "pred score", "pred prob", "top1 score", "top1 prob", "top1 confidence"),
    *("max prob", "predicted probability", "prediction score", "prediction probability"),
)
"""Names of the columns of what is predicted, is true, and how sure the model is; case and signs are
ignored. Labels alone are what is predicted."""
_BEFORE = re.compile(r"(?:p|prob|proba|probability|score|logit|pred)s?[_.:\s-]+(?=\S)", re.I)
"""What stands before the names of classes in columns of their scores."""
UNNAMED = ("", "Unnamed: 0")
"""Names of a first column that has none: that of the index of a frame that was saved."""


def called_like(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """The names that are one of those wanted; case, blanks and signs are ignored."""
    alike = {alphanumeric(name) for name in wanted}
    return [name for name in names if alphanumeric(name) in alike]


@dataclass(frozen=True)
class TableRoles:
    """What the columns of a table of predictions are called after.

    Args:
        true: True labels, which are left out.
        classes: The class of each column of scores, which are the columns that are nodes or begin
            alike, where there are two or more.
    """

    answers: tuple[str, ...]
    score: tuple[str, ...]
    true: tuple[str, ...]
    classes: Mapping[str, str]
    before: str
    others: tuple[str, ...]

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that are neither ids nor scores of classes."""
        return (*self.answers, *self.score, *self.true)


def roles_of(source: Source, names: Iterable[str]) -> TableRoles:
    """The roles of columns by their names; what is named as a node is, is the scores of it."""
    nodes, names = source.nodes, list(names)
    free = [name for name in names if not (nodes and nodes.means(name))]
    answers, score = called_like(free, PREDICTED), called_like(free, SCORE)
    true = called_like(free, _TRUE)
    rest = [name for name in names if name not in {*answers, *score, *true, source.known_id(names)}]
    before, classes = _classes(rest, source.nodes)
    if not answers and not classes:
        answers, true = called_like(free, _LABELS) or _of_nodes(source, rest), []
    taken = {*answers, *score, *true, *classes}
    others = tuple(name for name in names if name not in taken)
    return TableRoles(tuple(answers), tuple(score), tuple(true), classes, before, others)


def _of_nodes(source: Source, names: Sequence[str]) -> list[str]:
    """The only column whose cells are nodes, beside ids that are called as those of the labels."""
    shares = {name: source.share_of_nodes(name) or 0.0 for name in names}
    found = [name for name in names if shares[name] >= LEAST_SHARE]
    return found if len(found) == 1 and source.known_id(source.schema) else []


def _classes(names: Sequence[str], nodes: KnownNodes | None) -> tuple[str, dict[str, str]]:
    """How columns of scores begin, and the class of each; none of fewer than two."""
    begun = [one.group() for name in names if (one := _BEFORE.match(name.strip()))]
    bare = {name: name.strip() for name in names}
    before = max(begun, key=begun.count, default="")
    own = {n: b.removeprefix(before) for n, b in bare.items() if b.startswith(before)}
    if nodes:
        plain = {name: text for name, text in bare.items() if nodes.means(text)}
        mean = sum(nodes.means(text) or text.isdecimal() for text in own.values())
        before, own = (before, own) if before and mean > len(plain) else ("", plain)
    elif not before:
        own = {}
    return (before, own) if len(own) > 1 else ("", {})


def read_answers(source: Source, classes: Classes | None) -> RawPredictions:
    """Read ids and the nodes predicted for them, as a table of labels has them.

    Beside them may be true labels, which are left out, and how sure the model is of an answer,
    which is then its score. Without ids, they are row numbers from 0.
    """
    roles = roles_of(source, source.schema)
    column, score = name_of_answers(roles, source), next(iter(roles.score), None)
    if not (roles.others or source.known_id(source.schema)):
        rows = source.table().with_row_index("id").with_columns(pl.col("id").cast(pl.String))
        return replace(of_frame(rows, source, classes), numbered=True)
    others = without_index(source.table().select(roles.others)).columns
    instance = id_among(others, None, (), source)
    if score:
        return read_columns(source, instance, column, score)
    several = hold_several(source.first_cells(column))
    named = Columns(id=instance, label=column)
    return predicted_sets((long.JOINED if several else long.FORMAT).read(source, named), source)


def name_of_answers(roles: TableRoles, source: Source) -> str:
    """The only column of answers; raises SchemaError if there is another number of them."""
    if len(roles.answers) == 1 and len(roles.score) <= 1:
        return roles.answers[0]
    raise SchemaError(
        "one column of answers is required, and one of their scores at most",
        found=f"the columns {first_cases((*roles.answers, *roles.score) or source.schema)}",
        where=source,
        hint=f"call what is predicted prediction, and what is true {_TRUE[-1]}",
    )


def without_index(table: pl.DataFrame) -> pl.DataFrame:
    """The table without a first column that has no name and numbers the rows, beside others."""
    if table.width < 2 or not is_unnamed(table.columns):
        return table
    first = table.to_series().cast(pl.String).to_list()
    return table.drop(table.columns[0]) if first == [*map(str, range(len(table)))] else table


def is_unnamed(names: Sequence[str]) -> bool:
    """Whether the first of some columns has no name, as the index of a frame that was saved."""
    return names[0] in UNNAMED


def of_frame(frame: pl.DataFrame, source: Source, classes: Classes | None) -> RawPredictions:
    """Predictions of a table of answers that was made of another source."""
    answers = as_frame(frame, source, classes)
    return replace(read_answers(answers, classes), sources=source.files, name=source.name)


def as_frame(frame: pl.DataFrame, source: Source, classes: Classes | None) -> Frame:
    """A table that was made of another source, as a source that knows the same."""
    made = Frame(frame)
    made.know(source.nodes, named_classes=classes is not None, id=source.id)
    made.instances = source.instances
    return made


def matches_answers(source: Source) -> bool:
    """Whether one column is named as what was predicted, and no others hold scores of classes.

    With further columns beside labels more is said than which nodes were predicted.
    """
    roles = roles_of(source, source.schema)
    alone = bool(called_like(roles.answers, _LABELS))
    if not roles.answers or roles.classes or {"node", "score"} <= source.columns.keys():
        return False
    return not ((alone and len(roles.others) != 1) or long.is_caml(source))


def _of(known: LabelFormat) -> PredictionFormat:
    """A format of labels as one of predictions, under the same name."""

    def read(source: Source, classes: Classes | None) -> RawPredictions:
        return predicted_sets(known.read(source, Columns()), source)

    def matches(source: Source) -> bool:
        return b"\0" not in source.head and known.matches(source)

    return PredictionFormat(known.name, f"predicted sets: {known.title}", matches, read)


FORMATS = (
    PredictionFormat(
        name="answers",
        title="CSV, TSV or Parquet with an id and a column label or prediction, and a column of its"
        " score, if any",
        matches=matches_answers,
        read=read_answers,
    ),
    *map(_of, (long.CAML, id_lines.GROUPED, id_lines.PSV)),
)
"""Formats that list nodes without scores; `scores_jsonl` reads JSON lines with ``labels``."""
