"""Counts that add up to other counts, in two releases: the range that all leave to each.

Each thing is counted three times: in the earlier release, in the later one, and as the difference.
Ranges are narrowed from parts to wholes, from wholes to parts and between the three until nothing
changes. That is all that can be inferred if each count is part of one other; otherwise a linear
program could infer more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Counts: TypeAlias = NDArray[np.int64]
"""Counts in the earlier release, in the later one, and their difference, shape (n, 3)."""
Ranges: TypeAlias = tuple[Counts, Counts]
"""Least and greatest of such counts, each of shape (n, 3)."""
Numbers: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = frozenset[int]
"""Numbers of labels."""
Apart: TypeAlias = tuple[int, int, int]
"""Number of a pair of sets, and the places of the parts of a union that they lie in."""
Union: TypeAlias = tuple[int, tuple[int, ...]]
"""Number of a set, and of sets without a label in common that it is the union of."""

Places: TypeAlias = tuple[Numbers, Numbers, Numbers]
"""Different numbers of counts, an order that has equal ones together, and where each begins."""

Step = TypeVar("Step")
ROUNDS = 50
"""Largest number of rounds of narrowing; a few are enough unless sums form circles."""


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
        """Range of each count, given all others; least above greatest if no counts fit.

        Args:
            ranges: What is known of each count by itself, shape (size, 3).
            contained: Whether the difference counts something: then it is not negative, and at most
                the difference of a count that is never smaller.
        """
        for _ in range(ROUNDS):
            before, ranges = ranges, self._once(_closed(ranges), 2 + contained)
            if all(map(np.array_equal, before, ranges)):
                break
        return ranges

    def _once(self, ranges: Ranges, n_counted: int) -> Ranges:
        """Ranges narrowed once by every sum, its whole and each of its parts."""
        low, high = (its.copy() for its in ranges)
        least, most = (self._matrix @ its for its in ranges)
        wholes, parts, fewer, more = self._places
        _narrow(np.maximum, low, wholes, least)
        _narrow(np.minimum, high, wholes, most)
        above, below = low[self.wholes] - most, high[self.wholes] - least
        above, below = (its.take(self.owners, axis=0) for its in (above, below))
        at_least, at_most = (its.take(self.parts, axis=0) for its in ranges)
        _narrow(np.maximum, low, parts, above + at_most)
        _narrow(np.minimum, high, parts, below + at_least)
        counted = np.s_[:, :n_counted]
        _narrow(np.maximum, low[counted], more, ranges[0][self.fewer][counted])
        _narrow(np.minimum, high[counted], fewer, ranges[1][self.more][counted])
        return low, high

    @cached_property
    def _places(self) -> list[Places]:
        return [_places(one) for one in (self.wholes, self.parts, self.fewer, self.more)]

    @cached_property
    def _matrix(self) -> csr_array:
        ones = np.ones(len(self.parts), np.int64)
        return csr_array((ones, (self.owners, self.parts)), shape=(len(self.wholes), self.size))


def _places(at: Numbers) -> Places:
    order = np.argsort(at, kind="stable")
    each, first = np.unique(at[order], return_index=True)
    return each, order, first


def _narrow(ufunc: np.ufunc, ends: Counts, places: Places, values: Counts) -> None:
    """As ``ufunc.at``, which takes several times as long."""
    each, order, first = places
    if len(each):
        ends[each] = ufunc(ends[each], ufunc.reduceat(values.take(order, axis=0), first, axis=0))


def narrower(counts: Counts, left: Ranges, free: Ranges, min_cell: int) -> NDArray[np.bool_]:
    """Whether the range of each small count is narrower than it need be, up to ``min_cell - 1``.

    Args:
        counts: The counts; one below 0 is small where its amount is.
        left: What each can be.
        free: What each could be if as much as possible were withheld.
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
    """The first steps until nothing is narrow, without the unnecessary ones.

    Of n steps of which k are needed it asks about k log n times.

    Args:
        steps: What can be withheld, the least loss first.
        narrow: Whether something is narrow after some steps; more steps never make it so, and all
            of them leave nothing narrow.
    """
    if not narrow([]):
        return []
    first = bisect_left(range(len(steps)), True, key=lambda n: not narrow(steps[:n]))
    return _needed([], steps[:first], [], narrow)


def _needed(
    before: Sequence[Step],
    steps: Sequence[Step],
    after: Sequence[Step],
    narrow: Callable[[Sequence[Step]], bool],
) -> list[Step]:
    """The necessary ones of some steps, taken between others; the last ones are kept out first."""
    if not narrow([*before, *after]):
        return []
    if len(steps) == 1:
        return list(steps)
    half = len(steps) // 2
    later = _needed([*before, *steps[:half]], steps[half:], after, narrow)
    return _needed(before, steps[:half], [*later, *after], narrow) + later


