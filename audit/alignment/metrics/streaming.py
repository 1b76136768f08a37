"""Infrastructure of metrics: each is defined once, for streaming and for whole arrays.

Every metric is a function of sums over instances, so that batches and machines can be summed,
and a bootstrap replicate is the same sum with other weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from audit.alignment.metrics.batch import Batch
from audit.base.dag import BoolArray, FloatArray, Sparse
from audit.base.errors import SchemaError
from audit.engine.scores.cuts import Cut
from audit.engine.statistics.resampling import (
    REPLICATES,
    percentile_interval,
    poisson_weights,
    unit_keys,
    weighted_sums,
)
from audit.hierarchies.hierarchy import Hierarchy

ALL = "all"
"""The scope that holds every instance; any other scope is a node id."""

ROWS_PER_BLOCK = 8192
"""Number of instances whose bootstrap weights are in memory at a time."""

Computed: TypeAlias = dict[str, tuple[FloatArray, FloatArray]]
"""Value and n of each number, by name; an undefined value is NaN."""


class Measure(ABC):
    """A metric in two steps: statistics of each instance, and numbers computed from their sums."""

    statistics: ClassVar[tuple[str, ...]]
    """Names of the statistics that `update` returns, in order."""
    parameters: Mapping[str, object]
    """Parameters of the metric, as spelled in ``result.json``."""
    scoped: ClassVar[bool] = True
    """Whether it is measured of the instances below a node, too."""

    @abstractmethod
    def update(self, batch: Batch) -> FloatArray:
        """Statistics of each instance, shape (n_instances, n_statistics)."""

    @abstractmethod
    def compute(self, sums: FloatArray) -> Computed:
        """Compute numbers of shape (...) from summed statistics of shape (..., n_statistics)."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number of a metric in one scope."""

    name: str
    scope: str
    """`ALL`, or a node id: the instances with a direct label at or below that node."""
    value: float | None
    """The value; None if undefined."""
    low: float | None
    """Lower bound of the 95 % bootstrap interval; None without replicates."""
    high: float | None
    n: int
    """The denominator of the share or mean, in instances."""
    parameters: Mapping[str, object]


class Tally:
    """Sums of statistics, per scope and per bootstrap replicate.

    Memory is (1 + replicates) * n_scopes * n_statistics numbers, for any number of instances.
    """

    def __init__(
        self, scopes: Sequence[str], n_statistics: int, *, seed: int = 0, replicates: int = 0
    ) -> None:
        self.scopes, self.seed, self.replicates = tuple(scopes), seed, replicates
        self.sums = np.zeros((1 + replicates, len(self.scopes), n_statistics))
        """The plain sums first, then the sums of each replicate."""

    def add(self, statistics: FloatArray, member: BoolArray, units: Sequence[str]) -> None:
        """Add instances.

        Args:
            statistics: Shape (n_instances, n_statistics).
            member: Whether each instance is in each scope, shape (n_instances, n_scopes).
            units: Resampling unit of each instance; ignored without replicates.
        """
        for start in range(0, len(statistics), ROWS_PER_BLOCK):
            block = slice(start, start + ROWS_PER_BLOCK)
            weights = self._weights(len(statistics[block]), units[block])
            for scope in range(len(self.scopes)):
                rows = np.flatnonzero(member[block, scope])
                self.sums[:, scope] += weighted_sums(statistics[block][rows], weights[rows])

    def merge(self, other: Tally) -> None:
        """Add the sums of another tally."""
        if self._kind != other._kind:
            raise SchemaError(
                "only sums of the same numbers can be merged",
                found=f"{self._described()} and {other._described()}",
            )
        self.sums += other.sums

    @property
    def _kind(self) -> tuple[object, ...]:
        return self.scopes, self.sums.shape, self.seed

    def _weights(self, n: int, units: Sequence[str]) -> FloatArray:
        plain = np.ones((n, 1))
        if not self.replicates:
            return plain
        return np.hstack([plain, poisson_weights(unit_keys(units, self.seed), self.replicates)])

    def _described(self) -> str:
        return (
            f"{len(self.scopes)} scopes {self.scopes[:3]} of {self.sums.shape[2]} sums, "
            f"seed {self.seed}, {self.replicates} replicates"
        )


