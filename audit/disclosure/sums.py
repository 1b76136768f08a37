"""Counts that add up to counts, in two releases: what each can be beside all others.

Of each there are three counts: in the earlier release, in the later one, and what came between
them. Their ranges are followed from parts to wholes, back, and between the three, until nothing
changes. Where each count is part of one other this is all that follows from them; otherwise a
linear program could know more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Counts: TypeAlias = NDArray[np.int64]
"""Counts in the earlier release, in the later one, and their difference, shape (n, 3)."""
Ranges: TypeAlias = tuple[Counts, Counts]
"""Least and greatest of such counts, each of shape (n, 3)."""
Numbers: TypeAlias = NDArray[np.int64]

Step = TypeVar("Step")
ROUNDS = 50
"""How often ranges are followed at most; a few times are enough but where sums go in circles."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Which counts add up to which.

    Args:
        wholes: Number of the count that each sum makes up, shape (n_sums,). One count can be made
            up in several ways.
        owners: Number of the sum that each part belongs to, shape (n_parts,).
        parts: Number of the count that each part is, shape (n_parts,).
        fewer: Numbers of counts that are never more than others, shape (n_pairs,).
        more: Numbers of these others, shape (n_pairs,).
        size: Number of counts.
    """

    wholes: Numbers
    owners: Numbers
    parts: Numbers
    fewer: Numbers
    more: Numbers
    size: int

    @classmethod
    def of(
        cls,
        sums: Sequence[tuple[int, Sequence[int]]],
        at_most: Sequence[tuple[int, int]],
        size: int,
    ) -> Sums:
        """Counts with those that each is the sum of, and with those that it is at most."""
        owners = [owner for owner, (_, parts) in enumerate(sums) for _ in parts]
        return cls(
            np.array([whole for whole, _ in sums], np.int64),
            np.array(owners, np.int64),
            np.array([part for _, parts in sums for part in parts], np.int64),
            np.array([fewer for fewer, _ in at_most], np.int64),
            np.array([more for _, more in at_most], np.int64),
            size,
        )

    def left(self, ranges: Ranges, *, contained: bool) -> Ranges:
        """What each count can be beside all others; a least above its greatest where nothing can.

        Args:
            ranges: What is known of each count by itself, shape (size, 3).
            contained: Whether what came is a count of something: it is never less than none, and
                at most what came to a count that is never less.
        """
        for _ in range(ROUNDS):
            before, ranges = ranges, self._once(_closed(ranges), 2 + contained)
            if all(map(np.array_equal, before, ranges)):
                break
        return ranges

    def _once(self, ranges: Ranges, n_counted: int) -> Ranges:
        """Ranges after one look at every sum, at its whole and at each of its parts."""
        low, high = (its.copy() for its in ranges)
        least, most = (self._matrix @ its for its in ranges)
        np.maximum.at(low, self.wholes, least)
        np.minimum.at(high, self.wholes, most)
        above, below = low[self.wholes] - most, high[self.wholes] - least
        np.maximum.at(low, self.parts, above[self.owners] + ranges[1][self.parts])
        np.minimum.at(high, self.parts, below[self.owners] + ranges[0][self.parts])
        counted = np.s_[:, :n_counted]
        np.maximum.at(low[counted], self.more, ranges[0][self.fewer][counted])
        np.minimum.at(high[counted], self.fewer, ranges[1][self.more][counted])
        return low, high

    @cached_property
    def _matrix(self) -> csr_array:
        ones = np.ones(len(self.parts), np.int64)
        return csr_array((ones, (self.owners, self.parts)), shape=(len(self.wholes), self.size))


def narrower(counts: Counts, left: Ranges, free: Ranges, min_cell: int) -> NDArray[np.bool_]:
    """Whether each small count can be less than 1 to ``min_cell - 1``, and less than is possible.

    Args:
        counts: The counts; one below 0 is small where its amount is.
        left: What each can be.
        free: What each could be if as much as possible were withheld.
        min_cell: Smallest count that may be shown.
    """
    fewer = counts < 0
    (low, high), (least, most) = (
        (np.where(fewer, -ends[1], ends[0]), np.where(fewer, -ends[0], ends[1]))
        for ends in (left, free)
    )
    small = (counts != 0) & (np.abs(counts) < min_cell)
    narrow = (low > np.maximum(1, least)) | (high < np.minimum(min_cell - 1, most))
    return np.asarray(small & narrow, np.bool_)


def fewest(steps: Sequence[Step], narrow: Callable[[Sequence[Step]], bool]) -> list[Step]:
    """The first steps until nothing is narrow, without those that are in vain.

    Of n steps of which k are needed it asks about k log n times.

    Args:
        steps: What can be withheld, the least loss first.
        narrow: Whether something is narrow after some steps; more steps never make it so, and all
            of them leave nothing narrow.
    """
    if not narrow([]):
        return []
    first = bisect_left(range(len(steps)), True, lo=1, key=lambda n: not narrow(steps[:n]))
    return _needed([], steps[:first], [], narrow)


def _needed(
    before: Sequence[Step],
    steps: Sequence[Step],
    after: Sequence[Step],
    narrow: Callable[[Sequence[Step]], bool],
) -> list[Step]:
    """The steps that are needed between others, if the last is tried without first."""
    if not narrow([*before, *after]):
        return []
    if len(steps) == 1:
        return list(steps)
    half = len(steps) // 2
    later = _needed([*before, *steps[:half]], steps[half:], after, narrow)
    return _needed(before, steps[:half], [*later, *after], narrow) + later


def _closed(ranges: Ranges) -> Ranges:
    """Ranges of two counts and their difference, each as narrow as the other two leave it."""
    (before, now, came), (before_most, now_most, came_most) = (ends.T for ends in ranges)
    low = (
        np.maximum(before, now - came_most),
        np.maximum(now, before + came),
        np.maximum(came, now - before_most),
    )
    high = (
        np.minimum(before_most, now_most - came),
        np.minimum(now_most, before_most + came_most),
        np.minimum(came_most, now_most - before),
    )
    return np.stack(low, axis=1), np.stack(high, axis=1)
