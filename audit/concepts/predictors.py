"""What a model answers: its own linear head, or a linear probe for the combinations of concepts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audit.base.dag import FloatArray, IntArray
from audit.concepts.classes import NONE, Described
from audit.concepts.facets import Facets
from audit.concepts.probes import LinearProbe, fit_linear
from audit.concepts.representations import LinearHead
from audit.concepts.splits import Scaling, Split

PROBE = "a linear probe of the combinations of concepts"
HEAD = "the linear head of the model"


@dataclass(frozen=True, eq=False)
class Predictor:
    """Answers, named by their concepts.

    Args:
        answer: Gives the number of an answer.
        codes: The concepts of each answer, shape (answers, dimensions).
    """

    answer: LinearProbe
    codes: IntArray

    def __call__(self, z: FloatArray) -> IntArray:
        """The concept of each answer in each dimension, shape (n, dimensions)."""
        return self.codes[self.answer(z)]


def fit_predictor(z: FloatArray, split: Split, described: Described) -> Predictor | None:
    """Fit a probe of the combinations of crossed concepts on one half; None without two of them.

    Args:
        z: Representations, shape ``(rows of the split, features)``.
        split: The split.
        described: The classes.
    """
    crossed = np.flatnonzero(described.crossed).tolist()
    combinations, of_class = described.combinations(crossed)
    target = of_class[split.class_of]
    rows = np.flatnonzero(split.probing)
    if not crossed or len(np.unique(target[rows])) < 2:
        return None
    return Predictor(fit_linear(z[rows], target[rows]), combinations)


def head_predictor(
    head: LinearHead, scaling: Scaling, described: Described, facets: Facets
) -> Predictor:
    """The head of a model, applied to scaled representations."""
    table = facets.table.unique()
    concept_of = {(node, name): concept for node, name, concept in table.iter_rows()}
    codes = np.full((len(head.classes), len(described.dimensions)), NONE)
    for place, name in enumerate(described.dimensions):
        codes_of = {concept: code for code, concept in enumerate(described.concepts[place])}
        for row, label in enumerate(head.classes):
            concept = concept_of.get((label, name))
            codes[row, place] = NONE if concept is None else codes_of[concept]
    weight = head.weight * scaling.size
    bias = head.bias + head.weight @ scaling.mean
    return Predictor(LinearProbe(np.arange(len(head.classes)), weight, bias), codes)
