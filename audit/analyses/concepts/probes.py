"""Linear probes of representations, fitted by scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from audit.analyses.concepts.classes import NONE, Described, Scaling, Split
from audit.analyses.concepts.facets import Facets
from audit.analyses.concepts.representations import LinearHead
from audit.base.dag import FloatArray, IntArray
from audit.base.machine import cores

REGULARISATION = 1.0
"""Inverse strength C of the squared penalty; representations have mean squared features of 1."""
MOST_STEPS = 300
TOLERANCE = 1e-4

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class LinearProbe:
    """Multinomial logistic regression: answers are the class of the highest score.

    Args:
        classes: Shape (k,), ascending, at least two.
        weight: Shape (k, features); for two classes the rows are opposite.
        bias: Shape (k,).
    """

    classes: IntArray
    weight: FloatArray
    bias: FloatArray

    def scores(self, z: FloatArray) -> FloatArray:
        """Scores of the classes, shape (n, k)."""
        return np.asarray(z @ self.weight.T + self.bias)

    def __call__(self, z: FloatArray) -> IntArray:
        """The class of each representation, shape (n,); ties go to the first."""
        return np.asarray(self.classes[self.scores(z).argmax(axis=1)])


def fit_linear(z: FloatArray, target: IntArray, *, exact: bool = False) -> LinearProbe:
    """Fit a linear probe with balanced weights: every class weighs the same.

    Args:
        z: Shape (n, features).
        target: Classes, shape (n,), at least two different ones.
        exact: Whether to fit in double precision, which the rank of the weights needs; single
            precision takes half the time.
    """
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(
        C=REGULARISATION, class_weight="balanced", max_iter=MOST_STEPS, tol=TOLERANCE
    )
    with config_context(assume_finite=True, skip_parameter_validation=True):
        model.fit(z if exact else z.astype(np.float32), target)
    weight, bias = model.coef_.astype(np.float64), model.intercept_.astype(np.float64)
    if len(weight) == 1:
        weight, bias = np.vstack([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    return LinearProbe(model.classes_, weight, bias)


def mean_auc(scores: FloatArray, classes: IntArray, truth: IntArray) -> float:
    """Mean over classes of the area under the curve of each against the rest; NaN without two."""
    from sklearn.metrics import roc_auc_score

    here = [k for k, one in enumerate(classes.tolist()) if 0 < (truth == one).sum() < len(truth)]
    areas = [roc_auc_score(truth == classes[k], _margin(scores, k)) for k in here]
    return float(np.mean(areas)) if areas else float("nan")


def _margin(scores: FloatArray, k: int) -> FloatArray:
    return np.asarray(scores[:, k] - np.delete(scores, k, axis=1).max(axis=1))


@contextmanager
def quiet_fits() -> Iterator[None]:
    """Fits without warnings of steps that ran out, each on one thread, for equal bytes anywhere."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def in_parallel(work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
    """Results of jobs in their order, as many at a time as there are cores; see `quiet_fits`."""
    with ThreadPoolExecutor(cores()) as pool:
        yield from pool.map(work, jobs)


PROBE = "a linear probe of the combinations of concepts"
HEAD = "the linear head of the model"


@dataclass(frozen=True, eq=False)
class Predictor:
    """Answers, named by their concepts.

    Args:
        codes: The concepts of each answer, shape (answers, dimensions).
    """

    answer: LinearProbe
    codes: IntArray

    def __call__(self, z: FloatArray) -> IntArray:
        """The concept of each answer in each dimension, shape (n, dimensions)."""
        return self.codes[self.answer(z)]


def fit_predictor(z: FloatArray, split: Split, described: Described) -> Predictor | None:
    """Fit a probe of the combinations of crossed concepts on one half; None without two of them."""
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
