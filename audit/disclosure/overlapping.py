"""Counts of sets of instances that overlap, in releases that may contain each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.disclosure.bounded import NEAR, Bounded
from audit.disclosure.breakdowns import range_of
from audit.disclosure.quantity import Shown, is_small, shown_parts

WITHOUT = "without"
"""Ends the name of a set of which nothing tells whether it has any instances."""
_NUMBERS = 1_000_000
"""Largest number of numbers of cells that are remembered, the latest ones."""
_SEVERAL = 3
"""Number of ends that are tried at once."""


Value: TypeAlias = tuple[Any, ...]
"""A column, by its place or name, one of its values, and perhaps what of it is counted; or a
finding, by its id, and one of its counts."""
Told: TypeAlias = Mapping[Value, Shown]
_Ends: TypeAlias = list[tuple[float, list[Value]]]
"""By how much a number falls short of its least and of its most, and the values that make it."""
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
    beyond: IntArray | None = None,
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
        beyond: Of cells without an instance, how little a reader knows who does not know that,
            from 1; of others 0, shape (n_cells,). Such readers are told no more either.
    """
    counts = {value: round(float(sizes @ own)) for value, own in has.items()}
    known = [(row, round(float(sizes @ row))) for row in (np.ones(len(sizes)), *totals)]
    small = [*_small(has, sizes, min_cell)]
    empty = np.zeros(len(sizes), np.int64) if beyond is None else beyond
    there: BoolArray = empty == 0
    every = (*range(len(earlier)),)
    of_some = dict.fromkeys((every, *((one,) for one in every), ()))
    readers, targets = list[_Reader](), list[_Target]()
    for places in of_some:
        came = np.array([[sum(one < n for one in places)] for n in range(len(every) + 1)])
        fuller = (readers[0], np.arange(len(places) + 1)[:, None] == came.T) if readers else None
        then = [earlier[place] for place in places]
        readers.append(_Reader(has, counts, known, then, there, fuller))
        targets += [_Target(readers[-1], row, (least, min_cell - 1)) for least, row in small]
        targets += _of_releases(readers[-1], min_cell)
    once = {(id(one.reader), one.row.tobytes(), *one[2:4], one.told): one for one in targets}
    targets = _asked(once.values())
    told = [value for value, n in show(()).items() if isinstance(n, int)]
    certain = {one.told: one for one in targets if one.told in told}
    withheld, shown = dict(certain), show(certain)
    least_known = [*targets]
    for level in np.unique(empty):
        if level:
            least_known = [one for one in least_known if one.short(shown)]
            others = {id(one.reader): one.reader.who_knows(empty <= level) for one in least_known}
            least_known = _asked(one._replace(reader=others[id(one.reader)]) for one in least_known)
            targets += least_known
        before, open_ = -1, targets
        while before != len(withheld):
            before = len(withheld)
            for target in open_:
                while leaned := target.leaned(shown) - {*withheld}:
                    withheld[min(leaned, key=lambda one: (counts[one], str(one)))] = target
                    shown = show(withheld)
            open_ = [one for one in open_ if not one.short(shown)]
    return _told_again(withheld, certain, targets, show)


def _asked(targets: Iterable[_Target]) -> list[_Target]:
    """Targets, of which each reader knows its own."""
    each = [*targets]
    for reader in {id(one.reader): one.reader for one in each}.values():
        reader.asked[:] = [one for one in each if one.reader is reader]
    return each


def _told_again(
    withheld: Mapping[Value, _Target],
    certain: Mapping[Value, _Target],
    targets: Sequence[_Target],
    show: Show,
) -> Told:
    """What is shown where the largest counts are told again that nothing needs."""
    shown = show(withheld)
    counts = targets[0].reader.counts if targets else {}
    left = _asked(target.as_left(shown) for target in targets)
    least = {id(target): own for target, own in zip(targets, left, strict=True)}
    for value in sorted(withheld.keys() - certain, key=lambda one: (-counts[one], str(one))):
        fewer = {one: why for one, why in withheld.items() if one != value}
        again = show(fewer)
        needed = any(one.short(again) for one in (least[id(withheld[value])], *left))
        withheld, shown = (withheld, shown) if needed else (fewer, again)
    return shown


