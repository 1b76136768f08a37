"""Lines of a finding beside its own counts: what they sum to, or make up, tells of the small ones.

A line is a count of instances. All lines together are at least what they make up, as an instance
can be in several, and exactly what they sum to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from audit.results.disclosure.quantity import Shown, is_small

_Range = tuple[float, float]


def opened_parts(
    parts: Sequence[int],
    told: Sequence[Shown],
    min_cell: int,
    *,
    unseen: int = 0,
    made_up: Shown = None,
    summed: Sequence[Shown] = (),
    exempt: Sequence[int] = (),
) -> tuple[list[Shown], bool]:
    """Lines as they may stand beside each other and the finding's own counts.

    The smallest exact line is withheld, then bounds are loosened, until each small one can be
    anything from 1 to ``min_cell - 1``, or what the finding's own counts alone leave of that.

    Args:
        parts: The lines, largest first.
        told: Each as it may be shown alone.
        min_cell: Smallest count that may be shown.
        unseen: Lines that are not shown, none larger than the smallest that is.
        made_up: What all lines together make up, as it is shown.
        summed: What all lines sum to, as it is shown.
        exempt: The same where it is a total that is always shown.

    Returns:
        The lines, and whether a small one is still narrower than that: then the counts that they
        sum to must be withheld.

    >>> opened_parts([20, 20, 5], [20, 20, "<11"], 11, made_up=45)
    (['>10', 20, '<11'], False)
    >>> opened_parts([7], ["<11"], 11, unseen=1, summed=[12])
    (['<11'], True)
    """
    shown = list(told)
    sums = [total for total in summed if isinstance(total, int)]
    if any(total == f"<{min_cell}" for total in summed) and len(parts) + unseen > 1:
        return shown, True
    union = made_up if isinstance(made_up, int) else 0
    while _narrow(parts, shown, unseen, union, sums, exempt, min_cell):
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
    shown: Sequence[Shown],
    unseen: int,
    union: int,
    sums: Sequence[int],
    exempt: Sequence[int],
    min_cell: int,
) -> bool:
    """Whether a small line that is withheld cannot be all that it could be by itself."""
    ranges = [_range(value) for value in shown]
    largest = min((high for _, high in ranges), default=math.inf)
    ranges += [(1.0, largest)] * unseen
    low, high = (sum(ends) for ends in zip(*ranges, strict=True)) if ranges else (0.0, 0.0)
    least = max([union, *sums, *exempt])
    most = min([*sums, *exempt], default=math.inf)
    freely = min(exempt, default=math.inf) - (len(ranges) - 1)
    for part, (own_low, own_high) in zip(parts, ranges, strict=False):
        if own_low == own_high or not is_small(part, min_cell):
            continue
        others_high = math.inf if math.isinf(high) else high - own_high
        alone = min(own_high, freely)
        if least - others_high > own_low or most - (low - own_low) < alone:
            return True
    return False


def _range(shown: Shown) -> _Range:
    if isinstance(shown, int):
        return shown, shown
    if isinstance(shown, str) and shown[0] == "<":
        return 1, int(shown[1:]) - 1
    return (int(shown[1:]) + 1 if isinstance(shown, str) else 0), math.inf
