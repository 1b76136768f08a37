"""What counts of instances and of labels tell of sets of labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.disclosure.cells import Cell, Release
from audit.disclosure.label_sets import Apart, LabelSet, LabelSets

Ends: TypeAlias = Mapping[Cell, tuple[int, int]]
"""Least and greatest value of counts."""
Numbers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SetCounts:
    """Counts of a release as counts of sets of its labels.

    Args:
        release: The labels of the release, numbered in their order.
        depths: The labels at each depth.
        cells: The counts.
    """

    release: Release
    depths: tuple[LabelSet, ...]
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
        """Narrow the least and the most of each set by those of counts, in place.

        As many instances as have a label of each of several sets have one of each; where there is
        one set, and no instance is left out, no more have.
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
    def _sides(self) -> dict[Cell, tuple[LabelSet, ...]]:
        """The sets of labels of which each instance of a count has one of each."""
        return {cell: self._sides_of(cell) for cell in self.cells}

    def _sides_of(self, cell: Cell) -> tuple[LabelSet, ...]:
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