class Stream:
    """Metrics computed from batches of instances.

    Args:
        hierarchy: The hierarchy; its nodes are the columns of labels and scores.
        replicates: Number of bootstrap replicates; 0 for no intervals.

    Batches and streams may come in any order: counts are equal to the last bit, entropies to
    1e-12.
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
        self.hierarchy, self.measures = hierarchy, tuple(measures)
        widths = [len(measure.statistics) for measure in self.measures]
        self._ends = np.cumsum([0, *widths]).tolist()
        self._tally = Tally(scopes, self._ends[-1], seed=seed, replicates=replicates)

    def update(self, batch: Batch) -> None:
        """Add the instances of a batch."""
        if self._tally.replicates and len(batch.units) != len(batch):
            raise SchemaError("intervals need a unit for each instance: its group or its id")
        columns = [np.empty((len(batch), 0)), *(m.update(batch) for m in self.measures)]
        self._tally.add(np.hstack(columns), self._members(batch), batch.units)

    def merge(self, other: Stream) -> None:
        """Add the sums of another stream of the same metrics."""
        if self.hierarchy.sha256 != other.hierarchy.sha256:
            raise SchemaError(
                "only streams of the same hierarchy can be merged",
                found=f"{self.hierarchy!r} and {other.hierarchy!r}, which differ",
            )
        mine, theirs = ([_identity(m) for m in stream.measures] for stream in (self, other))
        if mine != theirs:
            raise SchemaError(
                "only streams of the same metrics can be merged",
                found=f"{len(mine)} and {len(theirs)} metrics, not the same ones",
            )
        self._tally.merge(other._tally)

    def compute(self) -> list[Estimate]:
        """Estimates of every metric in every scope, from all instances added so far."""
        return [
            _estimate(name, scope, measure.parameters, values[:, i], int(n[0, i]))
            for measure, start, end in zip(self.measures, self._ends, self._ends[1:], strict=False)
            for name, (values, n) in measure.compute(self._tally.sums[..., start:end]).items()
            for i, scope in enumerate(self._tally.scopes)
            if measure.scoped or scope == ALL
        ]

    def _members(self, batch: Batch) -> BoolArray:
        scopes = self._tally.scopes
        members = np.ones((len(batch), len(scopes)), np.bool_)
        nodes = [place for place, scope in enumerate(scopes) if scope != ALL]
        members[:, nodes] = batch.within([scopes[place] for place in nodes])
        return members


def _estimate(
    name: str, scope: str, parameters: Mapping[str, object], values: FloatArray, n: int
) -> Estimate:
    """A number from its value and that of each replicate, NaN where undefined."""
    low, high = percentile_interval(values[1:])
    defined = not np.isnan(values[0])
    return Estimate(
        name=name,
        scope=scope,
        value=_defined(values[0]),
        low=_defined(float(low)) if defined else None,
        high=_defined(float(high)) if defined else None,
        n=n,
        parameters=parameters,
    )


def whole(
    measure: Measure,
    hierarchy: Hierarchy,
    gold: Sparse | None,
    scores: Sparse,
    *,
    units: Sequence[str] = (),
    replicates: int = 0,
) -> dict[str, Estimate]:
    """Estimates of one metric on whole arrays, by name.

    Args:
        hierarchy: The hierarchy; its nodes are the columns.
        gold: Direct labels, shape (n_instances, n_nodes); None for a metric that reads none.
        scores: Same shape.
        units: Resampling unit of each instance; needed for intervals.
        replicates: Number of bootstrap replicates; 0 for no intervals.
    """
    stream = Stream(hierarchy, [measure], replicates=replicates)
    labels = csr_array(scores.shape) if gold is None else gold
    stream.update(Batch(hierarchy, labels, scores, units))
    return {estimate.name: estimate for estimate in stream.compute()}


def columns(sums: FloatArray) -> tuple[FloatArray, ...]:
    """Split an array of shape (..., n_statistics) into one array of shape (...) per statistic."""
    return tuple(np.moveaxis(sums, -1, 0))


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _identity(measure: Measure) -> list[object]:
    """What distinguishes one metric from another: its kind and the whole of its fields."""
    return [type(measure), *map(_comparable, vars(measure).values())]


def _comparable(value: object) -> object:
    """A value of a field, with lists in place of arrays, which `==` compares as wholes."""
    if isinstance(value, Cut):
        return value.nodes.tolist()
    if isinstance(value, csr_array):
        return [value.shape, *(part.tolist() for part in (value.indptr, value.indices, value.data))]
    return value.tolist() if isinstance(value, np.ndarray) else value
