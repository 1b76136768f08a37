"""Linear probes of representations, and what removes all that they read."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from audit.base.dag import FloatArray, IntArray

RANK_TOLERANCE = 1e-8
"""Singular values below this share of the largest are none. The K rows of a multinomial probe have
rank K - 1; a tolerance at the precision of floats would keep a direction of pure noise."""
SPREAD_TOLERANCE = 1e-10
"""Variances below this share of the largest are none."""
_LEAST = np.finfo(float).tiny


def scaled(layer: FloatArray) -> FloatArray:
    """Rows about their mean, over the root of their mean variance, shape (n, features).

    It is one number for all features, so that angles stay.
    """
    size = float(np.sqrt(layer.var(axis=0).mean()))
    return np.asarray((layer - layer.mean(axis=0)) / (size if size > 0 else 1.0))


@dataclass(frozen=True, eq=False)
class Probe:
    """Multinomial logistic regression: answers are the class of the highest score.

    Of k classes, ascending, weights have the shape (k, features); of two their rows are opposite.
    """

    classes: IntArray
    weight: FloatArray
    bias: FloatArray

    def __call__(self, z: FloatArray) -> IntArray:
        """The class of each representation, shape (n,); ties go to the first."""
        return np.asarray(self.classes[(z @ self.weight.T + self.bias).argmax(axis=1)])


def fit(z: FloatArray, target: IntArray, *, exact: bool = False) -> Probe:
    """Fit a probe with balanced weights: every class weighs the same.

    Args:
        target: Classes, shape (n,), at least two different ones.
        exact: Whether to fit in double precision, which the rank of the weights needs.
    """
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, max_iter=300, tol=1e-4)
    counts = np.bincount(target)
    balanced = len(target) / (np.count_nonzero(counts) * counts[target])
    with config_context(assume_finite=True, skip_parameter_validation=True):
        model.fit(z if exact else z.astype(np.float32), target, balanced)
    weight, bias = model.coef_.astype(np.float64), model.intercept_.astype(np.float64)
    if len(weight) == 1:
        weight, bias = np.vstack([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    return Probe(model.classes_, weight, bias)


@contextmanager
def quiet_fits() -> Iterator[None]:
    """Let fits in the block not warn of steps that ran out; one thread each, for equal bytes."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@dataclass(frozen=True, eq=False)
class Ablation:
    """An affine map ``z - (z - mean) @ read @ write`` that removes as many directions as it reads.

    ``read`` has the shape (features, removed), and ``write @ read`` is the identity.
    """

    mean: FloatArray
    read: FloatArray
    write: FloatArray

    def __call__(self, z: FloatArray) -> FloatArray:
        """Representations after the ablation, shape as given."""
        return np.asarray(z - ((z - self.mean) @ self.read) @ self.write)


def inlp(z: FloatArray, concept: IntArray) -> Iterator[Ablation]:
    """Iterative nullspace projection: after each further linear probe, without what it reads.

    Ends where a probe has no direction left. Null It Out: Guarding Protected Attributes by
    Iterative Nullspace Projection; the tests of concepts use the first iteration.
    """
    basis = np.empty((0, z.shape[1]))
    while True:
        weight = fit(z - z @ basis.T @ basis, concept, exact=True).weight
        _, sizes, rows = np.linalg.svd(weight - weight @ basis.T @ basis, full_matrices=False)
        rows = rows[sizes > RANK_TOLERANCE * max(sizes[0], _LEAST)]
        if not len(rows):
            return
        basis = np.linalg.qr(np.vstack([basis, rows]).T)[0].T
        yield Ablation(np.zeros(z.shape[1]), basis.T, basis)


def leace(z: FloatArray, concept: IntArray) -> Ablation:
    """Least-squares concept erasure: the smallest change after which no linear probe reads.

    All concepts weigh the same. After it the covariance of every feature with every concept is
    zero. LEACE: Perfect linear concept erasure in closed form.
    """
    marks = (concept[:, None] == np.unique(concept)).astype(np.float64)
    share = (marks / marks.sum(axis=0)).sum(axis=1) / marks.shape[1]
    mean = share @ z
    centred = z - mean
    variances, axes = eigh(centred.T @ (centred * share[:, None]))
    kept = variances > SPREAD_TOLERANCE * max(variances[-1], _LEAST)
    axes, deviations = axes[:, kept], np.sqrt(variances[kept])
    shared = axes.T @ (centred.T @ ((marks - share @ marks) * share[:, None]))
    concepts, sizes, _ = np.linalg.svd(shared / deviations[:, None], full_matrices=False)
    concepts = concepts[:, sizes > RANK_TOLERANCE * sizes.max(initial=_LEAST)]
    read = axes @ (concepts / deviations[:, None])
    return Ablation(mean, read, (axes @ (concepts * deviations[:, None])).T)


ABLATIONS: Mapping[str, Callable[[FloatArray, IntArray], Ablation]] = {
    "inlp": lambda z, concept: next(inlp(z, concept)),
    "leace": leace,
}
"""Ablation by its name; of the first the first iteration, as in the paper."""
