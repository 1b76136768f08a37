"""Sums of the statistics of metrics over batches of instances, and the numbers and intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.measures import Measure
from audit.base.dag import BoolArray, FloatArray, Sparse
from audit.engine.statistics.resampling import (
    REPLICATES,
    percentile_interval,
    poisson_weights,
    unit_keys,
    weighted_sums,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.metric_list import ALL

ROWS_PER_BLOCK = 8192
"""Number of instances whose bootstrap weights are in memory at a time."""
Row: TypeAlias = dict[str, Any]
"""A number of a metric: ``name, scope`` (`ALL`, or a node: of the instances with a direct label at
or below it), ``value`` (None if undefined), ``low, high`` (of its 95 % bootstrap interval; None
without), ``n`` (denominator of the share or mean, in instances) and ``parameters``."""


class Stream:
    """Metrics computed from batches of instances.

    Args:
        hierarchy: The hierarchy; its nodes are the columns of labels and scores.
        scopes: `ALL` and ids of nodes.
        replicates: Number of bootstrap replicates; 0 for no intervals.

    Batches may come in any order: counts are equal to the last bit, entropies to 1e-12. Memory is
    (1 + replicates) * n_scopes * n_statistics numbers, for any number of instances.
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        measures: Iterable[Measure],
        scopes: Sequence[str] = (ALL,),
        *,
        seed: int = 0,
        replicates: int = REPLICATES,
    ) -> None:
        self.hierarchy, self.measures, self.scopes = hierarchy, tuple(measures), tuple(scopes)
        self._seed, self._replicates = seed, replicates
        self._sums, self._ends = np.zeros((0, 0, 0)), np.zeros(0, np.int64)

    def __getstate__(self) -> dict[str, Any]:
        """All but the measures, which are functions; who unpickles sums sets them again."""
        return {**vars(self), "measures": ()}

    def update(self, batch: Batch) -> None:
        """Add the instances of a batch; with replicates, each needs a unit."""
        columns = [measure.of_batch(batch) for measure in self.measures]
        self._ends = np.cumsum([len(own) for own in columns])
        every = [column for own in columns for column in own]
        statistics = np.stack(every, axis=1, dtype=np.float64)
        if not self._sums.size:
            shape = (1 + self._replicates, len(self.scopes), statistics.shape[1])
            self._sums = np.zeros(shape)
        members = self._members(batch)
        for start in range(0, len(batch), ROWS_PER_BLOCK):
            block = slice(start, start + ROWS_PER_BLOCK)
            weights = self._bootstrap_weights(batch.units[block], len(statistics[block]))
            for scope, member in enumerate(members[block].T):
                self._sums[:, scope] += weighted_sums(statistics[block][member], weights[member])

    def merge(self, other: Stream) -> None:
        """Add the sums of another stream of the same metrics and scopes."""
        if other._sums.size:
            self._ends = other._ends
            self._sums = self._sums + other._sums if self._sums.size else other._sums.copy()

    def compute(self) -> list[Row]:
        """Every metric over all instances so far and, if it is ``scoped``, in every other scope."""
        sums = np.split(self._sums, self._ends[:-1], axis=-1)
        return [
            _row(name, scope, values[:, i], int(n[0, i]), measure)
            for measure, own in zip(self.measures, sums, strict=True)
            for name, (values, n) in measure.of_sums(*np.moveaxis(own, -1, 0)).items()
            for i, scope in enumerate(self.scopes)
            if measure.scoped or scope == ALL
        ]

    def _members(self, batch: Batch) -> BoolArray:
        """Whether each instance is in each scope, shape (n_instances, n_scopes)."""
        members = np.ones((len(batch), len(self.scopes)), np.bool_)
        nodes = [place for place, scope in enumerate(self.scopes) if scope != ALL]
        members[:, nodes] = batch.within([self.scopes[place] for place in nodes])
        return members

    def _bootstrap_weights(self, units: Sequence[str], n: int) -> FloatArray:
        """Weights of n instances: a column of 1, then one of random weights for each replicate."""
        if not self._replicates:
            return np.ones((n, 1))
        drawn = poisson_weights(unit_keys(units, self._seed), self._replicates)
        return np.hstack([np.ones((n, 1)), drawn])


def _row(name: str, scope: str, values: FloatArray, n: int, measure: Measure) -> Row:
    """A number from ``values``, its own and that of each replicate, NaN where undefined."""
    numbers = values[0], *percentile_interval(values[1:])
    value, low, high = (None if np.isnan(one) else float(one) for one in numbers)
    ends = {"low": None, "high": None} if value is None else {"low": low, "high": high}
    row = {"name": name, "scope": scope, "value": value, **ends, "n": n}
    return {**row, "parameters": dict(measure.parameters)}


def whole(
    measure: Measure, hierarchy: Hierarchy, gold: Sparse | None, scores: Sparse
) -> dict[str, float]:
    """The numbers of one metric on whole arrays, by name; NaN where undefined.

    Args:
        gold: Direct labels, shape (n_instances, n_nodes); None for a metric that reads none.
        scores: Same shape.
    """
    stream = Stream(hierarchy, [measure], replicates=0)
    stream.update(Batch(hierarchy, csr_array(scores.shape) if gold is None else gold, scores))
    return {row["name"]: value_of(row) for row in stream.compute()}


def value_of(row: Row) -> float:
    """The value of a row, NaN where it is undefined."""
    return math.nan if row["value"] is None else float(row["value"])