def _closed(ranges: Ranges) -> Ranges:
    """Ranges of two counts and their difference, each narrowed by the other two."""
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


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Sets of labels, each label by itself first, and how sets make each other up.

    Args:
        unions: How sets are unions of others: enough ways that each set within another is a part
            of it in some.
    """

    number: Mapping[Labels, int]
    unions: Sequence[Union]

    @classmethod
    def of(cls, lines: Sequence[Labels], sets: Iterable[Labels]) -> LabelSets:
        """Sets of labels, and how they make each other up.

        Args:
            lines: Sets that have no label in common and hold all labels together.
            sets: Further sets. Labels that are in the same of all sets are a set too.
        """
        every = frozenset(chain.from_iterable(lines))
        singles = [frozenset({label}) for label in range(len(every))]
        several = [its for its in dict.fromkeys([every, *lines, *sets]) if len(its) > 1]
        several = list(dict.fromkeys([*several, *_alike(several, len(every))]))
        number = {its: number for number, its in enumerate([*singles, *several])}
        whole = [(number[every], tuple(number[line] for line in lines))] if len(lines) > 1 else []
        return cls(number, [*whole, *_unions(several, len(every))])

    @property
    def size(self) -> int:
        """Number of counts: three of each set, and one of each union."""
        return 3 * len(self.number) + len(self.unions)

    def instances(self, number: int) -> int:
        """Number of the count of instances with a label of a set.

        The set's own number is that of the count of their labels in it.
        """
        return len(self.number) + number

    def further(self, number: int) -> int:
        """Number of the count of labels of a set beyond the first of each instance."""
        return 2 * len(self.number) + number

    def shared(self, union: int) -> int:
        """Number of the count of parts of a union that instances have beyond their first."""
        return 3 * len(self.number) + union

    @cached_property
    def sums(self) -> Sums:
        """Labels are instances and further labels; those of a union are those of its parts.

        Of the further labels of a union only those beyond the first of each part are in its parts.
        """
        sums = [(one, [self.instances(one), self.further(one)]) for one in self.number.values()]
        at_most: list[tuple[int, int]] = []
        for place, (whole, parts) in enumerate(self.unions):
            at_most += [(self.instances(part), self.instances(whole)) for part in parts]
            beyond = [self.further(part) for part in parts]
            sums += [(whole, list(parts)), (self.further(whole), [*beyond, self.shared(place)])]
        return Sums.of(sums, at_most, self.size)

    def apart(self, pairs: Sequence[tuple[Labels, Labels]]) -> list[list[Apart]]:
        """Of each union the pairs of sets that lie in two of its parts.

        Each is the number of the pair, and the places of the two parts.
        """
        by_number = list(self.number)
        each = [(n, a, b, a | b) for n, (a, b) in enumerate(pairs)]
        within = {
            whole: [its for its in each if its[3] <= by_number[whole]]
            for whole in dict.fromkeys(whole for whole, _ in self.unions)
        }
        return [list(_in_two(within[whole], by_number, parts)) for whole, parts in self.unions]


def _in_two(
    pairs: Sequence[tuple[int, Labels, Labels, Labels]],
    by_number: Sequence[Labels],
    parts: Sequence[int],
) -> Iterator[Apart]:
    """The pairs of sets of which each lies in a part of its own."""
    for number, a, b, _ in pairs:
        first, second = (_place(labels, by_number, parts) for labels in (a, b))
        if first is not None and second is not None and first != second:
            yield number, first, second


def _place(labels: Labels, by_number: Sequence[Labels], parts: Sequence[int]) -> int | None:
    """Place of the part that holds labels; None where they lie in several."""
    return next((place for place, part in enumerate(parts) if labels <= by_number[part]), None)


def _alike(sets: Sequence[Labels], n_labels: int) -> list[Labels]:
    """Labels that are in the same sets, where there are several."""
    within: list[list[int]] = [[] for _ in range(n_labels)]
    for number, labels in enumerate(sets):
        for label in labels:
            within[label].append(number)
    alike: dict[tuple[int, ...], list[int]] = {}
    for label, numbers in enumerate(within):
        alike.setdefault(tuple(numbers), []).append(label)
    return [frozenset(its) for its in alike.values() if len(its) > 1]


def _unions(sets: Sequence[Labels], n_labels: int) -> list[Union]:
    """How each set is made of others and of labels, until each set within it was a part."""
    sizes = np.array([len(its) for its in sets], np.int64)
    common = _common(sets, sizes, n_labels)
    within = (common == sizes[:, None]) & (sizes[:, None] < sizes[None, :])
    order = np.lexsort((np.arange(len(sets)), -sizes))
    unions: list[Union] = []
    for whole in order.tolist():
        inner = order[within[order, whole]]
        apart, unused = common[np.ix_(inner, inner)] == 0, np.ones(len(inner), np.bool_)
        while True:
            taken = _disjoint(apart, unused)
            unused[taken] = False
            parts = inner[taken].tolist()
            single = sorted(sets[whole].difference(*(sets[part] for part in parts)))
            unions.append((n_labels + whole, (*(n_labels + part for part in parts), *single)))
            if not unused.any():
                break
    return unions


def _common(sets: Sequence[Labels], sizes: Numbers, n_labels: int) -> Numbers:
    """How many labels each two sets have in common."""
    held = np.fromiter(chain.from_iterable(sets), np.int64)
    rows = np.repeat(np.arange(len(sets)), sizes)
    has = csr_array((np.ones(len(rows), np.int64), (rows, held)), shape=(len(sets), n_labels))
    return np.asarray((has @ has.T).toarray(), np.int64)


def _disjoint(apart: Bools, wanted: Bools) -> list[int]:
    """Sets without a label in common: the first that is wanted, then the first of the others."""
    taken: list[int] = []
    free = np.ones(len(apart), np.bool_)
    while free.any():
        taken.append(int((free if taken else wanted).argmax()))
        free &= apart[taken[-1]]
    return taken
