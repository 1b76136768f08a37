"""Suppression of a finding's breakdown, whose lines could be derived from the finding's counts.

A line is a count of instances. The sum of all lines is at least the size of their union, since an
instance can be in several lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from audit.base.dag import BoolArray, FloatArray, IntArray
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


Value: TypeAlias = tuple[int | str, str]
"""A column, by its place or name, and one of its values; or a finding, by its id, and one of its
counts."""
Told: TypeAlias = Mapping[Value, Shown]
Show: TypeAlias = Callable[[Collection[Value]], Told]
"""Gives counts as they are shown where some of them are withheld."""


class Before(NamedTuple):
    """Counts of an earlier release, as they are and as it shows them, and of all its instances."""

    counts: Mapping[Value, int]
    shown: Told
    total: int | None = None


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
    earlier: Iterable[Before] = (),
) -> Told:
    """Counts of sets that may lie within each other, as they are shown together.

    Each small count, and of few instances of a set outside another one that has nearly all of
    them, can be anything from 1 to ``min_cell - 1`` by all that is shown, also for whoever knows
    which sets meet; or as near to it as withholding can bring it. A small difference from an
    earlier release can be anything from 0, where that may be part of this one; else it is not told
    exactly. The smallest exact count that a linear program leans on is withheld; in the end the
    largest are shown again that nothing needs.

    Args:
        has: Which cells each set holds, shape (n_cells,).
        sizes: Instances of each cell, shape (n_cells,).
        show: Gives the counts as they are shown where some are withheld.
        min_cell: Smallest count that may be shown.
        totals: Sets whose counts are known, beside all.
        earlier: The same sets in earlier releases.
    """
    counts = {value: int(sizes @ own) for value, own in has.items()}
    known = [(row, float(sizes @ row)) for row in (np.ones(len(sizes), np.bool_), *totals)]
    alone = _Reader(has, counts, known)
    ends = 1, min_cell - 1
    small = _small(has, sizes, min_cell) if len({column for column, _ in has}) > 1 else ()
    targets = [_Target(alone, row, ends) for row in small]
    for one in earlier:
        targets += _came(_Reader(has, counts, known, one), min_cell)
    told = [value for value, n in show(()).items() if isinstance(n, int)]
    certain = {target.value: target for target in targets if target.value in told}
    withheld, before, shown = dict(certain), -1, show(certain)
    while before != len(withheld):
        before = len(withheld)
        for target in targets:
            while leaned := {one for _, its in target.reach(shown) for one in its}:
                withheld[min(leaned, key=lambda one: (counts[one], one))] = target
                shown = show(withheld)
    gaps = [[gap for gap, _ in target.reach(shown)] for target in targets]
    for value in sorted(withheld.keys() - certain, key=lambda one: (-counts[one], one)):
        fewer = {one: why for one, why in withheld.items() if one != value}
        again = show(fewer)
        first = next(i for i, target in enumerate(targets) if target is withheld[value])
        order = sorted(range(len(targets)), key=lambda i: i != first)
        needed = any(
            gap > max(own, 0.0) + _NEAR
            for i in order
            for (gap, _), own in zip(targets[i].reach(again), gaps[i], strict=True)
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


def _came(reader: _Reader, min_cell: int) -> Iterator[_Target]:
    """Counts that differ by a small cell from an earlier release."""
    for value, came in reader.came.items():
        if is_small(abs(came), min_cell):
            ends = (0, min_cell - 1) if came > 0 else (1 - min_cell, 0)
            told = reader.then is not None and isinstance(reader.then.shown.get(value), int)
            yield _Target(reader, reader.has[value], ends, value if told else None)


@dataclass(frozen=True, eq=False)
class _Reader:
    """Whoever knows counts of sets, and perhaps of an earlier release.

    Args:
        known: Sets whose counts are known anyway, and these.
        then: The earlier release; then each cell has what it had there, and what came to it since.
        told: What was told last.
    """

    has: Mapping[Value, BoolArray]
    counts: Mapping[Value, int]
    known: Sequence[tuple[BoolArray, float]]
    then: Before | None = None
    told: list[_Lines] = field(default_factory=list)

    @property
    def came(self) -> dict[Value, int]:
        """By how many each count has grown."""
        then = self.then.counts if self.then else {}
        return {value: n - then[value] for value, n in self.counts.items() if value in then}

    @cached_property
    def _contained(self) -> bool:
        """Whether the release may contain the earlier one."""
        grown = min(self.came.values(), default=0) >= 0
        return self.then is None or (grown and all(one in self.has for one in self.then.counts))

    def row(self, cells: BoolArray) -> FloatArray:
        """The instances of cells, those that came and those before."""
        return np.hstack([cells.astype(float)] * (1 if self.then is None else 2))

    def reach(
        self, target: BoolArray, ends: tuple[int, int], shown: Told
    ) -> list[tuple[float, list[Value]]]:
        """By how much each end of a small number falls short, and the exact values that make it.

        The number is of those that came, if there is an earlier release.
        """
        if not self.told or self.told[-1].shown is not shown:
            points = [point for one in self.told for point in one.points]
            self.told[:] = [_Lines(self, shown, points)]
        lines = self.told[-1]
        found = lines.least(target, ends) if self._contained else None
        return lines.spanned(target, ends) if found is None else found

    @cached_property
    def before(self) -> list[tuple[FloatArray, float, float]]:
        """What the earlier release tells of the cells."""
        if self.then is None:
            return []
        sets = [(self.has[one], *_range(n)) for one, n in self.then.shown.items() if n is not None]
        if self.then.total is not None:
            all_ = np.ones(len(next(iter(self.has.values()))), np.bool_)
            sets.append((all_, self.then.total, self.then.total))
        return [(np.hstack([row, 0 * row]).astype(float), low, high) for row, low, high in sets]

    @cached_property
    def sets_before(self) -> frozenset[bytes]:
        """The sets that the earlier release tells exactly."""
        then = self.then.shown.items() if self.then else ()
        return frozenset(
            self.has[one].tobytes() for one, n in then if one in self.has and isinstance(n, int)
        )


@dataclass(eq=False)
class _Lines:
    """All that a reader is told, as bounds on sums of numbers of cells."""

    reader: _Reader
    shown: Told
    points: list[FloatArray]

    def __post_init__(self) -> None:
        reader = self.reader
        self.exact = [value for value in reader.has if isinstance(self.shown[value], int)]
        lines = [(reader.row(row), n, n) for row, n in reader.known]
        lines += [(reader.row(reader.has[v]), *_range(self.shown[v])) for v in self.exact]
        bounds = ((reader.has[one], n) for one, n in self.shown.items() if isinstance(n, str))
        lines += [(reader.row(row), *_range(n)) for row, n in bounds]
        lines += reader.before
        self.rows = np.array([row for row, _, _ in lines])
        self.low, self.high = np.array([ends for _, *ends in lines], float).T
        sums = np.array(self.points).reshape(-1, self.rows.shape[1]) @ self.rows.T
        fits = ((sums > self.low - _NEAR) & (sums < self.high + _NEAR)).all(axis=1)
        self.points = [point for point, is_ in zip(self.points, fits, strict=True) if is_]

    def least(
        self, target: BoolArray, ends: tuple[int, int]
    ) -> list[tuple[float, list[Value]]] | None:
        """`_Reader.reach` by linear programs; None where no releases have all these counts."""
        from scipy.optimize import linprog

        start = len(self.reader.known)
        goal = self.reader.row(target)
        goal[: -len(target)] = 0.0
        gaps = list[tuple[float, list[Value]]]()
        for sign, end in ((1.0, ends[0]), (-1.0, -ends[1])):
            if any(sign * (goal @ point) <= end + _NEAR for point in self.points):
                gaps.append((0.0, []))
                continue
            found = linprog(sign * goal, *self._bounds)
            if found.status == _IMPOSSIBLE and self.reader.then:
                return None
            self.points += [] if found.x is None else [found.x]
            gap = found.fun - end if found.status == 0 and found.fun is not None else 0.0
            weights = found.eqlin.marginals[start:] if gap > _NEAR else ()
            gaps.append((gap, [one for one, n in zip(self.exact, weights, strict=False) if n]))
        return gaps

    @cached_property
    def _bounds(self) -> tuple[Any, FloatArray, Any, FloatArray]:
        """Bounds and equations as `scipy.optimize.linprog` takes them."""
        from scipy.sparse import csc_array

        equal = self.low == self.high
        above = np.isfinite(self.high) & ~equal
        bounds = np.vstack([self.rows[above], -self.rows[~equal]])
        ends = np.concatenate([self.high[above], -self.low[~equal]])
        return csc_array(bounds), ends, csc_array(self.rows[equal]), self.low[equal]

    def spanned(self, target: BoolArray, ends: tuple[int, int]) -> list[tuple[float, list[Value]]]:
        """Whether sets that both releases tell add up to another one, whatever they count."""
        told, rows, basis = self._both
        goal = target.astype(float)
        if np.abs(goal - (goal @ basis.T) @ basis).max() > _NEAR:
            return [(0.0, []), (0.0, [])]
        weights = np.linalg.lstsq(rows.T, goal, rcond=None)[0][len(self.reader.known) :]
        needed = [one for one, n in zip(told, weights.tolist(), strict=True) if abs(n) > _NEAR]
        return [(float(ends[1] - ends[0]), needed), (0.0, [])]

    @cached_property
    def _both(self) -> tuple[list[Value], FloatArray, FloatArray]:
        """Values that both releases tell, the sets that are known, and a basis of these."""
        reader = self.reader
        told = [one for one in self.exact if reader.has[one].tobytes() in reader.sets_before]
        sets = [*(row for row, _ in reader.known), *(reader.has[one] for one in told)]
        rows = np.array(sets, float)
        _, sizes, basis = np.linalg.svd(rows, full_matrices=False)
        return told, rows, basis[sizes > _NEAR]


class _Target(NamedTuple):
    """What a reader is not to learn exactly: a set of cells, the least and the most of it that must
    stay possible, and the count that tells it by itself, if there is one."""

    reader: _Reader
    row: BoolArray
    ends: tuple[int, int]
    value: Value | None = None

    def reach(self, shown: Told) -> list[tuple[float, list[Value]]]:
        return self.reader.reach(self.row, self.ends, shown)


_IMPOSSIBLE = 2
"""Status of a linear program that nothing fulfils."""
