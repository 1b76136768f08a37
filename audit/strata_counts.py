"""Pairs counted stratum by stratum: what a fair expectation needs, kept on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from audit.checkpoint import under, within
from audit.dag import IntArray, Sparse
from audit.engine.sums import Sums
from audit.engine.tally import Batch, PairTally
from audit.spill import Arrays, SpilledTail
from audit.sums_file import SumsFile, write_sums

NO_STRATUM = -1
"""Of instances with fewer than two labels: they cannot carry two nodes through different ones."""

_MARGINS = ("size", "support", "direct")


@dataclass(frozen=True, eq=False)
class StratumCounts:
    """Counts of each stratum.

    Args:
        cuts: First number of direct labels of each stratum, shape (n_strata,).
        size: Instances, shape (n_strata,).
        support: Instances carrying each node, shape (n_strata, n_nodes).
        direct: Instances with each node as a label, same shape.
        files: Of each stratum the joint counts of the pairs of which a node has a child.
        holder: What the files go with.
    """

    cuts: IntArray
    size: IntArray
    support: IntArray
    direct: IntArray
    files: tuple[Path, ...]
    holder: object = None

    def pairs(self, stratum: int) -> Sums:
        """The joint counts of a stratum's pairs of which a node has a child."""
        return SumsFile(self.files[stratum]).all()

    def blocks(self, stratum: int, first: int, stop: int) -> Iterator[Sums]:
        """The same from key ``first`` to before ``stop``, in order, some at a time."""
        return SumsFile(self.files[stratum]).blocks(first, stop)


class TallyByStratum:
    """Pairs of instances that come stratum by stratum, of all together and of each apart.

    Args:
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).
        first: Nodes to have their pairs in memory, the most frequent before others.
        memory: Bytes that may be taken.
        folder: Where the counts of strata go, and those of pairs of rare nodes.
        stored: What `state` gave, to go on there.
    """

    def __init__(
        self, closure: Sparse, first: IntArray, memory: int, folder: Path, stored: Arrays
    ) -> None:
        self.folder, self.inner = folder, np.bincount(closure.indices) > 1
        parts = {part: within(stored, part) for part in ("total", "stratum")}
        self.tails = [
            SpilledTail.restored(folder, memory // 16, f"{part}-pairs", within(kept, "tail"))
            for part, kept in parts.items()
        ]
        self.total, self.under_way = (
            _tally(closure, first, memory // 4, tail, kept)
            for tail, kept in zip(self.tails, parts.values(), strict=True)
        )
        self.margins = [list(stored.get(name, ())) for name in _MARGINS]

    def add(self, batch: Batch, aggregated: Sparse) -> None:
        """Add a batch of the stratum under way."""
        self.under_way.add(batch, aggregated)

    @property
    def instances(self) -> int:
        """Instances counted."""
        return self.total.instances + self.under_way.instances

    def end(self, stratum: int) -> None:
        """End the stratum under way; `NO_STRATUM` is kept in the total alone."""
        tally = self.under_way
        if stratum != NO_STRATUM:
            write_sums(tally.beside(self.inner), self._file(stratum), confusion=False)
            ended = (tally.instances, tally.support.copy(), tally.direct_support.copy())
            for column, value in zip(self.margins, ended, strict=True):
                column.append(value)
        self.total.absorb(tally)

    def counts(self, cuts: IntArray, holder: object) -> StratumCounts:
        """The counts of the strata, all of which have ended."""
        shape = (len(cuts), len(self.inner))
        size, support, direct = (np.array(column, np.int64) for column in self.margins)
        files = tuple(map(self._file, range(len(cuts))))
        return StratumCounts(
            cuts, size, support.reshape(shape), direct.reshape(shape), files, holder
        )

    def state(self) -> Arrays:
        """All that it takes to go on here to the same bytes."""
        state = {
            name: np.array(column) for name, column in zip(_MARGINS, self.margins, strict=True)
        }
        kept = zip(("total", "stratum"), (self.total, self.under_way), self.tails, strict=True)
        for part, tally, tail in kept:
            state |= under(part, tally.state() | under("tail", tail.state()))
        return state

    def _file(self, stratum: int) -> Path:
        return self.folder / f"stratum-{stratum:03d}.parquet"


def _tally(
    closure: Sparse, first: IntArray, square: int, tail: SpilledTail, stored: Arrays
) -> PairTally:
    tally = PairTally(closure, square=square, tail=tail, first=first)
    if stored:
        tally.restore(stored)
    return tally
