"""Means below each node against the rest, where examples of one cluster are not independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import stdtr, stdtrit

from audit.base.dag import FloatArray, IntArray, Sparse
from audit.engine.statistics.intervals import LEVEL

POWER = 0.8


@dataclass(frozen=True, eq=False)
class NodeMeans:
    """Means of examples below each node, and of all others; each array has shape (n_nodes,).

    A number is NaN where there are no two clusters to tell it from.

    Args:
        examples: Examples below the node.
        clusters: Different clusters among them.
        clusters_outside: Clusters with an example that is not below the node.
        mean: Mean of the examples below.
        low: Lower end of its 95 % interval.
        high: Upper end.
        rest: Mean of all other examples.
        difference: ``mean - rest``.
        error: Standard error of the difference.
    """

    examples: IntArray
    clusters: IntArray
    clusters_outside: IntArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    rest: FloatArray
    difference: FloatArray
    error: FloatArray

    @property
    def freedom(self) -> FloatArray:
        """Degrees of freedom of the difference: one less than the fewer clusters of the two."""
        return np.minimum(self.clusters, self.clusters_outside).astype(np.float64) - 1

    @property
    def p_less(self) -> FloatArray:
        """One-sided p value of the difference being 0 or more; NaN where it has no error."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.difference == 0, 0.0, self.difference / self.error)
        return np.asarray(stdtr(_positive(self.freedom), t))

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """The 95 % interval of the difference."""
        reach = _quantile((1 + LEVEL) / 2, self.freedom) * self.error
        return self.difference - reach, self.difference + reach

    @property
    def smallest(self) -> FloatArray:
        """The smallest difference that a two-sided test at 5 % finds with a power of 80 %."""
        quantiles = _quantile((1 + LEVEL) / 2, self.freedom) + _quantile(POWER, self.freedom)
        return quantiles * self.error


def smallest_difference(low: float, high: float, n: int) -> float:
    """The smallest mean that a two-sided test at 5 % tells from 0 with a power of 80 %.

    Args:
        low: Lower end of the 95 % interval of a mean, Student's.
        high: Upper end.
        n: Number of values that the mean is of, at least 2.
    """
    freedom = np.array([n - 1.0])
    two_sided, power = (_quantile(level, freedom)[0] for level in ((1 + LEVEL) / 2, POWER))
    return float((high - low) / 2 * (two_sided + power) / two_sided)


def node_means(values: FloatArray, cluster: IntArray, below: Sparse) -> NodeMeans:
    """Compare the examples below each node with all others.

    The standard error is that of a regression of the value on a mark of the node, robust against
    clusters: residuals are summed in each cluster before they are squared (Liang and Zeger 1986).

    Args:
        values: One value per example, shape (n,).
        cluster: The cluster of each example, numbered from 0, shape (n,).
        below: 1 where an example is below a node, shape (n, n_nodes).

    Time and memory grow with the stored values of ``below``.
    """
    size = int(cluster.max()) + 1 if len(cluster) else 0
    member = csr_array(
        (np.ones(len(cluster)), (cluster, np.arange(len(cluster)))), shape=(size, len(cluster))
    )
    count = csr_array(member @ below.astype(np.float64))
    weighted = csr_array(below.astype(np.float64).multiply(values[:, None]))
    total = csr_array(member @ weighted)
    own = _Sums(count, _aligned(total, count))
    each = np.bincount(cluster, minlength=size).astype(np.float64)
    sums = np.bincount(cluster, weights=values, minlength=size).astype(np.float64)
    return _compared(own, each, sums)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Number and sum of the examples of each cluster below each node, stored alike."""

    count: Sparse
    total: FloatArray

    def by_node(self, data: FloatArray) -> FloatArray:
        n = self.count.shape[1]
        return np.bincount(self.count.indices, weights=data, minlength=n).astype(np.float64)


def _aligned(total: Sparse, count: Sparse) -> FloatArray:
    """The sums at the stored places of the counts, zeros included."""
    for matrix in (total, count):
        matrix.sort_indices()
    if total.nnz == count.nnz:
        return np.asarray(total.data)
    return np.asarray(total[count.nonzero()])


def _compared(own: _Sums, each: FloatArray, sums: FloatArray) -> NodeMeans:
    node, cluster = own.count.indices, np.repeat(np.arange(len(each)), np.diff(own.count.indptr))
    count, total = own.count.data, own.total
    n_in = own.by_node(count)
    clusters = own.by_node(np.ones_like(count)).astype(np.int64)
    n_out = each.sum() - n_in
    inside_alone = own.by_node((count == each[cluster]).astype(np.float64)).astype(np.int64)
    outside = len(each) - inside_alone
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = own.by_node(total) / n_in
        rest = (sums.sum() - own.by_node(total)) / n_out
        inner = (total - mean[node] * count) / n_in[node]
        whole = (sums[cluster] - rest[node] * each[cluster]) / n_out[node]
        outer = whole - (total - rest[node] * count) / n_out[node]
        everywhere = (
            (sums**2).sum() - 2 * rest * (sums * each).sum() + rest**2 * (each**2).sum()
        ) / n_out**2
        squares = everywhere + own.by_node((inner - outer) ** 2 - whole**2)
        present = len(each)
        error = np.sqrt(np.maximum(squares, 0) * present / (present - 1))
        own_error = np.sqrt(own.by_node(inner**2) * clusters / (clusters - 1))
    reach = _quantile((1 + LEVEL) / 2, clusters.astype(np.float64) - 1) * own_error
    return NodeMeans(
        examples=n_in.astype(np.int64),
        clusters=clusters,
        clusters_outside=outside,
        mean=mean,
        low=mean - reach,
        high=mean + reach,
        rest=rest,
        difference=mean - rest,
        error=np.where(np.minimum(clusters, outside) > 1, error, np.nan),
    )


def _positive(freedom: FloatArray) -> FloatArray:
    return np.where(freedom > 0, freedom, np.nan)


def _quantile(level: float, freedom: FloatArray) -> FloatArray:
    return np.asarray(stdtrit(_positive(freedom), level))
