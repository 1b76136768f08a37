"""Ablation of a dimension: representations from which its concepts cannot be read linearly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from audit.analyses.concepts.probes import fit_linear
from audit.base.dag import FloatArray, IntArray

RANK_TOLERANCE = 1e-8
"""Singular values below this share of the largest are none. The K rows of a multinomial probe have
rank K - 1; a tolerance at the precision of floats would keep a direction of pure noise."""
SPREAD_TOLERANCE = 1e-10
"""Variances below this share of the largest are none."""


@dataclass(frozen=True, eq=False)
class Ablation:
    """An affine map ``z - (z - mean) @ read @ write`` that removes as many directions as it reads.

    Args:
        mean: Shape (features,).
        read: Shape (features, removed).
        write: Shape (removed, features), with ``write @ read`` the identity.
    """

    mean: FloatArray
    read: FloatArray
    write: FloatArray

    def __call__(self, z: FloatArray) -> FloatArray:
        """Representations after the ablation, shape as given."""
        return np.asarray(z - ((z - self.mean) @ self.read) @ self.write)

    @property
    def removed(self) -> int:
        """Number of dimensions of the space that are gone."""
        return len(self.write)


def row_space(weight: FloatArray) -> FloatArray:
    """Orthonormal rows that span the rows of a matrix, shape (rank, features)."""
    _, sizes, rows = np.linalg.svd(weight, full_matrices=False)
    return np.asarray(rows[sizes > RANK_TOLERANCE * max(sizes[0], np.finfo(float).tiny)])


def inlp(z: FloatArray, concept: IntArray) -> Iterator[Ablation]:
    """Iterative nullspace projection: after each further linear probe, without what it reads.

    Ends where a probe has no direction left. Null It Out: Guarding Protected Attributes by
    Iterative Nullspace Projection; the tests of concepts use the first iteration.

    Args:
        z: Shape (n, features).
        concept: Shape (n,), at least two different ones.
    """
    basis = np.empty((0, z.shape[1]))
    while True:
        weight = fit_linear(z - z @ basis.T @ basis, concept, exact=True).weight
        rows = row_space(weight - weight @ basis.T @ basis)
        if not len(rows):
            return
        basis = np.linalg.qr(np.vstack([basis, rows]).T)[0].T
        yield Ablation(np.zeros(z.shape[1]), basis.T, basis)


def leace(z: FloatArray, concept: IntArray, weight: FloatArray | None = None) -> Ablation:
    """Least-squares concept erasure: the smallest change after which no linear probe reads.

    After it the covariance of every feature with every concept is zero, so that the best linear
    probe of the same instances answers without looking. LEACE: Perfect linear concept erasure in
    closed form.

    Args:
        z: Shape (n, features).
        concept: Shape (n,).
        weight: Positive weights of instances, shape (n,); all equal if None.
    """
    mean, spread, shared = _covariances(z, concept, weight)
    variances, axes = eigh(spread)
    kept = variances > SPREAD_TOLERANCE * max(variances[-1], np.finfo(float).tiny)
    axes, deviations = axes[:, kept], np.sqrt(variances[kept])
    whitened = (axes.T @ shared) / deviations[:, None]
    if not whitened.size:
        return Ablation(mean, np.empty((len(mean), 0)), np.empty((0, len(mean))))
    concepts, sizes, _ = np.linalg.svd(whitened, full_matrices=False)
    concepts = concepts[:, sizes > RANK_TOLERANCE * max(sizes[0], np.finfo(float).tiny)]
    read = axes @ (concepts / deviations[:, None])
    return Ablation(mean, read, (axes @ (concepts * deviations[:, None])).T)


def balanced_weights(concept: IntArray) -> FloatArray:
    """Weights of mean 1 under which all concepts weigh the same, shape (n,)."""
    _, place, counts = np.unique(concept, return_inverse=True, return_counts=True)
    return np.asarray(len(concept) / (len(counts) * counts[place]))


def _covariances(
    z: FloatArray, concept: IntArray, weight: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, covariance, and covariance with the marks of concepts."""
    share = np.ones(len(z)) if weight is None else weight
    share = share / share.sum()
    marks = (concept[:, None] == np.unique(concept)).astype(np.float64)
    mean = share @ z
    marks = (marks - share @ marks) * share[:, None]
    centred = z - mean
    return mean, centred.T @ (centred * share[:, None]), centred.T @ marks
