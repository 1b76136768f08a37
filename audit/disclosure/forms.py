"""Sums of counts that must stay open where they are small."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from audit.disclosure.cells import Cell, Release, carried, together
from audit.disclosure.told import Form, seen_whole

FEW = 3
"""Largest number of children without a published count whose parent's count can disclose one."""


@dataclass(frozen=True, eq=False)
class Forms:
    """What is protected of a release that publishes some counts."""

    release: Release
    published: Mapping[Cell, int]
    whole: bool

    @cached_property
    def protected(self) -> tuple[Form, ...]:
        """All sums that are protected where they are small."""
        every = self.release.carrying if self.whole else ()
        return tuple(
            dict.fromkeys(
                form
                for cell in (*self.published, *every)
                for form in (*self._of_cell(cell), *self._of_descendants(cell))
            )
        )

    @property
    def every(self) -> tuple[Form, ...]:
        """The same where all labels are seen, each label, and of few labels each pair of nodes."""
        whole, few = replace(self, whole=True), seen_whole(self.release)
        cells = [Cell((self.release.at(name),)) for name in self.release.labels]
        cells += [together(a, b) for a, b in combinations(self.release.carrying if few else (), 2)]
        more = (form for cell in cells for form in whole._of_cell(cell))
        return tuple(dict.fromkeys((*whole.protected, *more)))

    def _of_cell(self, cell: Cell) -> Iterator[Form]:
        if not cell.by_label or self.whole:
            yield ((1, cell),)
        if cell.by_label:
            return
        yield (1, None), (-1, cell)
        sides = cell.sides
        for side in sides:
            if side in self.published:
                yield (1, side), (-1, cell)
        if len(sides) == 2 and all(side in self.published for side in sides):
            yield (1, None), (-1, sides[0]), (-1, sides[1]), (1, cell)

    def _of_descendants(self, cell: Cell) -> Iterator[Form]:
        """Differences of a node and what lies below it, and its children that nobody publishes."""
        if cell.misses or len(cell.meets) != 1 or cell.meets[0][0] != "below":
            return
        node = cell.meets[0][1]
        within = Cell((("strictly_below", node),))
        if within in self.published:
            yield (1, cell), (-1, within)
        children = [carried(child) for child in self.release.children.get(node, ())]
        unpublished = [child for child in children if child not in self.published]
        if len(unpublished) <= FEW or self.whole:
            for child in unpublished:
                yield (1, cell), (-1, child)
                yield ((1, child),)
        for other in self._below.get(node, ()):
            yield (1, cell), (-1, other)

    @cached_property
    def _below(self) -> Mapping[str, Sequence[Cell]]:
        """The counts of nodes that are published below each node."""
        return self.release.by_node_above(self.published)
