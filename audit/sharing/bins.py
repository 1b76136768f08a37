"""Bins: the classes that counts of persons are told in, and intervals of what they tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from audit.base.dag import FloatArray, IntArray
from audit.engine.statistics.intervals import (
    difference_interval,
    left_by_bins,
    newcombe,
    wilson,
)

LEAST_WIDTH = 4
FEWEST_BINS = 5
"""Of a total below so many widths no count is told; nor is a share of a smaller count."""


def width_of(min_cell: int) -> int:
    """Members of a bin: 0 where every count may be told as it is, else 4 or more.

    >>> width_of(1), width_of(3), width_of(11)
    (0, 4, 10)
    """
    return 0 if min_cell <= 1 else max(LEAST_WIDTH, min_cell - 1)


@dataclass(frozen=True, slots=True)
class Bins:
    """The classes of the counts from 0 to a total, each told as its middle, rounded down.

    They are 0 to ``width``; bins of ``width`` members from there; and the last ``width`` counts
    with the total itself. What is left below these and too short for a bin joins the bin below it.
    A width of 0 tells each count as it is.

    Args:
        width: Members of a bin.
        total: What the counts are parts of; None for labels and sums, which have no last class.

    >>> bins = Bins(10, 100)
    >>> [bins.told(n) for n in (0, 10, 11, 60, 89, 90, 100)]
    [5, 5, 15, 55, 80, 95, 95]
    >>> Bins(10, 49).told(20), Bins(0, 49).told(20), Bins(10, None).told(1234)
    (None, 20, 1235)
    """

    width: int
    total: int | None

    @property
    def tells(self) -> bool:
        """Whether counts are told at all: the total is not too small."""
        return not self.width or self.total is None or self.total >= FEWEST_BINS * self.width

    def told(self, count: int) -> int | None:
        """A count as it is told; None where none is."""
        if not self.width:
            return count
        return int(self.all_told(np.array([count]))[0]) if self.tells else None

    def all_told(self, counts: Any) -> Any:
        """Counts as they are told; an array of whole numbers, or an expression of Polars."""
        low, high = self.all_ends(counts)
        return low + (high - low) // 2

    def all_ends(self, counts: Any) -> tuple[Any, Any]:
        """Least and greatest count that are told as each of some; of what `all_told` takes."""
        b = self.width
        if not b:
            return counts, counts
        low = (counts - b - 1) // b * b + b + 1
        high = low + b - 1
        if self.total is not None:
            last = self.total - b
            joined = (last - b - 1) // b * b + 1
            high = _where(low >= joined, last - 1, high)
            low = _where(low >= joined, joined, low)
            low, high = (
                _where(counts >= last, end, one) for end, one in ((last, low), (self.total, high))
            )
        return _where(counts <= b, 0, low), _where(counts <= b, b, high)

    def at_worst(self, count: Any, other: Any) -> tuple[Any, Any]:
        """A count and what it must be large beside, as plain limits on shares read the two.

        Both are read at the ends of their classes that speak against a finding: the count at the
        least, which is 1 in the first class, the other at the greatest. So a finding is never what
        exact numbers contradict. Where no count is told, any may be small beside any other.

        >>> Bins(10, 100).at_worst(np.array([3, 25]), np.array([4, 35]))
        (array([ 1, 21]), array([10, 40]))
        """
        if not self.width:
            return count, other
        if not self.tells:
            return count * 0 + 1, other * 0 + FEWEST_BINS * self.width
        (low, _), (_, most) = self.all_ends(count), self.all_ends(other)
        return _where(low == 0, 1, low), most

    def at_limit(self, count: Any, other: Any) -> tuple[Any, Any]:
        """A count and what it must be large beside, as limits on interval ends or tests read them.

        Both are read at the middles of their classes, but one of the first class, and two of one
        class, as `at_worst`: such limits do not decide alone on what other bins hide.

        >>> Bins(10, 100).at_limit(np.array([3, 11, 15, 25]), np.array([4, 10, 18, 35]))
        (array([ 1, 15, 11, 25]), array([10, 10, 20, 35]))
        """
        worst, most = self.at_worst(count, other)
        if not (self.width and self.tells):
            return worst, most
        told, beside = self.all_told(count), self.all_told(other)
        alike = told == beside
        return (
            _where(alike | (told <= self.width), worst, told),
            _where(alike | (beside <= self.width), most, beside),
        )

    def at_upper_limit(self, part: Any, whole: Any) -> tuple[Any, Any]:
        """A part and a whole of it, as limits that their share must stay below read the two.

        >>> Bins(10, 100).at_upper_limit(np.array([3, 11, 15]), np.array([4, 18, 35]))
        (array([10, 20, 15]), array([10, 20, 35]))
        """
        whole, part = self.at_limit(whole, part)
        return part, np.maximum(whole, part)

    def few(self, told: int | None) -> bool:
        """Whether a told count is in the first class, so that it may be none."""
        return bool(self.width) and told is not None and told <= self.width

    def all_but_few(self, told: int | None) -> bool:
        """Whether a told count is in the last class, so that it may be all."""
        if not self.width or self.total is None or told is None:
            return False
        return told >= self.total - self.width

    def near_all(self, told: int) -> bool:
        """Whether a told count is in the last class, or in a bin that what was left below joined.

        >>> [Bins(10, 100).near_all(told) for told in (5, 55, 80, 95)]
        [False, False, True, True]
        """
        return told > self.width and len(range(*self.ends(told))) >= max(self.width, 1)

    def ends(self, told: int) -> tuple[int, int]:
        """Least and greatest count that are told as this number.

        >>> Bins(10, 100).ends(80), Bins(10, 100).ends(95), Bins(0, 100).ends(80)
        ((71, 89), (90, 100), (80, 80))
        """
        low, high = self.all_ends(np.array(told))
        return int(low), int(high)


def _where(holds: Any, one: Any, other: Any) -> Any:
    if isinstance(holds, pl.Expr):
        return pl.when(holds).then(one).otherwise(other)
    return np.where(holds, one, other)


Z = 1.96


class Estimates(NamedTuple):
    """Numbers with the ends of their intervals, shape (n,) each; NaN where nothing is told."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


