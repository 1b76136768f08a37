"""Instances with each label, labels by depth and all labels: what these sums tell of each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, reduce
from operator import or_
from typing import TypeAlias

import numpy as np

from audit.results.disclosure.cells import Cell, Release, carried, labels_at
from audit.results.disclosure.earlier import Earlier
from audit.results.disclosure.lines import Counts, Ranges, left_possible, narrower

Ends: TypeAlias = Mapping[Cell, tuple[int, int]]
"""Least and greatest value of counts."""
Left: TypeAlias = tuple[Ranges, Ranges]
"""What each label can be, and the labels at each depth."""
Borne: TypeAlias = tuple[Counts, Counts]
"""Places of labels that every instance of a count has, and of those without an instance beside."""


@dataclass(frozen=True, eq=False)
class LabelSums:
    """Labels in use in a release or in an earlier one, and how many instances have each.

    Args:
        now: What readers know of the release beside its counts.
        then: The same of the earlier release, with its labels alone; no labels without one.
        told_then: What readers know of the counts of the earlier release.
        contained: Whether the release can hold the earlier one.
        depths: Depth of each label in use in either.
        counts: Instances with each label then, now, and their difference, shape (n_labels, 3).
    """

    now: Release
    then: Release
    told_then: Ends
    contained: bool
    depths: Mapping[str, int]
    counts: Counts

    @classmethod
    def of(
        cls, release: Release, counts: Mapping[Cell, int], earlier: Earlier, *, contained: bool
    ) -> LabelSums:
        """The labels of a release, with its published counts, and of an earlier one."""
        then = _labels_then(earlier, release)
        gone = {
            label: _depth(label, release) for label in sorted(then.keys() - release.labels.keys())
        }
        depths = {**release.labels, **gone}
        before = replace(
            release,
            labelled=earlier.labelled,
            assertions=earlier.assertions,
            labels={label: depth for label, depth in depths.items() if label in then},
        )
        both = np.array(
            [(then.get(label, 0), _labels_now(label, release, counts)) for label in depths],
            np.int64,
        ).reshape(-1, 2)
        came = both[:, 1] - both[:, 0]
        return cls(
            release, before, earlier.ranges, contained, depths, np.column_stack([both, came])
        )

    def bears(self, cell: Cell) -> bool:
        """Whether a count of the release tells anything of a label, or of the labels at a depth."""
        return cell.of_labels or any(map(len, self._borne_by(cell)))

    def left(self, told: Ends) -> Left:
        """What each label and the labels at each depth can be, as counts of the release are told.

        A least is above its greatest if no two releases have all these counts.
        """
        (low_then, high_then), (low, high) = self._then, self._now(told)
        total = int(self._totals[:2].max())
        most = np.full(len(self.depths), total)
        least = np.zeros_like(most) if self.contained else -most
        parts = (
            np.column_stack([low_then, low, least]),
            np.column_stack([high_then, high, most]),
        )
        return left_possible(parts, self._of, self._lines(told), self._totals)

    def narrow(self, left: Left, free: Left, min_cell: int) -> bool:
        """Whether a small count, of a label, at a depth or at all others, is told too finely.

        Nothing is where no two releases have all these counts.

        Args:
            left: What these can be.
            free: What they could be if as much as possible were withheld.
            min_cell: Smallest count that may be shown.
        """
        (labels, lines), (labels_free, lines_free) = left, free
        if any(np.any(low > high) for low, high in (*left, *free)):
            return False
        at, total = np.zeros_like(lines[0]), self._totals
        np.add.at(at, self._of, self.counts)
        rest, rest_free = ((total - high, total - low) for low, high in (lines, lines_free))
        return bool(
            np.any(narrower(self.counts, labels, labels_free, min_cell))
            or np.any(narrower(at, lines, lines_free, min_cell))
            or np.any(narrower(total - at, rest, rest_free, min_cell))
        )

    @cached_property
    def _of(self) -> Counts:
        """The depth of each label."""
        return np.array([*self.depths.values()], np.int64)

    @cached_property
    def _totals(self) -> Counts:
        then, now = self.then.assertions, self.now.assertions
        return np.array([then, now, now - then], np.int64)

    @cached_property
    def _then(self) -> tuple[Counts, Counts]:
        borne = {cell: _borne(cell, self.then) for cell in self.told_then}
        return self._each(self.then, self.told_then, borne)

    def _now(self, told: Ends) -> tuple[Counts, Counts]:
        return self._each(self.now, told, {cell: self._borne_by(cell) for cell in told})

    def _borne_by(self, cell: Cell) -> Borne:
        if cell not in self._known_borne:
            self._known_borne[cell] = _borne(cell, self.now)
        return self._known_borne[cell]

    @cached_property
    def _known_borne(self) -> dict[Cell, Borne]:
        return {}

    def _each(
        self, release: Release, told: Ends, borne: Mapping[Cell, Borne]
    ) -> tuple[Counts, Counts]:
        """Least and most of each label in one of the releases, as its counts are told."""
        size = len(release.labels)
        low, high = np.ones(size, np.int64), np.full(size, release.labelled)
        for cell, (least, most) in told.items():
            had, within = borne[cell]
            low[had] = np.maximum(low[had], least)
            high[within] = np.minimum(high[within], most)
        ends = np.zeros((2, len(self.depths)), np.int64)
        ends[:, [label in release.labels for label in self.depths]] = low, high
        return ends[0], ends[1]

    def _lines(self, told: Ends) -> Ranges:
        """Least and most of the labels at each depth, as these are told."""
        depths = range(int(self._of.max(initial=0)) + 1)
        then, now = (
            np.array([its.get(labels_at(depth), (0, total)) for depth in depths], np.int64)
            for its, total in ((self.told_then, self.then.assertions), (told, self.now.assertions))
        )
        most = np.full(len(depths), max(self.then.assertions, self.now.assertions))
        return (
            np.column_stack([then[:, 0], now[:, 0], -most]),
            np.column_stack([then[:, 1], now[:, 1], most]),
        )


def _borne(cell: Cell, release: Release) -> Borne:
    """What a count of instances tells of labels: at least as many have one, or at most."""
    none = np.zeros(len(release.labels), np.bool_)
    if cell.of_labels:
        return np.flatnonzero(none), np.flatnonzero(none)
    missed = reduce(or_, map(release.members, cell.misses), none)
    sets = [release.members(one) & ~missed for one in cell.meets]
    had = [int(held.argmax()) for held in sets if held.sum() == 1]
    every = len(sets) == 1 and not cell.misses
    return np.array(had, np.int64), np.flatnonzero(sets[0] if every else none)


def _labels_now(label: str, release: Release, counts: Mapping[Cell, int]) -> int:
    """Instances with a label; that of an inner node which nobody publishes may be missing, as 0."""
    cell = Cell((release.at(label),))
    if cell in counts:
        return counts[cell]
    return release.supports[label] if cell == carried(label) else release.direct.get(label, 0)


def _labels_then(earlier: Earlier, release: Release) -> dict[str, int]:
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
