"""The record that registers a format of prediction files, and the raw scores its reader makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.base.dag import Sparse
from audit.base.errors import SchemaError, first_cases
from audit.base.readings import Reading
from audit.data.arrays import AnyArray, texts_of
from audit.data.class_names import Classes, as_many, classes_for, distinct, file_of
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
    """

    instances: tuple[str, ...]
    classes: tuple[str, ...]
    scores: NDArray[np.float64] | Sparse
    set_valued: bool
    sources: tuple[Path, ...]
    name: str = "predictions"
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True)
class PredictionFormat:
    """One format of predictions.

    Args:
        name: What messages and ``audit list formats`` call it.
        title: What it looks like, in one line.
        matches: Whether a source, or each part of a folder, is of this format.
        read: Reads a source; the second argument is the class names, or their file.
        of_folders: Whether ``matches`` judges a folder as a whole.
    """

    name: str
    title: str
    matches: Callable[[Source], bool]
    read: Callable[[Source, Classes | None], RawPredictions]
    of_folders: bool = False


SCORE_NAMES = ("scores", "logits")
"""Names of the array of scores in a file of several arrays."""


def matrix_among(
    arrays: Mapping[str, AnyArray], classes: Classes | None, source: Source
) -> RawPredictions:
    """Predictions of a file of named arrays.

    The scores are the array ``scores``, else ``logits``, else the only one with two dimensions.
    The optional arrays ``classes`` and ``instances`` hold the names of columns and rows.

    Raises:
        SchemaError: If no array qualifies or several do, or one is not as `matrix` requires.
    """
    two = [name for name, array in arrays.items() if array.ndim == 2]
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
    return matrix(
        arrays[chosen[0]],
        classes,
        source,
        own_classes=arrays.get("classes"),
        instances=arrays.get("instances"),
    )


def matrix(
    scores: AnyArray,
    classes: Classes | None,
    source: Source,
    *,
    own_classes: AnyArray | None = None,
    instances: AnyArray | None = None,
) -> RawPredictions:
    """Predictions of a matrix, shape (n_instances, n_classes); integers 0 and 1 are set-valued.

    Args:
        scores: Numbers of any precision, or booleans.
        classes: The file of column names; not read if ``own_classes`` is given.
        source: What the matrix was read from.
        own_classes: Column names in the file itself, shape (n_classes,).
        instances: Ids in the file itself, shape (n_instances,); None: row numbers from 0.

    Raises:
        SchemaError: If the matrix has another shape or type or is empty, or if names are missing,
            repeated, too few or too many.
    """
    _require_matrix(scores, source)
    rows, columns = scores.shape
    if own_classes is None:
        names = classes_for(columns, classes, source)
    else:
        names = as_many(
            distinct(texts_of(own_classes, "classes", source), "class", source), columns, source
        )
    beside = file_of(classes) if own_classes is None else ()
    return RawPredictions(
        instances=_ids(rows, instances, source),
        classes=names,
        scores=scores.astype(np.float64, copy=False),
        set_valued=scores.dtype.kind in "biu" and bool(((scores == 0) | (scores == 1)).all()),
        sources=(*source.files, *beside),
        name=source.name,
    )


def listed(
    scores: pl.DataFrame, instances: pl.Series, source: Source, *, set_valued: bool = False
) -> RawPredictions:
    """Predictions of a list of scores; scores that are not listed are 0.

    Args:
        scores: ``instance, node, score``, without nulls.
        instances: Every instance once, in file order, including those without scores.
        source: What they were read from.
        set_valued: Whether the scores only say that a node was predicted.

    Raises:
        SchemaError: If an instance has two scores for a node.
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


def predicted_sets(raw: RawLabels, source: Source) -> RawPredictions:
    """Predictions from raw labels: every label is predicted, with score 1.

    A repeated label counts once.

    Raises:
        SchemaError: If a row lacks its instance or its label.
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
