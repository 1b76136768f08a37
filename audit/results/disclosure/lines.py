"""Parts that add up to lines, and lines that add up to a known total, in two releases.

Such are the instances with each label, and the labels at each depth. Of each there are three
counts: in the earlier release, in the later one, and what came between them. Their ranges bound a
polygon with sides in three directions only; so does the sum of several such polygons, which is
bounded by the sums of their ranges. What one can be beside all others therefore needs no linear
program.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Counts: TypeAlias = NDArray[np.int64]
"""Counts in the earlier release, in the later one, and their difference, shape (n, 3)."""
Ranges: TypeAlias = tuple[Counts, Counts]
"""Least and greatest of such counts, each of shape (n, 3)."""

Step = TypeVar("Step")


def left_possible(
    parts: Ranges, of: Counts, lines: Ranges, totals: Counts
) -> tuple[Ranges, Ranges]:
    """What each part and each line can be beside all others and the totals.

    Args:
        parts: What is known of each part by itself.
        of: Number of the line that each part belongs to, shape (n_parts,).
        lines: What is known of each line by itself; one without parts is 0.
        totals: What all lines add up to, shape (3,).
    """
    parts = _closed(parts)
    sums = _summed(parts, of, len(lines[0]))
    lines = _closed((np.maximum(lines[0], sums[0]), np.minimum(lines[1], sums[1])))
    lines = _beside(lines, np.zeros(len(lines[0]), np.int64), (totals[None], totals[None]))
    return _beside(parts, of, lines), lines


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

    Args:
        steps: What can be withheld, the least loss first.
        narrow: Whether something is narrow after some steps; more steps never make it so, and all
            of them leave nothing narrow.
    """
    first = bisect_left(range(len(steps)), True, key=lambda n: not narrow(steps[:n]))
    taken = list(steps[:first])
    for place in range(first)[::-1]:
        fewer = taken[:place] + taken[place + 1 :]
        if not narrow(fewer):
            taken = fewer
    return taken


def _summed(parts: Ranges, of: Counts, n_lines: int) -> Ranges:
    sums = np.zeros((2, n_lines, 3), np.int64)
    for its, ends in zip(sums, parts, strict=True):
        np.add.at(its, of, ends)
    return sums[0], sums[1]


def _beside(own: Ranges, of: Counts, wholes: Ranges) -> Ranges:
    """The ranges that wholes leave what adds up to them."""
    low, high = own
    least, most = _summed(own, of, len(wholes[0]))
    return _closed(
        (
            np.maximum(low, wholes[0][of] - (most[of] - high)),
            np.minimum(high, wholes[1][of] - (least[of] - low)),
        )
    )


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
