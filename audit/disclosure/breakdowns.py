"""Suppression of a finding's breakdown, whose lines could be derived from the finding's counts.

A line is a count of instances. The sum of all lines is at least the size of their union, since an
instance can be in several lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from audit.base.dag import FloatArray
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


Value: TypeAlias = tuple[Any, ...]
"""A column, by its place or name, one of its values, and perhaps what of it is counted; or a
finding, by its id, and one of its counts."""
Told: TypeAlias = Mapping[Value, Shown]
Show: TypeAlias = Callable[[Collection[Value]], Told]
"""Gives counts as they are shown where some of them are withheld."""


class Before(NamedTuple):
    """Counts of an earlier release, as they are and as it shows them, and sums known anyway."""

    counts: Mapping[Value, int]
    shown: Told
    totals: Sequence[tuple[FloatArray, int]] = ()


def values_shown(
    has: Mapping[Value, FloatArray], sizes: FloatArray, min_cell: int, withheld: Collection[Value]
) -> dict[Value, Shown]:
    """The values of each column as lines of their sum, some of them withheld."""
    shown = dict[Value, Shown]()
    for column in {value[0] for value in has}:
        own = [value for value in has if value[0] == column]
        places = [place for place, value in enumerate(own) if value in withheld]
        parts = [round(float(sizes @ has[value])) for value in own]
        shown |= zip(own, shown_parts(parts, min_cell, places), strict=True)
    return shown


def shown_within(
    has: Mapping[Value, FloatArray],
    sizes: FloatArray,
    show: Show,
    min_cell: int,
    totals: Sequence[FloatArray] = (),
    earlier: Sequence[Before] = (),
) -> Told:
    """Counts of sets that may lie within each other, as they are shown together.

    Each small count, and of few instances of a set outside another one that has nearly all of
    them, can be anything from 1 to ``min_cell - 1`` by all that is shown, also for whoever knows
    which sets meet; or as near to it as withholding can bring it. So can a small count of an
    earlier release, and a small difference of two releases anything from 0, where each may be part
    of the next; else it is not told exactly. The smallest exact count that a linear program leans
    on is withheld, where there is none the smallest bound; in the end the largest are shown again
    that nothing needs.

    Args:
        has: How much each set counts of an instance of each cell, shape (n_cells,).
        sizes: Instances of each cell, perhaps not whole, shape (n_cells,).
        show: Gives the counts as they are shown where some are withheld.
        min_cell: Smallest count that may be shown.
        totals: Sets whose counts are known, beside all.
        earlier: The same sets in earlier releases, the oldest first.
    """
    counts = {value: round(float(sizes @ own)) for value, own in has.items()}
    known = [(row, round(float(sizes @ row))) for row in (np.ones(len(sizes)), *totals)]
    small = [*_small(has, sizes, min_cell)]
    of_some = {(), *((one,) for one in range(len(earlier))), (*range(len(earlier)),)}
    targets = list[_Target]()
    for places in sorted(of_some, key=len):
        reader = _Reader(has, counts, known, [earlier[place] for place in places])
        targets += [_Target(reader, row, (1, min_cell - 1)) for row in small]
        targets += _of_releases(reader, min_cell)
    told = [value for value, n in show(()).items() if isinstance(n, int)]
    certain = {one.told: one for one in targets if one.told in told}
    withheld, before, shown = dict(certain), -1, show(certain)
    while before != len(withheld):
        before = len(withheld)
        for target in targets:
            while leaned := {one for _, its in target.reach(shown) for one in its} - {*withheld}:
                withheld[min(leaned, key=lambda one: (counts[one], one))] = target
                shown = show(withheld)
    gaps = [[gap for gap, _ in target.reach(shown)] for target in targets]
    for value in sorted(withheld.keys() - certain, key=lambda one: (-counts[one], one)):
        fewer = {one: why for one, why in withheld.items() if one != value}
        again = show(fewer)
        first = next(i for i, target in enumerate(targets) if target is withheld[value])
        order = sorted(range(len(targets)), key=lambda i: i != first)
        needed = any(
            gap > own + _NEAR
            for i in order
            for (gap, _), own in zip(targets[i].reach(again), gaps[i], strict=True)
        )
        withheld, shown = (withheld, shown) if needed else (fewer, again)
    return shown


def _small(
    has: Mapping[Value, FloatArray], sizes: FloatArray, min_cell: int
) -> Iterator[FloatArray]:
    """Cells of each value of few instances, and of those that few of one have outside another."""
    yield from (own for own in has.values() if is_small(round(float(sizes @ own)), min_cell))
    sets = [(of[0], own) for of, own in has.items() if own.max(initial=0) <= 1]
    rows = np.array([own for _, own in sets]).reshape(len(sets), len(sizes))
    both = (rows * sizes) @ rows.T
    few = np.rint(np.diag(both)[:, None] - both)
    for one, other in np.argwhere((few > 0) & (few < min_cell) & (both > 0)).tolist():
        if sets[one][0] != sets[other][0]:
            yield rows[one] * (1 - rows[other])


def _of_releases(reader: _Reader, min_cell: int) -> Iterator[_Target]:
    """Small counts of earlier releases, and small differences of two releases."""
    last = len(reader.then)
    releases = [*(one.counts for one in reader.then), reader.counts]
    for place, value in product(range(last), reader.has):
        if is_small(releases[place].get(value, 0), min_cell):
            yield _Target(reader, reader.has[value], (1, min_cell - 1), (0, place))
    for (before, then), (place, now) in combinations(enumerate(releases), 2):
        for value in filter(then.__contains__, filter(now.__contains__, reader.has)):
            came = now[value] - then[value]
            if is_small(abs(came), min_cell):
                exact = place == last and isinstance(reader.then[before].shown.get(value), int)
                told = value if exact else None
                since = before + 1, place
                yield _Target(reader, reader.has[value], (0, min_cell - 1), since, value, told)


@dataclass(frozen=True, eq=False)
class _Reader:
    """Whoever knows counts of sets, and perhaps of earlier releases.

    Args:
        known: Sets whose counts are known anyway, and these.
        then: Earlier releases; each cell has what it had in the first, and what came with each.
        told: What was told last.
    """

    has: Mapping[Value, FloatArray]
    counts: Mapping[Value, int]
    known: Sequence[tuple[FloatArray, int]]
    then: Sequence[Before]
    told: list[_Lines] = field(default_factory=list)

    @cached_property
    def contained(self) -> bool:
        """Whether each release may contain the one before."""
        releases = [*(one.counts for one in self.then), self.counts]
        return all(
            value in self.has and n <= now.get(value, n)
            for then, now in pairwise(releases)
            for value, n in then.items()
        )

    def row(self, cells: FloatArray, first: int = 0, last: int | None = None) -> FloatArray:
        """The instances of cells that came with each release from one to another, or with all."""
        came = np.arange(len(self.then) + 1)[:, None]
        end = len(self.then) if last is None else last
        return np.asarray(((first <= came) & (came <= end)) * cells).ravel()

    @cached_property
    def before(self) -> list[tuple[FloatArray, float, float]]:
        """What earlier releases tell of the cells."""
        told = []
        for place, one in enumerate(self.then):
            numbers = [(self.has[value], n) for value, n in one.shown.items() if value in self.has]
            told += [
                (self.row(row, last=place), *_range(n))
                for row, n in (*numbers, *one.totals)
                if n is not None
            ]
        return told

    @cached_property
    def alone(self) -> list[tuple[_Reader, Told | None]]:
        """Who knows this release alone, and who knows the only earlier one, and what that tells."""
        (then,) = self.then
        told = {value: then.shown.get(value) for value in self.has}
        nothing = (np.zeros_like(self.known[0][0]), 0)
        before = _Reader(self.has, then.counts, [nothing, *then.totals], ())
        return [(_Reader(self.has, self.counts, self.known, ()), None), (before, told)]


@dataclass(eq=False)
class _Lines:
    """All that a reader is told, as bounds on sums of numbers of cells."""

    reader: _Reader
    shown: Told
    points: list[FloatArray]

    def __post_init__(self) -> None:
        reader = self.reader
        self.exact = [value for value in reader.has if isinstance(self.shown[value], int)]
        self.bounds = [value for value, n in self.shown.items() if isinstance(n, str)]
        own = [(reader.has[one], self.shown[one]) for one in (*self.exact, *self.bounds)]
        told = [(reader.row(row), *_range(n)) for row, n in (*reader.known, *own)]
        lines = [*told, *reader.before]
        self.rows = np.array([row for row, _, _ in lines])
        self.low, self.high = np.array([ends for _, *ends in lines], float).T
        self.equal = self.low == self.high
        self.above = np.isfinite(self.high) & ~self.equal
        sums = np.array(self.points).reshape(-1, self.rows.shape[1]) @ self.rows.T
        fits = ((sums > self.low - _NEAR) & (sums < self.high + _NEAR)).all(axis=1)
        self.points = [point for point, is_ in zip(self.points, fits, strict=True) if is_]

    def least(self, target: _Target) -> list[tuple[float, list[Value]]] | None:
        """`_Target.reach` by linear programs; None where no releases have all these counts."""
        from scipy.optimize import linprog

        goal = self.reader.row(target.row, *target.since)
        gaps = list[tuple[float, list[Value]]]()
        for sign, end in ((1.0, target.ends[0]), (-1.0, -target.ends[1])):
            if any(sign * (goal @ point) <= end + _NEAR for point in self.points):
                gaps.append((0.0, []))
                continue
            found = linprog(sign * goal, *self._bounds)
            if found.status == _IMPOSSIBLE and self.reader.then:
                return None
            self.points += [] if found.x is None else [found.x]
            gap = max(found.fun - end, 0.0) if found.status == 0 and found.fun is not None else 0.0
            gaps.append((gap, self._leaned_on(found) if gap > _NEAR else []))
        return gaps

    def _leaned_on(self, solved: Any) -> list[Value]:
        """Exact counts that a solution needs; where it needs none, bounds."""
        weight, of_bounds = np.zeros(len(self.rows)), solved.ineqlin.marginals
        weight[~self.equal] = of_bounds[self.above.sum() :]
        weight[self.above] += of_bounds[: self.above.sum()]
        weight[self.equal] = solved.eqlin.marginals
        own = zip(weight[len(self.reader.known) :], (*self.exact, *self.bounds), strict=False)
        needed = [value for n, value in own if n]
        return [value for value in needed if isinstance(self.shown[value], int)] or needed

    @cached_property
    def _bounds(self) -> tuple[Any, FloatArray, Any, FloatArray]:
        """Bounds and equations as `scipy.optimize.linprog` takes them."""
        from scipy.sparse import csc_array

        bounds = np.vstack([self.rows[self.above], -self.rows[~self.equal]])
        ends = np.concatenate([self.high[self.above], -self.low[~self.equal]])
        return csc_array(bounds), ends, csc_array(self.rows[self.equal]), self.low[self.equal]


class _Target(NamedTuple):
    """What a reader is not to learn exactly: instances of a set of cells, the least and the most of
    them that must stay possible, the first and the last release that they came with (none: all),
    the value that they are the difference of, and that whose count tells them by itself."""

    reader: _Reader
    row: FloatArray
    ends: tuple[int, int]
    since: tuple[int, ...] = ()
    value: Value | None = None
    told: Value | None = None

    def reach(self, shown: Told) -> list[tuple[float, list[Value]]]:
        """By how much each end of a small number falls short, and the values that make it."""
        reader = self.reader
        if not reader.told or reader.told[-1].shown is not shown:
            points = [point for one in reader.told for point in one.points]
            reader.told[:] = [_Lines(reader, shown, points)]
        found = reader.told[-1].least(self) if reader.contained else None
        return self._by_each(shown) if found is None else found

    def _by_each(self, shown: Told) -> list[tuple[float, list[Value]]]:
        """Whether each of two releases tells the value exactly, whatever the other one has."""
        nothing, needed = [(0.0, list[Value]()), (0.0, [])], list[Value]()
        if self.value is None or len(self.reader.then) != 1:
            return nothing
        for reader, before in self.reader.alone:
            n = reader.counts[self.value]
            one = _Target(reader, self.row, (n - 1, n + 1))
            found = one.reach(shown if before is None else before)
            if min(gap for gap, _ in found) < 1 - _NEAR:
                return nothing
            needed = needed or [value for _, its in found for value in its]
        return [(float(self.ends[1] - self.ends[0]), needed), (0.0, [])]


_IMPOSSIBLE = 2
"""Status of a linear program that nothing fulfils."""
