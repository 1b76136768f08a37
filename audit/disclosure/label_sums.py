"""What can be inferred about sets of labels from counts of instances and of labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, reduce
from operator import or_
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.disclosure.cells import Cell, Release, carried
from audit.disclosure.digits import Range
from audit.disclosure.known import Known
from audit.disclosure.sums import Apart, Counts, Labels, LabelSets, Numbers, Ranges, narrower

MANY_LABELS = 20
"""Number of labels from which a sum over all at a depth tells nothing of one of them."""
Ends: TypeAlias = Mapping[Cell, Range]
"""Least and greatest value of counts."""


@dataclass(frozen=True, eq=False)
class SetCounts:
    """Counts of a release, expressed as counts of sets of its labels.

    Args:
        release: The labels of the release, numbered in their order.
        depths: The labels at each depth.
        cells: The counts.
    """

    release: Release
    depths: tuple[Labels, ...]
    cells: tuple[Cell, ...]

    @cached_property
    def of_labels(self) -> LabelSets:
        """The sets, and how they make each other up."""
        return LabelSets.of(
            self.depths, (side for cell in self.cells for side in self._sides[cell])
        )

    @cached_property
    def joints(self) -> list[Cell]:
        """Counts of instances with a label in each of two sets that have none in common."""
        of_two = (cell for cell in self.cells if len(self._sides[cell]) == 2)
        plain = (cell for cell in of_two if not cell.misses and not cell.differing)
        return [cell for cell in plain if self._sides[cell][0].isdisjoint(self._sides[cell][1])]

    def tell(self, ranges: Ends, ends: tuple[Numbers, Numbers]) -> None:
        """Narrow the range of each set by the ranges of counts, in place.

        Instances with a label in each of several sets have a label in every single one; if there is
        one set and no instance is left out, no other instance has one. Who carries a node and none
        of its children has it as a label.
        """
        low, high = ends
        for cell, (least, most) in ranges.items():
            sides = self._sides[cell]
            for side in filter(None, sides):
                number = self.of_labels.number[side]
                place = number if cell.of_labels else self.of_labels.instances(number)
                low[place] = max(low[place], least)
                if len(sides) == 1 and not cell.misses:
                    high[place] = min(high[place], most)
        for label, node, children in self._with_children:
            if node in ranges and all(child in ranges for child in children):
                own = ranges[node][0] - sum(ranges[child][1] for child in children)
                low[label] = max(low[label], own)

    def least_shared(self, least: Mapping[Cell, int]) -> Numbers:
        """Parts of each union that instances have beyond their first, at least; shape (n_unions,).

        Instances with labels in two parts are counted once for each edge of a forest of parts.

        Args:
            least: How many instances there are at least of `joints`; 0 of those without an entry.
        """
        weights = [least.get(cell, 0) for cell in self.joints]
        edges = ([(weights[pair], a, b) for pair, a, b in pairs] for pairs in self._apart)
        return np.array([_heaviest(its) for its in edges], np.int64)

    @cached_property
    def _apart(self) -> list[list[Apart]]:
        return self.of_labels.apart([(self._sides[c][0], self._sides[c][1]) for c in self.joints])

    @cached_property
    def _with_children(self) -> list[tuple[int, Cell, list[Cell]]]:
        """The number of each label that others lie below, and the counts of it and its children."""
        return [
            (number, carried(label), [self.release.same(carried(child)) for child in children])
            for number, label in enumerate(self.release.labels)
            if (children := self.release.children.get(label))
        ]

    @cached_property
    def _sides(self) -> dict[Cell, tuple[Labels, ...]]:
        """The sets of labels of which each instance of a count has one of each."""
        return {cell: self._sides_of(cell) for cell in self.cells}

    def _sides_of(self, cell: Cell) -> tuple[Labels, ...]:
        members, none = self.release.members, np.zeros(len(self.release.labels), np.bool_)
        missed = reduce(or_, map(members, cell.misses), none)
        return tuple(
            frozenset(np.flatnonzero(members(labels) & ~missed).tolist()) for labels in cell.meets
        )


def _heaviest(edges: Iterable[tuple[int, int, int]]) -> int:
    """Weight of the edges that join places without a circle, the heaviest first; none below 1."""
    joined: dict[int, int] = {}

    def end(place: int) -> int:
        while place in joined:
            place = joined[place]
        return place

    weight = 0
    for least, one, other in sorted(edges, reverse=True):
        first, second = end(one), end(other)
        if least > 0 and first != second:
            joined[first] = second
            weight += least
    return weight


@dataclass(frozen=True, eq=False)
class LabelSums:
    """Labels in use in a release or in an earlier one, and how many instances have each.

    Args:
        release: What readers know of the release beside its counts, with the labels of both.
        earlier: What they know of the earlier one; of an empty one without one.
        published: The counts that the release publishes in some form.
        contained: Whether the release can hold the earlier one.
        counts: Instances with each label then, now, and their difference, shape (n_labels, 3).
    """

    release: Release
    earlier: Known
    published: tuple[Cell, ...]
    contained: bool
    counts: Counts

    @classmethod
    def of(
        cls, release: Release, counts: Mapping[Cell, int], earlier: Known, *, contained: bool
    ) -> LabelSums:
        """The labels of a release, with its published counts, and of an earlier one."""
        then = _labels_then(earlier, release)
        now = {label: _labels_now(label, release, counts) for label in release.labels}
        gone = {label: _depth(label, release) for label in sorted(then.keys() - now.keys())}
        both = replace(release, labels={**release.labels, **gone})
        each = np.array(
            [(then.get(label, 0), now.get(label, 0)) for label in both.labels], np.int64
        ).reshape(-1, 2)
        came = each[:, 1] - each[:, 0]
        more = release.assertions - release.labelled >= earlier.assertions - earlier.labelled
        holds = contained and more and bool(np.all(came >= 0))
        return cls(both, earlier, tuple(counts), holds, np.column_stack([each, came]))

    def left(self, ranges: Ends) -> Ranges:
        """Ranges of the counts of each set of labels, given the published counts of the release.

        A least exceeds its greatest if no two releases have all these counts.
        """
        low, high = (ends.copy() for ends in self._known)
        self._sets.tell(ranges, (low[:, 1], high[:, 1]))
        further = low[self._sets.of_labels.shared(0) :]
        for column, least in enumerate(self._least_joints(ranges)):
            further[:, column] = self._sets.least_shared(least)
        return self._sets.of_labels.sums.left((low, high), contained=self.contained)

    def narrow(self, left: Ranges, free: Ranges, min_cell: int) -> bool:
        """Whether the range of a small count is too narrow: of a label, a depth, or all others.

        No range is too narrow if no two releases have all these counts.

        Args:
            free: Their ranges if as much as possible were withheld.
        """
        if any(np.any(low > high) for low, high in (left, free)):
            return False
        (counts, places), total = self._protected, self._totals
        left, free = ((low[places], high[places]) for low, high in (left, free))
        others, others_free = ((total - high, total - low) for low, high in (left, free))
        at_others = narrower(total - counts, others, others_free, min_cell)
        return bool(
            np.any(narrower(counts, left, free, min_cell)) or np.any(at_others[len(self.counts) :])
        )

    @cached_property
    def _protected(self) -> tuple[Counts, list[int]]:
        """Counts of each label and of the labels at each depth, and their numbers."""
        at_depths = [self.counts[sorted(labels)].sum(axis=0) for labels in self._depths]
        numbers = [self._sets.of_labels.number[labels] for labels in self._depths]
        counts = np.concatenate([self.counts, np.array(at_depths, np.int64).reshape(-1, 3)])
        return counts, [*range(len(self.counts)), *numbers]

    @cached_property
    def _totals(self) -> Counts:
        then, now = self.earlier.assertions, self.release.assertions
        return np.array([then, now, now - then], np.int64)

    @cached_property
    def _depths(self) -> tuple[Labels, ...]:
        """The labels at each depth."""
        depths = np.array([*self.release.labels.values()], np.int64)
        return tuple(
            frozenset(np.flatnonzero(depths == depth).tolist()) for depth in np.unique(depths)
        )

    @cached_property
    def _sets(self) -> SetCounts:
        cells = tuple(sorted({*self.published, *self.earlier.ranges}))
        return SetCounts(self.release, self._depths, cells)

    @cached_property
    def _known(self) -> Ranges:
        """Range of each count from everything but the published counts of the release."""
        low, high = np.zeros((2, self._sets.of_labels.size, 3), np.int64)
        releases: tuple[Known | Release, ...] = (self.earlier, self.release)
        for column, release in enumerate(releases):
            used = self.counts[:, column] > 0
            low[:, column], high[:, column] = self._of_totals(release, used)
        most = high.max(initial=0)
        low[:, 2], high[:, 2] = 0 if self.contained else -most, most
        self._sets.tell(self.earlier.ranges, (low[:, 0], high[:, 0]))
        return low, high

    def _of_totals(
        self, release: Release | Known, used: NDArray[np.bool_]
    ) -> tuple[Numbers, Numbers]:
        """Range of each count from the totals of a release and from which labels are in use."""
        sets, n_labels = self._sets.of_labels, len(used)
        n, further = len(sets.number), release.assertions - release.labelled
        high = np.repeat([release.assertions, release.labelled, further], [n, n, sets.size - 2 * n])
        high[sets.further(0) :][:n_labels] = 0
        low = np.zeros_like(high)
        low[:n_labels], high[:n_labels] = used, np.where(used, release.labelled, 0)
        every = sets.number.get(frozenset(range(n_labels)))
        if every is not None:
            low[every] = high[every] = release.assertions
            low[sets.instances(every)] = high[sets.instances(every)] = release.labelled
        return low, high

    def _least_joints(self, ranges: Ends) -> list[dict[Cell, int]]:
        """Least number of instances in each count of two sets: then, now, and added since.

        Those added since are left out where the release need not contain the earlier one.
        """
        then, none = self.earlier.ranges, (0, self.earlier.labelled)
        before = {cell: least for cell, (least, _) in then.items()}
        now = {cell: ranges.get(cell, (0, 0))[0] for cell in self._sets.joints}
        came = {cell: least - then.get(cell, none)[1] for cell, least in now.items()}
        return [before, now, came] if self.contained else [before, now]


def of_few_labels(depths: Iterable[Cell], release: Release) -> set[Cell]:
    """Depths that would tell of single labels beside counts of nodes, as few labels are there.

    Together they have `MANY_LABELS`, since the other depths tell their sum.

    Args:
        depths: Counts of labels at a depth, those without any left out.
        release: The release.
    """
    labels = {cell: int(release.members(cell.meets[0]).sum()) for cell in depths}
    few, held = set[Cell](), 0
    for cell in sorted(labels, key=lambda one: (labels[one], one)):
        if labels[cell] < MANY_LABELS or 0 < held < MANY_LABELS:
            few.add(cell)
            held += labels[cell]
    return few


def _labels_now(label: str, release: Release, counts: Mapping[Cell, int]) -> int:
    """Instances with a label; that of an inner node which nobody publishes may be missing, as 0."""
    cell = Cell((release.at(label),))
    if cell in counts:
        return counts[cell]
    return release.supports[label] if cell == carried(label) else release.direct.get(label, 0)


def _labels_then(earlier: Known, release: Release) -> dict[str, int]:
    """Instances of an earlier release with each label that it has."""
    counts = earlier.counts
    own = {node: counts.get(carried(node), 0) for node in release.labels}
    own |= {
        cell.meets[0][1]: n
        for cell, n in counts.items()
        if len(cell.label_sets) == 1 and cell.meets[0][0] == "at"
    }
    return {node: n for node, n in own.items() if n}


def _depth(label: str, release: Release) -> int:
    """The longest way from a root to a label."""

    @cache
    def depth(node: str) -> int:
        return 1 + max(map(depth, release.parents.get(node, ())), default=-1)

    return depth(label)