def _small(
    has: Mapping[Value, FloatArray], sizes: FloatArray, min_cell: int
) -> Iterator[tuple[int, FloatArray]]:
    """Cells of each value of few instances, and of those that few of one have outside another."""
    for value, own in has.items():
        if is_small(round(float(sizes @ own)), min_cell):
            yield int(value[-1] != WITHOUT), own
    sets = [(of[0], own) for of, own in has.items() if of[0] and own.max(initial=0) <= 1]
    rows = np.array([own for _, own in sets]).reshape(len(sets), len(sizes))
    both = (rows * sizes) @ rows.T
    few = np.rint(np.diag(both)[:, None] - both)
    for one, other in np.argwhere((few > 0) & (few < min_cell) & (both > 0)).tolist():
        if sets[one][0] != sets[other][0]:
            yield 1, rows[one] * (1 - rows[other])


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
                ends = int(value[0] is None), min_cell - 1
                yield _Target(reader, reader.has[value], ends, since, value, told)


@dataclass(frozen=True, eq=False)
class _Reader:
    """Whoever knows counts of sets, and perhaps of earlier releases.

    Args:
        known: Sets whose counts are known anyway, and these.
        then: Earlier releases; each cell has what it had in the first, and what came with each.
        there: Cells of which there may be instances.
        fuller: Who knows more, and which instances that came with a release each came with here,
            shape (n_releases, n_there).
        told: What was told last.
        asked: What it is not to learn.
        points: Numbers of cells, by the release that they came with, that once were possible.
    """

    has: Mapping[Value, FloatArray]
    counts: Mapping[Value, int]
    known: Sequence[tuple[FloatArray, int]]
    then: Sequence[Before]
    there: BoolArray
    fuller: tuple[_Reader, BoolArray] | None = None
    told: list[_Lines] = field(default_factory=list)
    asked: list[_Target] = field(default_factory=list)
    points: list[FloatArray] = field(default_factory=list)

    def who_knows(self, there: BoolArray) -> _Reader:
        """A reader who knows less of which cells have instances."""
        same = np.eye(len(self.then) + 1, dtype=np.bool_)
        return replace(self, there=there, told=[], asked=[], points=[], fuller=(self, same))

    def lines(self, shown: Told) -> _Lines:
        """What is known where all this is told."""
        if not self.told or self.told[-1].shown is not shown:
            self.told[:] = [_Lines(self, shown)]
        return self.told[-1]

    @property
    def seen(self) -> Iterator[FloatArray]:
        """What was possible before, and was for who knows more."""
        yield from self.points
        if self.fuller is not None:
            fuller, came = self.fuller
            own = np.zeros((came.shape[1], len(self.there)))
            for point in fuller.points:
                own[:, fuller.there] = point.reshape(len(own), -1)
                yield (came @ own)[:, self.there].ravel()

    @cached_property
    def goals(self) -> FloatArray:
        """What is asked, as sums of numbers of cells, shape (n_asked, n_numbers)."""
        rows = [self.row(one.row, *one.since) for one in self.asked]
        return np.array(rows).reshape(len(rows), (len(self.then) + 1) * int(self.there.sum()))

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
        return np.asarray(((first <= came) & (came <= end)) * cells[self.there]).ravel()

    @cached_property
    def before(self) -> list[tuple[FloatArray, float, float]]:
        """What earlier releases tell of the cells."""
        told = []
        for place, one in enumerate(self.then):
            numbers = [(self.has[value], n) for value, n in one.shown.items() if value in self.has]
            told += [
                (self.row(row, last=place), *range_of(n))
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
        before = _Reader(self.has, then.counts, [nothing, *then.totals], (), self.there)
        return [(_Reader(self.has, self.counts, self.known, (), self.there), None), (before, told)]


@dataclass(eq=False)
class _Lines:
    """All that a reader is told, as bounds on sums of numbers of cells."""

    reader: _Reader
    shown: Told
    reached: dict[int, tuple[_Target, _Ends | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        reader = self.reader
        self.exact = [value for value in reader.has if isinstance(self.shown[value], int)]
        self.bounds = [value for value, n in self.shown.items() if isinstance(n, str | tuple)]
        own = [(reader.has[one], self.shown[one]) for one in (*self.exact, *self.bounds)]
        told = [(reader.row(row), *range_of(n)) for row, n in (*reader.known, *own)]
        lines = [*told, *reader.before]
        low, high = np.array([ends for _, *ends in lines], float).T
        self.sums = Bounded(np.array([row for row, _, _ in lines]), low, high)

    @cached_property
    def points(self) -> FloatArray:
        """Of what was possible before what still is, and what lets most ends be reached at once."""
        seen = np.array([*self.reader.seen]).reshape(-1, self.sums.rows.shape[1])
        self.points = seen[self.sums.fulfilled(seen)]
        for sign, side in ((1.0, 0), (-1.0, 1)):
            goals = sign * self.reader.goals
            ends = sign * np.array([one.ends[side] for one in self.reader.asked])
            open_ = (goals @ self.points.T).min(axis=1, initial=np.inf) > ends + NEAR
            before = len(open_) + 1
            while _SEVERAL <= open_.sum() < before:
                before = open_.sum()
                point = self.sums.together(goals[open_], ends[open_])
                if point is not None:
                    self._keep(point)
                    open_ &= goals @ point > ends + NEAR
        return self.points

    def _keep(self, point: FloatArray) -> None:
        self.reader.points.append(point)
        del self.reader.points[: -max(_NUMBERS // len(point), 1)]
        self.points = np.vstack([self.points, point])

    def least(self, target: _Target) -> _Ends | None:
        """`_Target.reach` by linear programs; None where no releases have all these counts."""
        if id(target) not in self.reached:
            self.reached[id(target)] = target, self._least(target)
        return self.reached[id(target)][1]

    def _least(self, target: _Target) -> _Ends | None:
        goal = self.reader.row(target.row, *target.since)
        gaps = _Ends()
        reached = self.points @ goal
        for sign, end in ((1.0, target.ends[0]), (-1.0, -target.ends[1])):
            if (sign * reached <= end + NEAR).any():
                gaps.append((0.0, []))
                continue
            found = self.sums.least(sign * goal)
            if not found.possible and self.reader.then:
                return None
            if found.point is not None:
                self._keep(found.point)
            gap = 0.0 if found.sum is None else max(found.sum - end, 0.0)
            gaps.append((gap, self._leaned_on(found.weights) if gap > NEAR else []))
        return gaps

    def _leaned_on(self, weights: FloatArray) -> list[Value]:
        """Exact counts that a solution needs; where it needs none, bounds."""
        own = zip(weights[len(self.reader.known) :], (*self.exact, *self.bounds), strict=False)
        needed = [value for n, value in own if n and self.reader.counts[value]]
        return [value for value in needed if isinstance(self.shown[value], int)] or needed


class _Target(NamedTuple):
    """What a reader is not to learn exactly: instances of a set of cells, the least and the most of
    them that must stay possible, the first and the last release that they came with (none: all),
    the value that they are the difference of, and that whose count tells them by itself."""

    reader: _Reader
    row: FloatArray
    ends: tuple[float, float]
    since: tuple[int, ...] = ()
    value: Value | None = None
    told: Value | None = None

    def short(self, shown: Told) -> bool:
        """Whether an end falls short."""
        return any(gap > NEAR for gap, _ in self.reach(shown))

    def leaned(self, shown: Told) -> set[Value]:
        """The values that make it fall short."""
        return {value for _, values in self.reach(shown) for value in values}

    def as_left(self, shown: Told) -> _Target:
        """The same with the ends that it reaches."""
        (less, _), (more, _) = self.reach(shown)
        return self._replace(ends=(self.ends[0] + less, self.ends[1] - more))

    def reach(self, shown: Told) -> _Ends:
        """By how much each end of a small number falls short, and the values that make it."""
        found = self.reader.lines(shown).least(self) if self.reader.contained else None
        return self._by_each(shown) if found is None else found

    def _by_each(self, shown: Told) -> _Ends:
        """Whether each of two releases tells the value exactly, whatever the other one has."""
        nothing, needed = [(0.0, list[Value]()), (0.0, [])], list[Value]()
        if self.value is None or len(self.reader.then) != 1:
            return nothing
        for reader, before in self.reader.alone:
            n = reader.counts[self.value]
            one = _Target(reader, self.row, (n - 1, n + 1))
            found = one.reach(shown if before is None else before)
            if min(gap for gap, _ in found) < 1 - NEAR:
                return nothing
            needed = needed or [value for _, its in found for value in its]
        return [(float(self.ends[1] - self.ends[0]), needed), (0.0, [])]
