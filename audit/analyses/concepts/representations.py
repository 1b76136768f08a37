"""Representations by layer, with labels and answers, after all checks that need no concepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.analyses.concepts.arrays import AnyArray, first_of
from audit.base.declared import schema
from audit.base.errors import SchemaError, first_cases
from audit.data.class_lists import distinct

INSTANCES = schema(
    ("id", pl.String()), ("labels", pl.List(pl.String())), ("prediction pair", pl.String())
)
"""Columns of `Representations.instances`; the last two are null where nothing was given."""


@dataclass(frozen=True, eq=False)
class LinearHead:
    """The last, linear layer of a model: the class of the highest ``weight @ z + bias``.

    Args:
        classes: Labels, one per row of the weights.
        weight: Shape ``(len(classes), features)`` of the last layer of representations.
        bias: Shape ``(len(classes),)``.
    """

    classes: tuple[str, ...]
    weight: NDArray[np.float64]
    bias: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Representations:
    """What each layer of a model makes of the same instances.

    Args:
        layers: Per layer, in the order in which a model computes them, an array of shape
            ``(instances, features)``, floats as they were read; rows are those of ``instances``.
        instances: Columns `INSTANCES`, a row per instance. Instances of one ``pair`` differ in
            their label alone (counterfactual minimal pairs).
        head: What predicts from the last layer; None if it was not given.
    """

    layers: Mapping[str, NDArray[np.floating]]
    instances: pl.DataFrame
    head: LinearHead | None = None

    @cached_property
    def predictions(self) -> pl.Series | None:
        """The label that a model gives each instance, as stated or by its head; None without both.

        Of stated predictions some may be null.
        """
        given = self.instances["prediction"]
        if given.null_count() < len(given):
            return given
        if self.head is None:
            return None
        last = list(self.layers.values())[-1].astype(np.float64)
        answers = (last @ self.head.weight.T + self.head.bias).argmax(axis=1)
        return pl.Series(self.head.classes, dtype=pl.String).gather(answers)


AnswersFrom: TypeAlias = Literal["representations", "predictions"]
"""Whether answers came with the representations, or apart from them."""


def model_answers(
    representations: Representations, apart: pl.Series | None
) -> tuple[pl.Series, AnswersFrom] | None:
    """Answers of the representations' own model output, else those given apart; None without both.

    Args:
        representations: With predictions or a head, or without.
        apart: Lists of labels in the order of the instances, null where none are known; None if
            there are none.

    Returns:
        Lists of labels in the order of the instances, null where none are known; and whose.
    """
    own = representations.predictions
    if own is not None:
        alone = pl.when(own.is_not_null()).then(pl.concat_list(own))
        return pl.select(alone).to_series(), "representations"
    if apart is None or apart.null_count() == len(apart):
        return None
    return apart, "predictions"


def representations_of(
    layers: Mapping[str, AnyArray],
    labels: Sequence[str | Sequence[str] | None],
    *,
    ids: Sequence[str | None] | None = None,
    predictions: Sequence[str | None] | None = None,
    pairs: Sequence[str | None] | None = None,
    head: LinearHead | None = None,
    where: object = "",
) -> Representations:
    """Representations of arrays in memory. Every instance is kept, those without a label too.

    Args:
        layers: Per layer, in the order in which a model computes them, numbers of shape
            ``(instances, features)``. Single and double precision stay as they are, half becomes
            single, all else double.
        labels: Per instance its label, a list of them, or None. A repeated label counts once.
        ids: Ids of the instances; their numbers from 0 if None.
        predictions: Per instance the label that is predicted, or None.
        pairs: Per instance the minimal pair that it belongs to, or None.
        head: What predicts from the last layer.
        where: Where all this was read, for messages.

    Raises:
        SchemaError: If there is no layer or instance, layers are of different instances, an id is
            missing or repeated, no instance has a label, a number is not finite, all instances of
            a layer are equal, or the head does not fit the last layer.
    """
    if not layers:
        raise SchemaError("at least one layer is required", found="none", where=where)
    matrices = {name: _matrix(name, array, where) for name, array in layers.items()}
    n = _instances(matrices, where)
    columns = {
        "id": [str(row) for row in range(n)] if ids is None else ids,
        "labels": [_labels_of(one) for one in labels],
        "prediction": [None] * n if predictions is None else predictions,
        "pair": [None] * n if pairs is None else pairs,
    }
    for name, values in columns.items():
        _require_as_many(name, len(values), n, where)
    instances = _frame(columns, where)
    _require_ids(instances["id"], where)
    if not instances["labels"].list.len().sum():
        raise SchemaError("an instance with a label is required", found="none", where=where)
    for name, matrix in matrices.items():
        _refuse_unfit_numbers(name, matrix, instances["id"], where)
    last = list(matrices)[-1]
    if head is not None:
        _require_fitting(head, last, matrices[last].shape[1], where)
    return Representations(matrices, instances, head)


def _matrix(name: str, array: AnyArray, where: object) -> NDArray[np.floating[Any]]:
    if not name.strip() or not name.isprintable():
        required = "every layer must have a name without control characters"
        raise SchemaError(required, found=ascii(name), where=where)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise SchemaError(
            f"the layer {name!r} must be numbers, a row an instance and a column a feature",
            found=f"{array.dtype} of shape {array.shape}",
            where=where,
            hint="flatten what a layer gives for an instance into one vector",
        )
    if array.size == 0:
        raise SchemaError(
            f"the layer {name!r} must have instances and features",
            found=f"shape {array.shape}",
            where=where,
        )
    single = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    with np.errstate(over="ignore"):  # what is beyond double precision is refused as infinite
        return np.ascontiguousarray(array, dtype=np.float32 if single else np.float64)


def _instances(matrices: Mapping[str, AnyArray], where: object) -> int:
    """The number of instances that all layers have."""
    numbers = {name: len(matrix) for name, matrix in matrices.items()}
    if len(set(numbers.values())) > 1:
        raise SchemaError(
            "all layers must be of the same instances",
            found=first_cases([f"{name}: {n:,} instances" for name, n in numbers.items()]),
            where=where,
        )
    return next(iter(numbers.values()))


def _labels_of(given: Any) -> list[Any]:
    """The labels of an instance, each once; what is not text is refused with the others."""
    if given is None:
        return []
    several = isinstance(given, Iterable) and not isinstance(given, str)
    return list(dict.fromkeys(given)) if several else [given]


def _frame(columns: Mapping[str, Sequence[Any]], where: object) -> pl.DataFrame:
    try:
        return pl.DataFrame(columns, schema=INSTANCES)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise SchemaError(
            "ids, labels, predictions and pairs must be texts",
            found=str(error).split("\n")[0],
            where=where,
        ) from None


def _require_as_many(name: str, values: int, n: int, where: object) -> None:
    if values != n:
        raise SchemaError(
            f"one value of {name} is required for each of the {n:,} instances of the layers",
            found=f"{values:,} values",
            where=where,
        )


def _require_ids(ids: pl.Series, where: object) -> None:
    blank = ids.is_null().arg_true()
    if len(blank):
        rows = [f"row {row}" for row in blank.head(5)]
        raise SchemaError(
            "every instance must have an id",
            found=f"none in {first_cases(rows, len(blank))}",
            where=where,
        )
    distinct(ids.to_list(), "instance", where)


def _refuse_unfit_numbers(
    name: str, matrix: NDArray[np.floating[Any]], ids: pl.Series, where: object
) -> None:
    wrong = ~np.isfinite(matrix)
    if wrong.any():
        rows, columns = np.nonzero(wrong)
        values = [
            f"{matrix[row, column]} in feature {column} of {ids[int(row)]}"
            for row, column in zip(rows[:5], columns[:5], strict=True)
        ]
        raise SchemaError(
            f"all numbers of the layer {name!r} must be finite",
            found=first_cases(values, len(rows)),
            where=where,
        )
    with np.errstate(over="ignore"):
        beyond = not np.isfinite(np.square(matrix, dtype=np.float64).sum())
    if beyond:
        raise SchemaError(
            f"numbers of the layer {name!r} must be so small that their squares can be added",
            found=f"{np.abs(matrix).max():.3g}, of {matrix.dtype}",
            where=where,
        )
    if (matrix == matrix[0]).all():
        raise SchemaError(
            f"the instances of the layer {name!r} must differ in a feature",
            found=f"{matrix.shape[1]:,} constant features of {len(matrix):,} instances",
            where=where,
            hint="leave the layer out, or check that the model was in evaluation mode",
        )


def _require_fitting(head: LinearHead, layer: str, features: int, where: object) -> None:
    """Refuse a head that cannot be applied to the last layer."""
    distinct(head.classes, "class of the head", where)
    expected = (len(head.classes), features)
    if head.weight.shape != expected or head.bias.shape != expected[:1]:
        raise SchemaError(
            f"the head must have a weight per class and feature of the last layer {layer!r}:"
            f" {expected[0]:,} x {expected[1]:,}, and a bias per class",
            found=f"weights of shape {head.weight.shape} and biases of shape {head.bias.shape}",
            where=where,
        )
    numbers = np.column_stack([head.weight, head.bias])
    wrong = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
    if len(wrong):
        raise SchemaError(
            "the weights and biases of the head must be finite",
            found=first_of(wrong, np.array(head.classes)[wrong]),
            where=where,
        )
