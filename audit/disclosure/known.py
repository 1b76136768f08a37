"""What readers know already of a release: from other views of it, and from an earlier one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import polars as pl

from audit.disclosure.cells import Cell, LabelSet, Release, carried
from audit.disclosure.digits import Range
from audit.disclosure.quantity import Shown, less_precise, possible

NumberId: TypeAlias = tuple[str, tuple[str, ...], str]
"""Where a number stands: id of the finding, nodes of the line (empty: of the finding), name."""
DENOMINATOR = "denominator"
"""Name of the number of a check, whose name stands for the id of a finding."""


@dataclass(frozen=True)
class Known:
    """What readers know of a release from views of it that were published before.

    Args:
        labelled: Number of instances with a label.
        assertions: Number of different labels, summed over instances.
        counts: Exact counts, published or not; at least those of every node in use.
        ranges: Least and greatest possible value of each published count.
        numbers: Further counts that findings tell, by their place: the count, and as it is shown.
        earlier: What the same readers know of earlier releases, each without any of its own.
    """

    labelled: int = 0
    assertions: int = 0
    counts: Mapping[Cell, int] = field(default_factory=dict)
    ranges: Mapping[Cell, Range] = field(default_factory=dict)
    numbers: Mapping[NumberId, tuple[int, Shown]] = field(default_factory=dict)
    earlier: tuple[Known, ...] = ()

    @classmethod
    def of(cls, frame: pl.DataFrame, numbers: Mapping[str, Any] | None = None) -> Known | None:
        """Inverse of `known_frame` and `numbers_as_json`."""
        rows = [(_cell(row), row) for row in frame.iter_rows(named=True)]
        counts = {cell: row["count"] for cell, row in rows}
        if not counts:
            return None
        return cls(
            labelled=counts.pop(_LABELLED),
            assertions=counts.pop(_ASSERTIONS),
            counts=counts,
            ranges={c: (row["least"], row["most"]) for c, row in rows if row["least"] is not None},
            numbers={
                (row["of"], tuple(row["nodes"]), row["name"]): (row["n"], row["told"])
                for row in (numbers or {"numbers": ()})["numbers"]
            },
        )

    def numbers_as_json(self) -> dict[str, Any]:
        """The numbers as plain data, an object each."""
        rows = (
            {"of": of, "nodes": list(nodes), "name": name, "n": n, "told": shown}
            for (of, nodes, name), (n, shown) in self.numbers.items()
        )
        return {"numbers": list(rows)}

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

    def within(self, cell: Cell, ends: Range) -> Range:
        """The part of a range that these views leave a count."""
        low, high = self.ranges.get(cell, ends)
        return max(low, ends[0]), min(high, ends[1])

    def no_finer(self, place: NumberId, value: Any, shown: Shown) -> Shown:
        """A number as it may be shown: no finer than the views show it, if they do."""
        known = self.numbers.get(place)
        return shown if known is None or known[0] != value else less_precise(shown, known[1])

    def beside(self, other: Known) -> Known:
        """What whoever has these and other views of the release knows."""
        numbers = dict(self.numbers)
        for place, (value, shown) in other.numbers.items():
            before = numbers.get(place)
            if before is None or less_precise(before[1], shown) == before[1]:
                numbers[place] = value, shown
        ranges = {cell: self.within(cell, ends) for cell, ends in other.ranges.items()}
        return Known(
            max(self.labelled, other.labelled),
            max(self.assertions, other.assertions),
            {**self.counts, **other.counts},
            {**self.ranges, **ranges},
            numbers,
            self.earlier,
        )

    def renamed(self, release: Release) -> Known:
        """The same, with cells in the canonical form of a new release."""
        return replace(
            self,
            counts={release.same(cell): count for cell, count in self.counts.items()},
            ranges={release.same(cell): ends for cell, ends in self.ranges.items()},
            earlier=tuple(one.renamed(release) for one in self.earlier),
        )

    def lies_within(self, later: Known) -> bool:
        """Whether a release can contain this one: none of its totals and counts is smaller."""
        grown = ((then, later.counted(cell)) for cell, then in self.counts.items())
        return (
            self.labelled <= later.labelled
            and self.assertions <= later.assertions
            and all(new is None or then <= new for then, new in grown)
        )


def chains_within(later: Known, earlier: Iterable[Known]) -> list[tuple[Known, ...]]:
    """Releases that a later one can contain, each chain with those that its last can contain."""
    within = [one for one in earlier if one.lies_within(later)]
    chains: list[tuple[Known, ...]] = []
    for one in sorted(within, key=lambda its: (-its.labelled, -its.assertions)):
        place = next((i for i, its in enumerate(chains) if one.lies_within(its[0])), None)
        if place is None:
            chains.append((one,))
        else:
            chains[place] = (one, *chains[place])
    return chains


def _counted(cell: Cell, counts: Mapping[Cell, int]) -> int | None:
    """A count, 0 where a node that it asks for is not in use; None where it is not known."""
    if cell in counts:
        return counts[cell]
    return None if all(counts.get(carried(node)) for _, node in cell.meets) else 0


def left_possible(
    shown: Mapping[Cell, int | str],
    release: Release,
    min_cell: int,
    shares: Collection[tuple[Cell, Cell]] = (),
) -> dict[Cell, Range]:
    """Least and greatest value of each count that is shown, or is part of a share that is shown.

    Labels at a depth are no fewer than the nodes in use there, which are shown beside them.
    """
    ranges = {
        cell: possible(value, release.total(cell), min_cell)
        for cell, value in without_shares(shown, shares).items()
    }
    in_use = {cell: int(release.members(cell.meets[0]).sum()) for cell in ranges if cell.of_labels}
    return {cell: (max(low, in_use.get(cell, 0)), high) for cell, (low, high) in ranges.items()}


def without_shares(
    shown: Mapping[Cell, int | str], shares: Collection[tuple[Cell, Cell]]
) -> dict[Cell, int | str]:
    """What is shown, without the counts of shares of which one is withheld."""
    withheld = (share for share in shares if any(isinstance(shown[cell], str) for cell in share))
    hidden = {cell for share in withheld for cell in share}
    return {cell: value for cell, value in shown.items() if cell not in hidden}


_SETS = pl.List(pl.Struct({"scope": pl.String, "node": pl.String}))
_KNOWN: dict[str, Any] = {
    "meets": _SETS,
    "misses": _SETS,
    "of_labels": pl.Boolean,
    "differing": pl.Boolean,
    "count": pl.Int64,
    "least": pl.Int64,
    "most": pl.Int64,
}
_LABELLED, _ASSERTIONS = Cell(()), Cell((), of_labels=True)
"""Cells of the two totals, which have no label sets."""


def known_frame(known: Known | None) -> pl.DataFrame:
    """Table of what is known of a release, a row per count; empty without any.

    ``least, most`` are null if the count is not published. The first two rows are the totals:
    labelled instances, and their labels.
    """
    if known is None:
        return pl.DataFrame(schema=_KNOWN)
    counts = {_LABELLED: known.labelled, _ASSERTIONS: known.assertions, **known.counts}
    rows = [
        (
            *(_rows(sets) for sets in (cell.meets, cell.misses)),
            *(cell.of_labels, cell.differing, count),
            *known.ranges.get(cell, (None, None)),
        )
        for cell, count in counts.items()
    ]
    return pl.DataFrame(rows, schema=_KNOWN, orient="row")


def earlier_frame(earlier: Sequence[Known]) -> pl.DataFrame:
    """Tables of what is known of several releases, below each other: ``place`` says of which."""
    frames = [known_frame(None), *map(known_frame, earlier)]
    return pl.concat(
        frame.with_columns(place=pl.lit(place, pl.Int64)) for place, frame in enumerate(frames)
    )


def earlier_of(frame: pl.DataFrame) -> tuple[Known, ...]:
    """Inverse of `earlier_frame`."""
    each = (frame.filter(place=place).drop("place") for place in frame["place"].unique().sort())
    return tuple(known for one in each if (known := Known.of(one)))


def _rows(sets: tuple[LabelSet, ...]) -> list[dict[str, str]]:
    return [{"scope": scope, "node": node} for scope, node in sets]


def _cell(row: dict[str, Any]) -> Cell:
    meets, misses = (
        tuple((one["scope"], one["node"]) for one in row[name]) for name in ("meets", "misses")
    )
    return Cell(meets, misses, row["of_labels"], row["differing"])
