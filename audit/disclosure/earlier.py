"""Another shared view: what readers of a new one know of its release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from audit.disclosure.cells import Cell, Release, carried


@dataclass(frozen=True)
class Earlier:
    """Totals of a release, its counts, and the ranges that its published counts allow.

    The release is earlier than the one that is being published, or the same under another policy.

    Args:
        labelled: Number of instances with a label.
        assertions: Number of different labels, summed over instances.
        counts: Exact counts, published or not; at least those of every node in use.
        ranges: Least and greatest possible value of each published count.
    """

    labelled: int
    assertions: int
    counts: Mapping[Cell, int]
    ranges: Mapping[Cell, tuple[int, int]]

    def counted(self, cell: Cell | None) -> int | None:
        """The exact count of a cell, or of all labelled instances without one; None if unknown."""
        return self.labelled if cell is None else _counted(cell, self.counts)

    @cached_property
    def published(self) -> Mapping[Cell, int]:
        """The exact counts of the cells that are published in some form."""
        return {cell: self.counts[cell] for cell in self.ranges}

    def exact(self, cell: Cell) -> int | None:
        """A count that is published exactly; None for any other."""
        low, high = self.ranges.get(cell, (0, 1))
        return low if low == high else None

    def total(self, cell: Cell) -> int:
        """What a cell is part of: all labels, or all instances with one."""
        return self.assertions if cell.of_labels else self.labelled

    def beside(self, other: Earlier) -> Earlier:
        """What whoever has two views of one release knows: every range of both."""
        ranges = dict(self.ranges)
        for cell, (low, high) in other.ranges.items():
            least, most = ranges.get(cell, (low, high))
            ranges[cell] = max(low, least), min(high, most)
        return replace(self, counts={**self.counts, **other.counts}, ranges=ranges)

    def renamed(self, release: Release) -> Earlier:
        """The same, with cells in the canonical form of a new release."""
        return Earlier(
            self.labelled,
            self.assertions,
            {release.same(cell): count for cell, count in self.counts.items()},
            {release.same(cell): ends for cell, ends in self.ranges.items()},
        )

    def lies_within(self, counts: Mapping[Cell, int], release: Release) -> bool:
        """Whether a new release can contain this one: none of its totals and counts is smaller."""
        now = {carried(node): count for node, count in release.supports.items()} | dict(counts)
        grown = ((then, _counted(cell, now)) for cell, then in self.counts.items())
        return (
            self.labelled <= release.labelled
            and self.assertions <= release.assertions
            and all(new is None or then <= new for then, new in grown)
        )


def _counted(cell: Cell, counts: Mapping[Cell, int]) -> int | None:
    """A count, 0 where a node that it asks for is not in use; None where it is not known."""
    if cell in counts:
        return counts[cell]
    return None if all(counts.get(carried(node)) for _, node in cell.meets) else 0
