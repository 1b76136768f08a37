"""Bootstrap of examples that come in groups: whole groups are drawn, by weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.resampling import (
    REPLICATES,
    percentile_interval,
    poisson_weights,
    unit_keys,
    weighted_sums,
)

_CELLS = 2**21
"""Numbers of a table by level and replicate that are held at a time."""


@dataclass(frozen=True, eq=False)
class GroupBootstrap:
    """Examples, their groups, and how often each replicate draws a group.

    Estimates have the shape (1 + replicates, ...): the first is that of the data as they are.

    Args:
        group: Group of each example, shape (n,).
        weights: Shape (n_groups, 1 + replicates); the first column is 1.
    """

    group: IntArray
    weights: FloatArray

    def of(self, rows: IntArray | BoolArray) -> GroupBootstrap:
        """The same replicates of some of the examples."""
        return GroupBootstrap(self.group[rows], self.weights)

    @property
    def groups(self) -> int:
        """Number of groups that have an example."""
        return len(np.unique(self.group))

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums over examples of each column, shape (1 + replicates, n_columns).

        Args:
            values: Shape (n, n_columns).
        """
        present, place = np.unique(self.group, return_inverse=True)
        by_group = csr_array(
            (np.ones(len(place)), (place, np.arange(len(place)))), (len(present), len(place))
        )
        return weighted_sums(np.asarray(by_group @ values), self.weights[present])

    def by_level(
        self,
        level: IntArray,
        levels: int,
        mark: BoolArray,
        estimate: Callable[[FloatArray, FloatArray], FloatArray],
    ) -> FloatArray:
        """An estimate from the marked and the other examples at each level.

        Args:
            level: Level of each example, numbered from 0, shape (n,).
            levels: Number of levels.
            mark: Whether an example is marked, shape (n,).
            estimate: Function of their weights by level and replicate, both of shape
                (levels, some replicates), to an array of shape (n_measures, some replicates).

        Returns:
            Shape (1 + replicates, n_measures).
        """
        matrices = [self._matrix(level, levels, of) for of in (mark, ~mark)]
        parts = []
        for some in self._blocks(levels):
            marked, others = (np.asarray(matrix @ self.weights[:, some]) for matrix in matrices)
            parts.append(estimate(marked, others))
        return np.concatenate(parts, axis=1).T

    def _matrix(self, level: IntArray, levels: int, of: BoolArray) -> csr_array:
        shape = (levels, len(self.weights))
        return csr_array((np.ones(int(of.sum())), (level[of], self.group[of])), shape=shape)

    def _blocks(self, levels: int) -> Iterator[slice]:
        n, at_once = self.weights.shape[1], max(_CELLS // max(levels, 1), 1)
        return (slice(start, start + at_once) for start in range(0, n, at_once))


def group_bootstrap(
    group: IntArray, names: Sequence[str], *, replicates: int = REPLICATES
) -> GroupBootstrap:
    """A bootstrap whose weights depend on the names of groups alone.

    Args:
        group: Group of each example, shape (n,).
        names: Name of each group, shape (n_groups,).
        replicates: Number of replicates.
    """
    drawn = poisson_weights(unit_keys(names, 0), replicates)
    return GroupBootstrap(group, np.hstack([np.ones((len(names), 1)), drawn]))


def with_interval(estimates: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value and percentile interval of estimates, each of shape (...).

    Args:
        estimates: Shape (1 + replicates, ...), as `GroupBootstrap` gives them.

    Where the value is NaN, so is its interval.
    """
    low, high = percentile_interval(estimates[1:])
    undefined = np.isnan(estimates[0])
    return estimates[0], np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)
