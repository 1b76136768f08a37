"""Lines that add up to a known total in two releases, such as labels by depth.

Of each line there are three counts: in the earlier release, in the later one, and what came between
them. Their ranges bound a polygon with sides in three directions only; so does the sum of several
such polygons, which is bounded by the sums of their ranges. What a line can be beside all others
therefore needs no linear program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from audit.results.disclosure.quantity import is_small

Ends: TypeAlias = tuple[int, int]
Ranges: TypeAlias = tuple[Ends, Ends, Ends]
"""Least and greatest count in the earlier release, in the later one, and of what came."""


@dataclass(frozen=True)
class Line:
    """A line of two releases.

    Args:
        counts: Its count in the earlier release, in the later one, and their difference.
        told: What readers know of these, taken by themselves.
        free: What they know if the later count is withheld; the same where it is so already, or
            cannot be.
    """

    counts: tuple[int, int, int]
    told: Ranges
    free: Ranges


def to_withhold(lines: Sequence[Line], totals: tuple[int, int], min_cell: int) -> list[int]:
    """Lines whose later count tells a small one of another line together with the totals.

    Protected are small counts of either release, small differences, and what is left of the totals
    and of their difference where that is small.

    Args:
        lines: The lines; exact counts are withheld first, and the smallest first.
        totals: What the lines add up to in the earlier release and in the later one.
        min_cell: Smallest count that may be shown.

    Returns:
        Their places, ascending: as few that none could be shown again. Ranges that remain narrower
        are those that are left with every later count withheld.
    """
    sums = (*totals, totals[1] - totals[0])
    goal = left_possible([line.free for line in lines], sums)
    withheld: list[int] = []

    def narrow(places: Sequence[int]) -> bool:
        ranges = [line.free if i in places else line.told for i, line in enumerate(lines)]
        found = left_possible(ranges, sums)
        return any(
            _narrower(count, ends, free, min_cell)
            or _narrower(*_rest(total, count, ends, free), min_cell)
            for line, its, free_ in zip(lines, found, goal, strict=True)
            for total, count, ends, free in zip(sums, line.counts, its, free_, strict=True)
        )

    for place in sorted(range(len(lines)), key=lambda i: _order(lines[i])):
        if not narrow(withheld):
            break
        if lines[place].told != lines[place].free:
            withheld.append(place)
    for place in withheld[::-1]:
        fewer = [other for other in withheld if other != place]
        if not narrow(fewer):
            withheld = fewer
    return sorted(withheld)


def left_possible(lines: Sequence[Ranges], totals: tuple[int, int, int]) -> list[Ranges]:
    """What each line can be beside all others and the totals."""
    closed = [_closed(*line) for line in lines]
    sums = [
        (sum(low for low, _ in column), sum(high for _, high in column))
        for column in zip(*closed, strict=True)
    ]
    return [
        _closed(*(_beside(*told) for told in zip(line, sums, totals, strict=True)))
        for line in closed
    ]


def _order(line: Line) -> tuple[bool, int]:
    least, most = line.told[1]
    return least < most, line.counts[1]


def _beside(own: Ends, sums: Ends, total: int) -> Ends:
    """The range that a total leaves a line, where lines add up to these sums."""
    low, high = own
    return max(low, total - (sums[1] - high)), min(high, total - (sums[0] - low))


def _closed(before: Ends, now: Ends, came: Ends) -> Ranges:
    """Ranges of two counts and their difference, each as narrow as the other two leave it."""
    return (
        (max(before[0], now[0] - came[1]), min(before[1], now[1] - came[0])),
        (max(now[0], before[0] + came[0]), min(now[1], before[1] + came[1])),
        (max(came[0], now[0] - before[1]), min(came[1], now[1] - before[0])),
    )


def _rest(total: int, count: int, ends: Ends, free: Ends) -> tuple[int, Ends, Ends]:
    """The same of all other lines together."""
    return total - count, (total - ends[1], total - ends[0]), (total - free[1], total - free[0])


def _narrower(count: int, ends: Ends, free: Ends, min_cell: int) -> bool:
    """Whether a small count is left less than 1 to ``min_cell - 1``, and less than is possible."""
    (low, high), (least, most) = ends, free
    if count < 0:
        low, high, least, most = -high, -low, -most, -least
    narrow = low > max(1, least) or high < min(min_cell - 1, most)
    return narrow and is_small(abs(count), min_cell)
