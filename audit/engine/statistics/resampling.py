"""Bootstrap weights that depend only on ids of units, not on order or batch; also of groups."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, UIntArray
from audit.engine.statistics.intervals import LEVEL

REPLICATES = 200
"""Number of bootstrap replicates behind an interval."""

_PRODUCTS_AT_ONCE = 2**17
"""Products of two numbers up to which a product of matrices is not divided among threads."""

_STEP = 0x9E3779B97F4A7C15
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


def unit_keys(units: Sequence[str], seed: int) -> UIntArray:
    """A 64-bit key for each unit id, equal for equal ids and seeds, shape (n,).

    Args:
        units: Id of the unit of each instance, that is its group, or the instance itself.
        seed: Any integer.

    Each different id is hashed once (BLAKE2b).
    """
    salt = f"{seed}\0".encode()
    keys = {
        unit: int.from_bytes(
            hashlib.blake2b(salt + unit.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        )
        for unit in set(units)
    }
    return np.fromiter((keys[unit] for unit in units), np.uint64, len(units))


def poisson_weights(keys: UIntArray, replicates: int = REPLICATES) -> FloatArray:
    """Number of times that each unit is drawn into each replicate: Poisson with mean 1.

    The Poisson bootstrap: sums over instances with these weights are bootstrap sums, which can be
    added up over batches. A weight depends only on key and replicate (SplitMix64, inverted).

    Args:
        keys: From `unit_keys`, shape (n,).
        replicates: Number of replicates; a larger number begins with the same ones.

    Returns:
        Whole numbers, shape (n, replicates).
    """
    steps = np.arange(1, replicates + 1, dtype=np.uint64) * np.uint64(_STEP)
    return np.searchsorted(_THRESHOLDS, mixed(keys[:, None] + steps), "right").astype(np.float64)


def weighted_sums(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Sums over units of each column by each of several weights, of the same bytes on any cores.

    BLAS divides a large product of matrices among threads, which changes last digits; a product of
    few units is one thread's, and these are added in order.

    Args:
        values: Shape (n, n_columns).
        weights: Shape (n, n_weights).

    Returns:
        Shape (n_weights, n_columns), all 0 without units.
    """
    sums = np.zeros((weights.shape[1], values.shape[1]))
    at_once = max(_PRODUCTS_AT_ONCE // max(sums.size, 1), 1)
    for start in range(0, len(values), at_once):
        block = slice(start, start + at_once)
        sums += weights[block].T @ values[block]
    return sums


def mixed(state: UIntArray) -> UIntArray:
    """Numbers that look random, from numbers that may be close to each other (SplitMix64).

    The array is overwritten; different numbers stay different.
    """
    for shift, factor in _MIX:
        state ^= state >> np.uint64(shift)
        state *= np.uint64(factor)
    return state


def _poisson_thresholds() -> UIntArray:
    """Cumulated probabilities of Poisson(1), as 64-bit whole numbers."""
    terms = [math.exp(-1) / math.factorial(k) for k in range(17)]
    cumulated = [int(math.fsum(terms[: k + 1]) * 2**64) for k in range(len(terms))]
    return np.array([bound for bound in cumulated if bound < 2**64], np.uint64)


_THRESHOLDS = _poisson_thresholds()


def percentile_interval(estimates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Percentile interval of bootstrap estimates at 95 %, along the first axis.

    Args:
        estimates: Shape (replicates, ...); NaN where the estimate of a replicate is undefined.

    Returns:
        Lower and upper bounds, shape (...): percentiles of the defined replicates, with linear
        interpolation; NaN where none is defined.
    """
    if not len(estimates):
        missing = np.full(estimates.shape[1:], np.nan)
        return missing, missing
    ordered = np.sort(estimates, axis=0)
    last = np.maximum(np.sum(~np.isnan(estimates), axis=0) - 1, 0)
    return _quantile(ordered, last, (1 - LEVEL) / 2), _quantile(ordered, last, (1 + LEVEL) / 2)


def _quantile(ordered: FloatArray, last: NDArray[np.int64], q: float) -> FloatArray:
    """Quantile q along the first axis, which is sorted, of the values at 0 to ``last``."""
    place = q * last
    lower = np.floor(place).astype(np.int64)
    upper = np.minimum(lower + 1, last)
    left = np.take_along_axis(ordered, lower[None], axis=0)[0]
    right = np.take_along_axis(ordered, upper[None], axis=0)[0]
    result: FloatArray = left + (right - left) * (place - lower)
    return result


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
        """Some of the examples, with the replicates of all."""
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
            mark: Whether an example is marked, shape (n,).
            estimate: Function of their weights by level and replicate, both of shape
                (levels, some replicates), to an array of shape (n_measures, some replicates).

        Returns:
            Shape (1 + replicates, n_measures).
        """
        matrices = [self._matrix(level, levels, of) for of in (mark, ~mark)]
        parts = []
        for some in self._replicate_blocks(levels):
            marked, others = (np.asarray(matrix @ self.weights[:, some]) for matrix in matrices)
            parts.append(estimate(marked, others))
        return np.concatenate(parts, axis=1).T

    def _matrix(self, level: IntArray, levels: int, kept: BoolArray) -> csr_array:
        """Number of kept examples of each level and group, shape (levels, n_groups)."""
        shape, each = (levels, len(self.weights)), (level[kept], self.group[kept])
        return csr_array((np.ones(int(kept.sum())), each), shape=shape)

    def _replicate_blocks(self, levels: int) -> Iterator[slice]:
        n, at_once = self.weights.shape[1], max(_CELLS // max(levels, 1), 1)
        return (slice(start, start + at_once) for start in range(0, n, at_once))


def group_bootstrap(
    group: IntArray, names: Sequence[str], *, replicates: int = REPLICATES
) -> GroupBootstrap:
    """A bootstrap whose weights depend on the names of groups alone.

    Args:
        group: Group of each example, shape (n,).
        names: Name of each group, shape (n_groups,).
    """
    drawn = poisson_weights(unit_keys(names, 0), replicates)
    return GroupBootstrap(group, np.hstack([np.ones((len(names), 1)), drawn]))


def with_interval(estimates: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value and percentile interval of estimates, each of shape (...); NaN where the value is.

    Args:
        estimates: Shape (1 + replicates, ...), as `GroupBootstrap` gives them.
    """
    low, high = percentile_interval(estimates[1:])
    undefined = np.isnan(estimates[0])
    return estimates[0], np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)
