"""One definition of a metric, two entrances: sums that stream and merge, and one call for all.

Every metric is a function of sums over instances. So batches add up, machines add up, and a
bootstrap replicate is the same sum with other weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from audit.alignment.metrics.batch import Batch
from audit.base.dag import BoolArray, FloatArray
from audit.base.errors import SchemaError
from audit.engine.scores.cuts import Cut
from audit.engine.statistics.resampling import (
    REPLICATES,
    percentile_interval,
    poisson_weights,
    unit_keys,
)
from audit.hierarchies.hierarchy import Hierarchy

ALL = "all"
"""The scope of every instance; any other scope is a node id."""

ROWS_PER_BLOCK = 8192
"""Instances whose weights are held at a time."""

Computed: TypeAlias = dict[str, tuple[FloatArray, FloatArray]]
"""Value and n of each number by name; a value is NaN where it is undefined."""


class Measure(ABC):
    """The two halves of a metric: statistics of each instance, and numbers from their sums."""

    statistics: ClassVar[tuple[str, ...]]
    """What `update` gives, in order."""
    parameters: Mapping[str, object]
    """What the numbers depend on, as `result.json` spells it."""

    @abstractmethod
    def update(self, batch: Batch) -> FloatArray:
        """Statistics of each instance, shape (n_instances, n_statistics)."""

    @abstractmethod
    def compute(self, sums: FloatArray) -> Computed:
        """Numbers from summed statistics, shape (..., n_statistics); each of shape (...)."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number of a metric."""

    name: str
    scope: str
    """`ALL`, or the id of the node at or below which an instance has a direct label."""
    value: float | None
    """None where it is undefined."""
    low: float | None
    """Lower bound of the 95 % bootstrap interval; None without replicates."""
    high: float | None
    n: int
    """What the value is a share or a mean of: the denominator, in instances."""
    parameters: Mapping[str, object]


class Tally:
    """Sums of statistics, per scope and per bootstrap replicate.

    Holds (1 + replicates) * n_scopes * n_statistics numbers, however many instances are added.
    """

    def __init__(
        self, scopes: Sequence[str], n_statistics: int, *, seed: int = 0, replicates: int = 0
    ) -> None:
        self.scopes, self.seed, self.replicates = tuple(scopes), seed, replicates
        self.sums = np.zeros((1 + replicates, len(self.scopes), n_statistics))
        """The plain sums, then those of each replicate."""

    def add(self, statistics: FloatArray, member: BoolArray, units: Sequence[str]) -> None:
        """Add instances.

        Args:
            statistics: Shape (n_instances, n_statistics).
            member: Whether an instance is in each scope, shape (n_instances, n_scopes).
            units: One an instance; not looked at without replicates.
        """
        for start in range(0, len(statistics), ROWS_PER_BLOCK):
            block = slice(start, start + ROWS_PER_BLOCK)
            weights = self._weights(len(statistics[block]), units[block])
            for scope in range(len(self.scopes)):
                rows = np.flatnonzero(member[block, scope])
                self.sums[:, scope] += weights[rows].T @ statistics[block][rows]

    def merge(self, other: Tally) -> None:
        """Add what another tally has counted.

        Raises:
            SchemaError: If it counts other scopes or statistics, or resamples otherwise.
        """
        mine, theirs = self._described(), other._described()
        if mine != theirs:
            raise SchemaError(
                "only sums of the same numbers can be merged", found=f"{mine} and {theirs}"
            )
        self.sums += other.sums

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
    """Metrics of instances that come in batches.

    Args:
        hierarchy: What gold labels and scores are nodes of.
        measures: The metrics.
        scopes: `ALL` and node ids.
        seed: Of the bootstrap.
        replicates: Of the bootstrap; 0 for numbers without intervals.

    Batches and streams may come in any order: counts are equal to the last bit, entropies to
    1e-12.
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        measures: Sequence[Measure],
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
        """Add the instances of a batch.

        Raises:
            SchemaError: If intervals are asked for and the batch names no units.
        """
        if self._tally.replicates and len(batch.units) != len(batch):
            raise SchemaError("intervals need a unit for each instance: its group or its id")
        columns = [np.empty((len(batch), 0)), *(m.update(batch) for m in self.measures)]
        self._tally.add(np.hstack(columns), self._members(batch), batch.units)

    def merge(self, other: Stream) -> None:
        """Add what another stream of the same metrics has seen.

        Raises:
            SchemaError: If it is of other metrics, scopes or seed.
        """
        mine, theirs = ([_identity(m) for m in stream.measures] for stream in (self, other))
        if mine != theirs:
            raise SchemaError(
                "only streams of the same metrics can be merged",
                found=f"{len(mine)} and {len(theirs)} metrics, not the same ones",
            )
        self._tally.merge(other._tally)

    def compute(self) -> list[Estimate]:
        """Every number of every metric in every scope, of what was seen so far."""
        found: list[Estimate] = []
        for measure, start, end in zip(self.measures, self._ends, self._ends[1:], strict=False):
            found += estimates(measure, self._tally, slice(start, end))
        return found

    def _members(self, batch: Batch) -> BoolArray:
        scopes = self._tally.scopes
        members = np.ones((len(batch), len(scopes)), np.bool_)
        nodes = [place for place, scope in enumerate(scopes) if scope != ALL]
        members[:, nodes] = batch.within([scopes[place] for place in nodes])
        return members


def estimates(measure: Measure, tally: Tally, columns: slice = slice(None)) -> list[Estimate]:
    """The numbers of one metric in every scope, from its columns of a tally."""
    found: list[Estimate] = []
    for name, (value, n) in measure.compute(tally.sums[..., columns]).items():
        low, high = percentile_interval(value[1:])
        found += [
            Estimate(
                name=name,
                scope=scope,
                value=_defined(value[0, i]),
                low=None if np.isnan(value[0, i]) else _defined(low[i]),
                high=None if np.isnan(value[0, i]) else _defined(high[i]),
                n=int(n[0, i]),
                parameters=measure.parameters,
            )
            for i, scope in enumerate(tally.scopes)
        ]
    return found


def whole(measure: Measure, batch: Batch) -> dict[str, Estimate]:
    """The numbers of one metric over all instances of a batch, by name, without intervals."""
    stream = Stream(batch.hierarchy, [measure], replicates=0)
    stream.update(batch)
    return {estimate.name: estimate for estimate in stream.compute()}


def ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Elementwise ratio, NaN where the denominator is zero. Shapes as given."""
    undefined = np.full(np.shape(whole), np.nan)
    return np.asarray(np.divide(part, whole, out=undefined, where=whole != 0))


def columns(sums: FloatArray) -> tuple[FloatArray, ...]:
    """Each statistic's sums, shape (...), from an array of shape (..., n_statistics)."""
    return tuple(np.moveaxis(sums, -1, 0))


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _identity(measure: Measure) -> list[str]:
    """What tells one measure from another, in another process too: its kind and its fields."""
    fields = vars(measure).values()
    told = [field.nodes.tolist() if isinstance(field, Cut) else field for field in fields]
    return [type(measure).__name__, *map(repr, told)]
