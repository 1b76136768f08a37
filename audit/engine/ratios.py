"""Observed over expected joint instances of a pair: intervals, and the ratio without some of them.

The spread of a ratio is the standard deviation of its logarithm. Percentiles of a few hundred
resamples say nothing at the levels that correct for selection; a normal quantile of the spread
does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtri

from audit.engine.expectation import NO_PARENT, Comparisons, Margins, joint_expected
from audit.engine.records import Records
from audit.engine.stratified import Stratified

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]


def ratio_bounds(ratio: float, spread: float, level: float) -> tuple[float, float]:
    """Interval of a ratio, symmetric in its logarithm; (0, infinity) where the spread is infinite.

    >>> [round(bound, 3) for bound in ratio_bounds(2.0, 0.5, 0.95)]
    [0.751, 5.329]
    """
    if not math.isfinite(spread):
        return 0.0, math.inf
    reach = math.exp(float(ndtri((1 + level) / 2)) * spread)
    return ratio / reach, ratio * reach


def joint_spread(records: Records, rows: IntArray) -> float:
    """Spread of a number of joint instances that come in groups, their expectation being known.

    That of a Poisson number of groups: ``sqrt(sum of squared counts) / count``. One over the
    root of the instances where each is its own group, 1 where all are of one; infinite for none.

    Args:
        records: The dataset.
        rows: Positions of the joint instances, ascending.
    """
    if not len(rows):
        return math.inf
    counts = np.diff(np.flatnonzero(np.diff(records.group[rows], prepend=-1, append=-1)))
    return float(np.sqrt((counts.astype(np.float64) ** 2).sum()) / len(rows))


def poisson_spread(count: float) -> float:
    """Spread of a number of joint instances each of which stands alone; infinite for none.

    >>> poisson_spread(16)
    0.25
    """
    return math.sqrt(count) / count if count > 0 else math.inf


@dataclass(frozen=True, eq=False)
class Resamples:
    """Weights of instances in each bootstrap replicate, and the size of each stratum in it.

    Args:
        weights: Shape (n_records, replicates), equal within a group.
        size: Shape (n_strata, replicates).
    """

    weights: FloatArray
    size: FloatArray


def resamples(strata: Stratified, records: Records, weights: FloatArray) -> Resamples:
    """Resamples from weights of the records, shape (n_records, replicates)."""
    return Resamples(weights, _by_stratum(strata, records, np.arange(len(records)), weights))


def resampled_spread(
    strata: Stratified, records: Records, given: Comparisons, drawn: Resamples
) -> float:
    """Spread of the ratio of one comparison over replicates, at least that of its joint instances.

    A replicate without a joint or an expected instance has no ratio and is left out; the floor
    keeps tiny counts from too narrow an interval. `Stratified.free` is held fixed.

    Args:
        strata: The dataset.
        records: Its instances.
        given: One comparison.
        drawn: From `resamples`.
    """
    a, b, parent_a, parent_b = (
        int(column[0]) for column in (given.a, given.b, given.parent_a, given.parent_b)
    )
    joint = records.joint(a, b)
    lengthwise = parent_a == NO_PARENT
    rows = records.given(parent_a, parent_b)

    def weighed(node: int) -> FloatArray:
        carrying = records.carrying(node)
        within = carrying if lengthwise else np.intersect1d(carrying, rows, assume_unique=True)
        return _by_stratum(strata, records, within, drawn.weights)

    n = drawn.size if lengthwise else _by_stratum(strata, records, rows, drawn.weights)
    free = strata.free[:, None] if lengthwise else math.inf
    expected = joint_expected(Margins(n, weighed(a), weighed(b)), free).sum(axis=0)
    observed = drawn.weights[joint].sum(axis=0)
    defined = (observed > 0) & (expected > 0)
    logarithms = np.log(observed[defined] / expected[defined])
    resampled = float(np.std(logarithms, ddof=1)) if len(logarithms) > 1 else 0.0
    return max(resampled, joint_spread(records, joint))


def _by_stratum(
    strata: Stratified, records: Records, rows: IntArray, weights: FloatArray
) -> FloatArray:
    shape = (len(strata.size), len(records))
    member = csr_array((np.ones(len(rows)), (records.stratum[rows], rows)), shape=shape)
    return np.asarray(member @ weights)


@dataclass(frozen=True, eq=False)
class Ratio:
    """A ratio and its spread; 0 and infinite where nothing is left to observe."""

    value: float
    spread: float


def ratio_without(
    strata: Stratified,
    records: Records,
    table: Margins,
    *,
    by_length: bool,
    joint: IntArray,
    left_out: IntArray,
) -> Ratio:
    """The ratio of a pair measured again without some of its joint instances.

    An instance left out carries both nodes, so it leaves every margin of its stratum.

    Args:
        strata: The dataset.
        records: Its instances.
        table: Margins of the pair's comparison, shape (n_strata,).
        by_length: Whether it is given length.
        joint: Positions of the joint instances, ascending.
        left_out: Those of them to leave out, ascending.
    """
    gone = np.bincount(records.stratum[left_out], minlength=len(strata.size))
    remaining = Margins(table.n - gone, table.first - gone, table.second - gone)
    free = strata.free if by_length else math.inf
    expected = float(joint_expected(remaining, free).sum())
    rows = np.setdiff1d(joint, left_out, assume_unique=True)
    if not len(rows) or expected == 0:
        return Ratio(0.0, math.inf)
    return Ratio(len(rows) / expected, joint_spread(records, rows))
