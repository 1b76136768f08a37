"""Suppression of a finding's breakdown, whose lines could be derived from the finding's counts.

A line is a count of instances. The sum of all lines is at least the size of their union, since an
instance can be in several lines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from audit.disclosure.quantity import Shown, is_small

_Range = tuple[float, float]


def suppress_breakdown(
    parts: Sequence[int],
    alone: Sequence[Shown],
    min_cell: int,
    *,
    unseen: int = 0,
    made_up: Shown = None,
    summed: Sequence[Shown] = (),
    exempt: Sequence[int] = (),
    at_most: Sequence[Shown] = (),
    beyond: float = math.inf,
) -> tuple[list[Shown], bool]:
    """Suppress the lines of a breakdown, given each other and the finding's own counts.

    The smallest exact lines are withheld one by one, then bounds are loosened, until each small
    line can be anything from 1 to ``min_cell - 1``, or the part of that range that the finding's
    own counts allow.

    Args:
        parts: The lines, largest first.
        alone: Each line as it may be shown alone.
        min_cell: Smallest count that may be shown.
        unseen: Number of lines not shown, none larger than the smallest line shown.
        made_up: Size of the union of all lines, as shown.
        summed: Sums of all lines, as shown.
        exempt: Sums of all lines that are always shown exactly.
        at_most: The most that each line can be by other numbers; None where they say nothing.
        beyond: By how much the sum of all lines can exceed the size of their union.

    Returns:
        The lines, and whether the range of a small one is still narrower: then the counts that
        the lines sum to must be withheld.

    >>> suppress_breakdown([20, 20, 5], [20, 20, "<11"], 11, made_up=45)
    (['>10', 20, '<11'], False)
    >>> suppress_breakdown([7], ["<11"], 11, unseen=1, summed=[12])
    (['<11'], True)
    """
    shown = list(alone)
    sums = [total for total in summed if isinstance(total, int)]
    if any(total == f"<{min_cell}" for total in summed) and len(parts) + unseen > 1:
        return shown, True
    union = made_up if isinstance(made_up, int) else 0
    beyond += range_of(made_up)[1] if made_up else math.inf
    most = [one if isinstance(one, int) else math.inf for one in at_most or [None] * len(parts)]
    while _narrow(parts, _ranges(shown, most, unseen), union, beyond, sums, exempt, min_cell):
        lines = zip(parts, shown, range(len(parts)), strict=True)
        tight = [
            (isinstance(line, str), n, i) for n, line, i in lines if n >= min_cell and line != ">0"
        ]
        if not tight:
            return shown, True
        *_, chosen = min(tight)
        floor = f">{min_cell - 1}"
        shown[chosen] = ">0" if shown[chosen] == floor else floor
    return shown, False


def _narrow(
    parts: Sequence[int],
    ranges: Sequence[_Range],
    union: int,
    at_most: float,
    sums: Sequence[int],
    exempt: Sequence[int],
    min_cell: int,
) -> bool:
    """Whether a small line that is withheld cannot be all that it could be by itself."""
    low, high = (sum(ends) for ends in zip(*ranges, strict=True)) if ranges else (0.0, 0.0)
    least = max([union, *sums, *exempt])
    most = min([at_most, *sums, *exempt])
    freely = min(exempt, default=math.inf) - (len(ranges) - 1)
    for part, (own_low, own_high) in zip(parts, ranges, strict=False):
        if own_low == own_high or not is_small(part, min_cell):
            continue
        others_high = math.inf if math.isinf(high) else high - own_high
        alone = min(own_high, freely)
        if least - others_high > own_low or most - (low - own_low) < alone:
            return True
    return False


def _ranges(shown: Sequence[Shown], most: Sequence[float], unseen: int) -> list[_Range]:
    """Least and most of each line; one that is not shown is at most as large as each that is."""
    ranges = [range_of(value) for value in shown]
    largest = min((high for _, high in ranges), default=math.inf)
    own = [(low, min(high, end)) for (low, high), end in zip(ranges, most, strict=True)]
    return own + [(1.0, largest)] * unseen


def range_of(shown: Shown | _Range) -> _Range:
    """The least and the most of a line as it is shown."""
    if isinstance(shown, tuple):
        return shown
    if isinstance(shown, int):
        return shown, shown
    if isinstance(shown, str) and shown[0] == "<":
        return 1, int(shown[1:]) - 1
    return (int(shown[1:]) + 1 if isinstance(shown, str) else 0), math.inf
