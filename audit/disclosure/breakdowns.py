"""Suppression of a finding's breakdown, whose lines could be derived from the finding's counts.

A line is a count of instances. The sum of all lines is at least the size of their union, since an
instance can be in several lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from audit.base.dag import BoolArray, IntArray
from audit.disclosure.quantity import Shown, is_small, shown_parts

_Range = tuple[float, float]
_NEAR = 1e-6
"""How far an end of a range may be off."""


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
    beyond += _range(made_up)[1] if made_up else math.inf
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
    ranges = [_range(value) for value in shown]
    largest = min((high for _, high in ranges), default=math.inf)
    own = [(low, min(high, end)) for (low, high), end in zip(ranges, most, strict=True)]
    return own + [(1.0, largest)] * unseen


def _range(shown: Shown) -> _Range:
    if isinstance(shown, int):
        return shown, shown
    if isinstance(shown, str) and shown[0] == "<":
        return 1, int(shown[1:]) - 1
    return (int(shown[1:]) + 1 if isinstance(shown, str) else 0), math.inf


Cells: TypeAlias = Mapping[tuple[str | None, ...], int]
Value: TypeAlias = tuple[int | str, str]
"""A column, by its place, and one of its values; or a finding, by its id, and one of its counts."""
Told: TypeAlias = Mapping[Value, Shown]
Show: TypeAlias = Callable[[Collection[Value]], Told]
"""Gives counts as they are shown where some of them are withheld."""


def shown_in_columns(cells: Cells, min_cell: int) -> list[dict[str, Shown]]:
    """Instances of each value of several columns, whose values may lie within each other's.

    Wards of a site add up to it; `shown_within` protects them together. What is withheld is null.

    Args:
        cells: Instances by their values, one for each column; None where there is none.
        min_cell: Smallest count that may be shown.

    >>> wards = {("x", "x1"): 40, ("x", "x2"): 30, ("x", "x3"): 5, ("y", "y1"): 60, ("y", "y2"): 50}
    >>> shown_in_columns(wards, 11)[1]
    {'x1': 40, 'x2': None, 'x3': '<11', 'y1': 60, 'y2': 50}
    """
    sizes = np.array([*cells.values()])
    columns = range(len(next(iter(cells), ())))
    has: dict[Value, BoolArray] = {
        (column, value): np.array([one[column] == value for one in cells])
        for column in columns
        for value in sorted({one[column] or "" for one in cells if one[column] is not None})
    }
    shown = shown_within(has, sizes, partial(values_shown, has, sizes, min_cell), min_cell)
    return [{v: shown[c, v] for c, v in has if c == column} for column in columns]


def values_shown(
    has: Mapping[Value, BoolArray], sizes: IntArray, min_cell: int, withheld: Collection[Value]
) -> dict[Value, Shown]:
    """The values of each column as lines of their sum, some of them withheld."""
    shown = dict[Value, Shown]()
    for column in {column for column, _ in has}:
        own = [value for value in has if value[0] == column]
        places = [place for place, value in enumerate(own) if value in withheld]
        parts = [int(sizes @ has[value]) for value in own]
        shown |= zip(own, shown_parts(parts, min_cell, places), strict=True)
    return shown


def shown_within(
    has: Mapping[Value, BoolArray],
    sizes: IntArray,
    show: Show,
    min_cell: int,
    totals: Sequence[BoolArray] = (),
) -> Told:
    """Counts of sets that may lie within each other, as they are shown together.

    Each small count, and of few instances of a set outside another one that has nearly all of
    them, can be anything from 1 to ``min_cell - 1`` by all that is shown, also for whoever knows
    which sets meet; or as near to it as withholding can bring it. The smallest exact count that a
    linear program leans on is withheld; in the end the largest are shown again that nothing needs.

    Args:
        has: Which cells each set holds, shape (n_cells,).
        sizes: Instances of each cell, shape (n_cells,).
        show: Gives the counts as they are shown where some are withheld.
        min_cell: Smallest count that may be shown.
        totals: Sets whose counts are known, beside all.
    """
    known, withheld = [np.ones(len(sizes), np.bool_), *totals], dict[Value, BoolArray]()
    small = list(_small(has, sizes, min_cell)) if len({column for column, _ in has}) > 1 else []
    reader = partial(_reach, has=has, sizes=sizes, known=known, min_cell=min_cell)
    before, shown = -1, show(())
    while before != len(withheld):
        before = len(withheld)
        for target in small:
            while told := {one for _, leaned in reader(target, shown) for one in leaned}:
                withheld[min(told, key=lambda one: (sizes @ has[one], one))] = target
                shown = show(withheld)
    gaps = [[gap for gap, _ in reader(target, shown)] for target in small]
    for value in sorted(withheld, key=lambda one: (-(sizes @ has[one]), one)):
        fewer = {one: why for one, why in withheld.items() if one != value}
        again = show(fewer)
        first = next(i for i, target in enumerate(small) if target is withheld[value])
        order = sorted(range(len(small)), key=lambda i: i != first)
        needed = any(
            gap > max(own, 0.0) + _NEAR
            for i in order
            for (gap, _), own in zip(reader(small[i], again), gaps[i], strict=True)
        )
        withheld, shown = (withheld, shown) if needed else (fewer, again)
    return shown


def _small(has: Mapping[Value, BoolArray], sizes: IntArray, min_cell: int) -> Iterator[BoolArray]:
    """Cells of each value of few instances, and of those that few of one have outside another."""
    for own in has.values():
        if is_small(int(sizes @ own), min_cell):
            yield own
    for (one, _), own in has.items():
        for (other, _), theirs in has.items():
            outside = own & ~theirs
            if one != other and own[theirs].any() and is_small(int(sizes @ outside), min_cell):
                yield outside


def _reach(
    target: BoolArray,
    shown: Told,
    *,
    has: Mapping[Value, BoolArray],
    sizes: IntArray,
    known: Sequence[BoolArray],
    min_cell: int,
) -> Iterator[tuple[float, list[Value]]]:
    """By how much each end of a small count falls short, and the exact values that make it."""
    from scipy.optimize import linprog

    exact = {value: one for value, one in shown.items() if isinstance(one, int)}
    ranges = [(has[value], *_range(one)) for value, one in shown.items() if isinstance(one, str)]
    rows = [(row.astype(float), high) for row, _, high in ranges if high < math.inf]
    rows += [(-row.astype(float), -low) for row, low, _ in ranges]
    for sign, end in ((1.0, 1), (-1.0, 1 - min_cell)):
        found = linprog(
            sign * target,
            np.vstack([row for row, _ in rows]) if rows else None,
            [high for _, high in rows] or None,
            np.vstack([*known, *(has[value] for value in exact)]),
            [*(float(sizes @ total) for total in known), *exact.values()],
        )
        gap = found.fun - end if found.status == 0 and found.fun is not None else 0.0
        weights = found.eqlin.marginals[len(known) :] if gap > _NEAR else ()
        yield gap, [value for value, weight in zip(exact, weights, strict=False) if weight]
