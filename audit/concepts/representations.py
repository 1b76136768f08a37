"""Representations by layer, with labels and answers, and the parts that tests need of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.dag import FloatArray, IntArray


class Encode(Protocol):
    """X -> Z: representations of inputs, shape (n, inputs) to (n, features)."""

    def __call__(self, x: FloatArray, /) -> FloatArray:
        """Representations, a row per input."""


class Predict(Protocol):
    """Z -> Y: what the model answers, named by the concepts of the answer."""

    def __call__(self, z: FloatArray, /) -> IntArray:
        """The concept of each answer in each dimension, (n, dimensions); below 0 without one."""


class HasConcept(Protocol):
    """Z x concept -> bool, for all concepts of a dimension at once: exactly one of them holds."""

    def __call__(self, z: FloatArray, /) -> IntArray:
        """The concept that each representation has, shape (n,)."""


class Ablate(Protocol):
    """Z x dimension -> Z: representations without the information on one dimension."""

    def __call__(self, z: FloatArray, /) -> FloatArray:
        """Representations after the ablation, shape as given."""


INSTANCES: dict[str, pl.DataType] = {
    "id": pl.String(),
    "labels": pl.List(pl.String()),
    "prediction": pl.String(),
    "pair": pl.String(),
}
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
