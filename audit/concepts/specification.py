"""The parts that the tests of concepts need of a model, as Unit Testing for Concepts names them."""

from __future__ import annotations

from typing import Protocol

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
