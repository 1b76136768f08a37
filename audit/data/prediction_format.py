"""The record that registers a format of prediction files, and the raw scores its reader makes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, Sparse
from audit.base.errors import SchemaError, first_cases
from audit.base.plurals import counted
from audit.base.readings import Reading
from audit.data.arrays import AnyArray, texts_of
from audit.data.class_names import (
    Classes,
    as_many,
    beyond_names,
    classes_for,
    distinct,
    file_of,
    names_by_number,
)
from audit.data.label_format import RawLabels
from audit.data.sources import Source


@dataclass(frozen=True)
class RawPredictions:
    """Scores as read, before they are mapped to a hierarchy.

    Args:
        instances: Distinct ids in file order, shape (n_instances,); row numbers from 0 if the file
            has no ids.
        classes: Distinct names of the columns as written, shape (n_classes,).
        scores: Shape (n_instances, n_classes); dense for matrices, CSR for listed scores.
        set_valued: Whether the file only says which classes were predicted, without scores.
        sources: The files that were read.
        name: Name of the source, for messages.
        readings: What the format took numbers and ids to mean.
        numbered: Whether ids are row numbers from 0, since the source has none.
        named: Whether the names that the caller gave are those of its classes.
    """

    instances: tuple[str, ...]
    classes: tuple[str, ...]
    scores: FloatArray | Sparse
    set_valued: bool
    sources: tuple[Path, ...]
    name: str = "predictions"
    readings: tuple[Reading, ...] = ()
    numbered: bool = False
    named: bool = False

    @property
    def numbers(self) -> FloatArray:
        """All numbers that the file holds, in row order, shape (n_numbers,)."""
        stored = self.scores
        return stored.reshape(-1) if isinstance(stored, np.ndarray) else np.asarray(stored.data)


@dataclass(frozen=True)
class PredictionFormat:
    """One format of predictions.

    Args:
        name: What messages and ``audit list formats`` call it.
        title: What it looks like, in one line.
        matches: Whether a source, or each part of a folder, is of this format.
        read: Reads a source; the second argument is the class names, or their file.
    """

    name: str
    title: str
    matches: Callable[[Source], bool]
    read: Callable[[Source, Classes | None], RawPredictions]


SCORE_NAMES = (
    *("scores", "logits", "probabilities", "probs", "y_score", "y_prob", "y_proba"),
    *("predictions", "preds", "y_pred"),
)
"""Names of the array of scores in a file of several arrays; the first one there counts."""
_IDS = ("instances", "ids", "id")


def matrix_among(
    arrays: Mapping[str, AnyArray], classes: Classes | None, source: Source
) -> RawPredictions:
    """Predictions of a file of named arrays.

    The scores are the array with a name of `SCORE_NAMES`, else the only one with two dimensions.
    The optional arrays ``classes``, and ``instances`` or ``ids``, name columns and rows; of other
    names the only text with one for each does.
    """
    two = [name for name, array in arrays.items() if array.ndim == 2]
    beside = [name for name in arrays if name not in ("classes", *_IDS)]
    ids = [arrays[name] for name in _IDS if name in arrays]
    two = two or beside * (len(beside) == 1)
    named = [name for name in SCORE_NAMES if name in arrays][:1]
    chosen = named or two
    if len(chosen) != 1:
        listed = [f"{name} of shape {array.shape}" for name, array in arrays.items()]
        raise SchemaError(
            "exactly one array of scores is required",
            found=first_cases(listed) if listed else "no array",
            where=source,
            hint="call it scores",
        )
    scores = arrays[chosen[0]]
    own, told = (ids[0], ()) if ids else _by_length(arrays, scores.shape, 0, "ids")
    named_by, also = arrays.get("classes"), tuple[Reading, ...]()
    if named_by is None and classes is None:
        named_by, also = _by_length(arrays, scores.shape, 1, "classes")
    raw = matrix(scores, classes, source, own_classes=named_by, instances=own)
    return replace(raw, readings=(*raw.readings, *told, *also))


def _by_length(
    arrays: Mapping[str, AnyArray], shape: tuple[int, ...], axis: int, what: str
) -> tuple[AnyArray | None, tuple[Reading, ...]]:
    """The only text as long as scores have rows, or columns, but not both, which is told."""
    size = shape[axis] if len(shape) == 2 and shape[0] != shape[1] else -1
    found = [name for name, one in arrays.items() if one.shape == (size,) and one.dtype.kind == "U"]
    if len(found) != 1:
        return None, ()
    decision = f"{found[0]!r} holds the {what} of the predictions"
    option, unit = f"call the array of the {what} {what!r}", ("instances", "columns")[axis]
    told = Reading(decision, "it alone has a text for each", size, option, unit)
    return arrays[found[0]], (told,)


def matrix(
    scores: AnyArray,
    classes: Classes | None,
    source: Source,
    *,
    own_classes: AnyArray | None = None,
    instances: AnyArray | None = None,
) -> RawPredictions:
    """Predictions of a matrix, shape (n_instances, n_classes); integers 0 and 1 are set-valued.

    An array of one dimension holds the answer of each instance, as the number of its class or by
    name, and is set-valued. Names of columns, shape (n_classes,), and ids, shape (n_instances,), in
    the file itself win over those of ``classes`` and row numbers from 0.
    """
    if scores.ndim == 1 and scores.size and scores.dtype.kind in "iuU":
        return _answers(scores, own_classes, instances, source)
    _require_matrix(scores, source)
    rows, columns = scores.shape
    if own_classes is None:
        names = classes_for(columns, classes, source)
    else:
        names = as_many(_names(own_classes, source), columns, source)
    beside = file_of(classes) if own_classes is None else ()
    return RawPredictions(
        instances=_ids(rows, instances, source),
        classes=names,
        scores=scores.astype(np.float64, copy=False),
        set_valued=scores.dtype.kind in "biu" and bool(((scores == 0) | (scores == 1)).all()),
        sources=(*source.files, *beside),
        name=source.name,
        numbered=instances is None,
        named=own_classes is None,
    )


def _answers(
    answers: AnyArray, own_classes: AnyArray | None, instances: AnyArray | None, source: Source
) -> RawPredictions:
    """Predictions of the number, or name, of the one class of each instance."""
    ids = _ids(len(answers), instances, source)
    labels = texts_of(answers, "answers", source)
    frame = pl.DataFrame({"instance": ids, "node": labels, "score": 1.0})
    raw = listed(frame, frame["instance"], source, set_valued=True)
    raw = replace(raw, numbered=instances is None)
    own = None if own_classes is None else _names(own_classes, source)
    return replace(with_names(raw, own), named=False)


def _names(classes: AnyArray, source: Source) -> tuple[str, ...]:
    return distinct(texts_of(classes, "classes", source), "class", source)


_NUMBER = re.compile(r"(?:label|class)?[_ ]?(\d+)", re.IGNORECASE)
"""The number of a class from 0, alone or as libraries name a class without a name: ``LABEL_3``."""


def are_numbers(classes: Sequence[str]) -> bool:
    """Whether classes have no names, but numbers alone."""
    return all(map(_NUMBER.fullmatch, classes))


def with_names(raw: RawPredictions, classes: Classes | None) -> RawPredictions:
    """The same predictions with names for the numbers of classes, where all are numbers.

    Classes that are among the names already keep them, and it is as if none were given.
    """
    if classes is None:
        return raw
    written, names = [_NUMBER.fullmatch(name) for name in raw.classes], names_by_number(classes)
    none = [name for name in raw.classes if re.fullmatch(r"-\d+", name)]
    if none and all(one or name in none for one, name in zip(written, raw.classes, strict=True)):
        rows = int(raw.scores[:, [raw.classes.index(name) for name in none]].sum())
        raise SchemaError(
            "class numbers must count from 0",
            found=f"{first_cases(none)} in {counted(rows, 'rows')}",
            where=raw.name,
            hint='JSON lines say what has no answer: {"id": "7", "labels": []}, and '
            '{"id": "8", "labels": ["NAME"]}',
        )
    if not all(written) or set(raw.classes) <= set(names.values()):
        return raw
    numbers = [str(int(one[1])) for one in written if one]
    if beyond := [number for number in numbers if number not in names]:
        raise beyond_names(names, max(beyond, key=int), raw.name)
    named = distinct([names[number] for number in numbers], "class", raw.name)
    sources = (*raw.sources, *file_of(classes))
    return replace(raw, classes=named, sources=sources, named=True)


def listed(
    scores: pl.DataFrame,
    instances: pl.Series,
    source: Source,
    *,
    set_valued: bool = False,
) -> RawPredictions:
    """Predictions of a list of scores; scores that are not listed are 0.

    Args:
        scores: ``instance, node, score``, without nulls.
        instances: Every instance once, in file order, including those without scores.
        source: What they were read from.
        set_valued: Whether the scores only say that a node was predicted.
    """
    _refuse_repeated(scores, source)
    nodes = scores["node"].unique(maintain_order=True)
    row = _positions(scores["instance"], instances)
    column = _positions(scores["node"], nodes)
    shape = (len(instances), len(nodes))
    return RawPredictions(
        instances=tuple(instances),
        classes=tuple(nodes),
        scores=csr_array((scores["score"].to_numpy(), (row, column)), shape=shape),
        set_valued=set_valued,
        sources=source.files,
        name=source.name,
    )


def numbers_in(text: pl.Series) -> pl.Series:
    """Stripped text as float64, null where it is none; a comma may stand for the decimal point.

    Where every text ends with a per cent sign, numbers are hundredths.

    >>> numbers_in(pl.Series(["0,25", "1e-3", "high", "5%"])).to_list()
    [0.25, 0.001, None, None]
    >>> numbers_in(pl.Series(["12.5%", "5 %", None])).to_list()
    [0.125, 0.05, None]
    """
    per_cent = bool(text.str.ends_with("%").all())
    bare = text.str.replace(r"\s*%$", "") if per_cent else text
    pointed = bare.str.replace(r"^([-+]?\d*),(\d+(?:[eE][-+]?\d+)?)$", "${1}.${2}")
    return pointed.cast(pl.Float64, strict=False) / (100 if per_cent else 1)


def predicted_sets(raw: RawLabels, source: Source) -> RawPredictions:
    """Predictions from raw labels: every label is predicted, with score 1.

    A repeated label counts once.
    """
    rows = raw.rows.select("instance", "label")
    incomplete = rows.filter(pl.any_horizontal(pl.all().is_null()))
    if not incomplete.is_empty():
        cases = [f"{name or '?'}: {label or '?'}" for name, label in incomplete.head(5).iter_rows()]
        raise SchemaError(
            "every prediction must have an instance and a node",
            found=first_cases(cases, incomplete.height),
            where=source,
        )
    scores = rows.unique(maintain_order=True).select(
        "instance", pl.col("label").alias("node"), pl.lit(1.0).alias("score")
    )
    return listed(scores, raw.instances["instance"], source, set_valued=True)


def _require_matrix(scores: AnyArray, source: Source) -> None:
    if scores.ndim != 2 or scores.dtype.kind not in "biuf":
        raise SchemaError(
            "scores must be a matrix of numbers, with a row per instance and a column per class",
            found=f"{scores.dtype} of shape {scores.shape}",
            where=source,
        )
    if scores.size == 0:
        raise SchemaError(
            "a matrix of at least one row and one column is required",
            found=f"shape {scores.shape}",
            where=source,
        )


def _ids(rows: int, instances: AnyArray | None, source: Source) -> tuple[str, ...]:
    if instances is None:
        return tuple(str(row) for row in range(rows))
    ids = distinct(texts_of(instances, "instances", source), "instance", source)
    if len(ids) != rows:
        raise SchemaError(
            f"an id is required for each of the {rows:,} rows",
            found=f"{len(ids):,} ids",
            where=source,
        )
    return ids


def _positions(values: pl.Series, among: pl.Series) -> AnyArray:
    """Position of each value among other, distinct values."""
    known = pl.DataFrame({"value": among}).with_row_index("position")
    asked = pl.DataFrame({"value": values})
    return asked.join(known, on="value", how="left", maintain_order="left")["position"].to_numpy()


def _refuse_repeated(scores: pl.DataFrame, source: Source) -> None:
    pairs = scores.select("instance", "node")
    repeated = pairs.filter(pairs.is_duplicated()).unique(maintain_order=True)
    if not repeated.is_empty():
        cases = [f"{node} of {instance}" for instance, node in repeated.head(5).iter_rows()]
        raise SchemaError(
            "an instance may have one score for a node",
            found=f"several: {first_cases(cases, repeated.height)}",
            where=source,
        )
