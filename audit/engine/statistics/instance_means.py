"""Means of groups of rows, and means over instances that may have several values each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.special import stdtrit

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
        high: Upper bound.
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
    cuts = range(_COLUMNS_AT_ONCE, values.shape[1], _COLUMNS_AT_ONCE)
    blocks = [_means(block, grouped) for block in np.split(values, cuts, axis=1)]
    return Means(
        *(np.hstack([getattr(block, of.name) for block in blocks]) for of in fields(Means))
    )


_COLUMNS_AT_ONCE = 4
"""Number of columns whose intermediate arrays are held at a time."""


def _means(values: FloatArray, grouped: Clusters) -> Means:
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
