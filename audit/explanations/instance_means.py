"""Means over instances with intervals, where an instance may have several values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import stdtrit

from audit.base.dag import FloatArray, IntArray
from audit.engine.statistics.intervals import LEVEL


@dataclass(frozen=True, eq=False)
class Clusters:
    """Units by part, and by instance within it.

    Args:
        order: Units, those of one instance of a part beside each other, shape (n_units,).
        first: Where each instance begins in the order, shape (n_instances,).
        first_of_part: The first instance of each part, shape (n_parts,). No part is empty.
    """

    order: IntArray
    first: IntArray
    first_of_part: IntArray


def clusters(part: IntArray, instance: IntArray) -> Clusters:
    """Sort units by part and instance.

    Args:
        part: Part of each unit, numbered from 0 without gaps, shape (n_units,).
        instance: Any number that tells instances apart, shape (n_units,).
    """
    order = np.lexsort((instance, part))
    new_part = np.diff(part[order], prepend=-1) != 0
    new = new_part | (np.diff(instance[order], prepend=-1) != 0)
    first = np.flatnonzero(new)
    return Clusters(order, first, np.flatnonzero(new_part[first]))


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


def instance_means(values: FloatArray, grouped: Clusters) -> Means:
    """Means over instances of each part.

    Args:
        values: A value of each unit in each column, NaN where undefined, (n_units, n_columns).
        grouped: The units' parts and instances.
    """
    ordered = values[grouped.order]
    sums, units = _sums(ordered, grouped.first)
    of_instance = np.divide(sums, units, out=np.full(sums.shape, np.nan), where=units > 0)
    total, n = _sums(of_instance, grouped.first_of_part)
    value = np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
    sizes = np.diff([*grouped.first_of_part.tolist(), len(grouped.first)])
    squares, _ = _sums((of_instance - np.repeat(value, sizes, axis=0)) ** 2, grouped.first_of_part)
    freedom = np.maximum(n - 1, 1)
    sd = np.where(n > 1, np.sqrt(squares / freedom), np.nan)
    spread = stdtrit(freedom, (1 + LEVEL) / 2) * sd / np.sqrt(np.maximum(n, 1))
    given = _counts(units, grouped.first_of_part)
    all_units = _counts(_sizes(grouped)[:, None], grouped.first_of_part)
    return Means(value, value - spread, value + spread, sd, n, given, all_units - given)


def columns_of(means: Means, column: int, *, bounds: tuple[float, float] | None = None) -> pl.DataFrame:
    """One column of means as a table with a row per part: ``value, low, high, n, units, undefined``.

    Args:
        means: The means.
        column: Which column.
        bounds: Least and largest possible value, which the interval is cut to.
    """
    low, high = means.low[:, column], means.high[:, column]
    if bounds:
        low, high = np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
    return pl.DataFrame(
        {
            "value": means.value[:, column],
            "low": low,
            "high": high,
            "n": means.n[:, column],
            "units": means.units[:, column],
            "undefined": means.undefined[:, column],
        }
    ).with_columns(pl.col("value", "low", "high").fill_nan(None))


def _sums(values: FloatArray, first: IntArray) -> tuple[FloatArray, IntArray]:
    """Sums and numbers of the defined values from each first row to the next."""
    defined = ~np.isnan(values)
    filled = np.where(defined, values, 0.0)
    return np.add.reduceat(filled, first, axis=0), _counts(defined.astype(np.int64), first)


def _counts(numbers: IntArray, first: IntArray) -> IntArray:
    counts: IntArray = np.add.reduceat(numbers, first, axis=0)
    return counts


def _sizes(grouped: Clusters) -> IntArray:
    return np.diff([*grouped.first.tolist(), len(grouped.order)])