def shares(k: FloatArray, n: FloatArray, width: int, effective: FloatArray) -> Estimates:
    """Shares of told counts, with Wilson's intervals at the n that bins leave, shape (n,).

    Args:
        k: Parts as told.
        n: Wholes as told, above k.
        width: Members of a bin.
        effective: What n weighs: itself, or the effective number of instances in groups.
    """
    q = k / n
    left = left_by_bins(q, n, width, effective)
    return Estimates(q, *wilson(q * left, left))


def differences(one: Estimates, other: Estimates) -> Estimates:
    """The first shares less the second, with intervals: distances to ends, squared and added."""
    return Estimates(one.value - other.value, *difference_interval(one, other))


def difference_at_limit(bins: Bins, k: IntArray, n: IntArray, effective: IntArray) -> float:
    """Lower end of Newcombe's interval of the first share less the second, read by `Bins.at_limit`
    and `Bins.at_upper_limit`, at the n that bins leave of each at their common share.

    Args:
        k: Parts of both, shape (2,).
        n: Wholes, same shape.
        effective: What these weigh as told, same shape.
    """
    read = bins.at_limit(k[0], n[0]), bins.at_upper_limit(k[1], n[1])
    part, whole = np.array(read, np.float64).T
    common = part.sum() / whole.sum()
    (share, other), (left, others) = (
        part / whole,
        left_by_bins(common, whole, bins.width, effective),
    )
    return newcombe(float(share), float(left), float(other), float(others))[0]


def ratios(
    observed: FloatArray,
    expected: FloatArray,
    width: int,
    supports: list[FloatArray],
    effective: FloatArray,
) -> Estimates:
    """Told counts over expected ones; bins of these and of ``supports`` widen the intervals."""
    squares = sum((1 / one**2 for one in (observed, *supports)), np.zeros(len(observed)))
    times = np.exp(Z * np.sqrt(1 / effective + width**2 / 12 * squares))
    ratio = observed / expected
    return Estimates(ratio, ratio / times, ratio * times)
