"""Means of groups of rows, over instances with several values each, and below each node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.special import stdtr, stdtrit

from audit.base.dag import FloatArray, IntArray, Sparse
from audit.engine.statistics.intervals import LEVEL


@dataclass(frozen=True, eq=False)
class Clusters:
    """Units by part, and by instance within it.

    Args:
        units: 1 where an instance has a unit, shape (n_instances, n_units); an instance that has
            units in two parts is there twice.
        instances: 1 where a part has an instance, shape (n_parts, n_instances).
    """

    units: Sparse
    instances: Sparse


def clusters(part: IntArray, instance: IntArray) -> Clusters:
    """Sort units by part and instance.

    Args:
        part: Part of each unit, numbered from 0 without gaps, shape (n_units,).
        instance: Any number that tells instances apart, shape (n_units,).
    """
    order = np.lexsort((instance, part))
    new_part = np.diff(part[order], prepend=-1) != 0
    first = np.flatnonzero(new_part | (np.diff(instance[order], prepend=-1) != 0))
    first_of_part = np.flatnonzero(new_part[first])
    return Clusters(_rows(first, order), _rows(first_of_part, np.arange(len(first))))


def clusters_by(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, Clusters]:
    """Units by the values of some columns, which are the parts, and by instance.

    Args:
        frame: A row per unit, with its instance as ``id``.
        columns: What names a part; null is a value of its own.

    Returns:
        The columns, a row per part, in order; and the units of each part.
    """
    names = frame.select(columns).unique().sort(columns).with_row_index("part")
    part = frame.join(names, on=list(columns), how="left", nulls_equal=True, maintain_order="left")
    instance = frame["id"].rank("dense").to_numpy().astype(np.int64)
    return names.drop("part"), clusters(part["part"].to_numpy().astype(np.int64), instance)


def _rows(first: IntArray, columns: IntArray) -> Sparse:
    """Rows of ones that begin at these places among the columns."""
    starts = np.append(first, len(columns))
    ones = np.ones(len(columns))
    return csr_array((ones, columns, starts), shape=(len(first), len(columns)))


@dataclass(frozen=True, eq=False)
class Means:
    """Means of columns in each part, each array of shape (n_parts, n_columns).

    Args:
        value: Mean over instances of the mean over an instance's units; NaN without any.
        low: Lower bound of the 95 % interval (Student's, over instances); NaN below two instances.
        sd: Standard deviation over instances; NaN below two.
        n: Number of instances with a value.
        units: Number of units with a value.
        undefined: Number of units without one.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    sd: FloatArray
    n: IntArray
    units: IntArray
    undefined: IntArray

    def of(self, column: int) -> Means:
        """Those of one column."""
        return Means(*(getattr(self, array.name)[:, [column]] for array in fields(self)))

    def interval(
        self, value: str, low: str, high: str, bounds: tuple[float, float] | None = None
    ) -> dict[str, pl.Series]:
        """Value and interval as columns of these names, parts slowest; undefined ones are null."""
        arrays = {value: self.value, low: self.low, high: self.high}
        if bounds:
            arrays = {name: np.clip(array, *bounds) for name, array in arrays.items()}
        return {name: pl.Series(array.ravel()).fill_nan(None) for name, array in arrays.items()}

    def counts(self, *names: str) -> dict[str, IntArray]:
        """``n``, ``units`` and ``undefined`` as columns of these names, as many as there are."""
        arrays = (self.n, self.units, self.undefined)
        return {name: array.ravel() for name, array in zip(names, arrays, strict=False)}


def instance_means(values: FloatArray, grouped: Clusters) -> Means:
    """Means over instances of each part.

    Args:
        values: A value of each unit in each column, NaN where undefined, (n_units, n_columns).
        grouped: The units' parts and instances.
    """
    sums, units = _sums(values, grouped.units)
    of_instance = np.divide(sums, units, out=np.full(sums.shape, np.nan), where=units > 0)
    total, n = _sums(of_instance, grouped.instances)
    value = np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
    of_part = np.repeat(value, np.diff(grouped.instances.indptr), axis=0)
    squares, _ = _sums((of_instance - of_part) ** 2, grouped.instances)
    freedom = np.maximum(n - 1, 1)
    sd = np.where(n > 1, np.sqrt(squares / freedom), np.nan)
    spread = stdtrit(freedom, (1 + LEVEL) / 2) * sd / np.sqrt(np.maximum(n, 1))
    defined = np.asarray(grouped.instances @ units, np.int64)
    every = np.asarray(grouped.instances @ np.diff(grouped.units.indptr), np.int64)
    undefined = every[:, None] - defined
    return Means(value, value - spread, value + spread, sd, n, defined, undefined)


def _sums(values: FloatArray, rows: Sparse) -> tuple[FloatArray, IntArray]:
    """Sums and numbers of the defined values of each row's columns."""
    missing = np.isnan(values)
    if not missing.any():
        counts = np.repeat(np.diff(rows.indptr)[:, None], values.shape[1], axis=1)
        return np.asarray(rows @ values), counts.astype(np.int64)
    sums = np.asarray(rows @ np.where(missing, 0.0, values))
    return sums, np.asarray(rows @ (~missing).astype(np.float64), np.int64)


def group_means(rows: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """The mean of a column in each group.

    The sum of floats depends on their order, and joins and groups of Polars come in another order
    each time: here the values of a group are added from the lowest to the highest.

    Args:
        rows: Rows in any order.
        by: The columns that name a group; null is a value of its own.
        value: A column of floats; null values are left out.

    Returns:
        The columns ``by`` and ``value``, a row per group, null for a group without a value; groups
        are in the order of their lowest values. Empty without rows.
    """
    ordered = rows.select(*by, value).sort(value, *by).rechunk()
    return ordered.group_by(by, maintain_order=True).agg(pl.col(value).mean())


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
        rest: Mean of all other examples; NaN where there are none.
        difference: ``mean - rest``, NaN with it.
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
        rest = np.where(n_out > 0, (sums.sum() - own.by_node(total)) / n_out, np.nan)
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
