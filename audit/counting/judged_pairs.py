"""The pair table while it is judged: in memory, or on the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import polars as pl
import pyarrow.parquet as pq

from audit.base.dag import IntArray
from audit.base.disk import PassingFolder, on_disk
from audit.base.progress import Progress
from audit.counting.pair_table import named, numbered, pair_table
from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.pairs.tally import PairTally
from audit.hierarchies.hierarchy import Hierarchy

PAIRS_AT_ONCE = 500_000
"""Lines of a pair table in memory that are judged at a time."""
_COUNTS = ("support_a", "support_b", "joint", "joint_entailed")

Block: TypeAlias = tuple[int, pl.DataFrame]
"""Some lines of the pair table, after the number of the first of them."""
Marked: TypeAlias = Callable[[pl.DataFrame, int], pl.DataFrame]
"""Adds how they were judged to lines of the pair table, the first of which has that number."""


class Pairs(Protocol):
    """Every pair with a joint instance, in order."""

    def blocks(self) -> Iterable[Block]:
        """The pairs with ``a, b, joint, joint_entailed`` at least, some lines at a time."""

    def table(self, marked: Marked, progress: Progress) -> tuple[pl.LazyFrame, object]:
        """The pair table as it was marked, and what it lies in while it is on the disk."""


@dataclass(frozen=True, eq=False)
class PairsInMemory:
    """A pair table in memory.

    Args:
        counted: From `audit.counting.pair_table.pair_table`, with ``joint_entailed``.
    """

    counted: pl.DataFrame

    @classmethod
    def of(cls, counted: pl.DataFrame) -> PairsInMemory:
        """The table, its counts in half the space that they are read in."""
        return cls(counted.with_columns(pl.col(_COUNTS).cast(pl.Int32)))

    def blocks(self) -> list[Block]:
        """The lines of the table."""
        starts = range(0, max(len(self.counted), 1), PAIRS_AT_ONCE)
        return [(line, self.counted.slice(line, PAIRS_AT_ONCE)) for line in starts]

    def table(self, marked: Marked, progress: Progress) -> tuple[pl.LazyFrame, object]:
        """The table as it was marked."""
        blocks = [marked(pairs, line) for line, pairs in self.blocks()]
        table = pl.concat(blocks, rechunk=False).lazy()
        return table.with_columns(pl.col(_COUNTS).cast(pl.Int64)), None


@dataclass(frozen=True, eq=False)
class TalliedPairs:
    """The pairs of a tally, whose table is written to the disk; memory holds one block at a time.

    Args:
        hierarchy: The hierarchy.
        tally: What was counted.
    """

    hierarchy: Hierarchy
    tally: PairTally

    def blocks(self) -> Iterator[Block]:
        """What the judgement of pairs needs of each line."""
        for line, pairs, entailed in self._blocks():
            columns = {"a": pairs.a, "b": pairs.b, "joint": pairs.joint, "joint_entailed": entailed}
            yield line, pl.DataFrame(columns)

    def table(self, marked: Marked, progress: Progress) -> tuple[pl.LazyFrame, object]:
        """The table as it was marked, read some lines at a time.

        Raises:
            OutputError: If the disk takes no more.
        """
        progress("writing pairs")
        folder = PassingFolder()
        file = folder.path / "pairs.parquet"
        none = self._lines(PairCounts.none(), self.tally.joint_entailed(PairCounts.none()))
        schema = marked(none, 0).to_arrow().schema
        with on_disk(folder.path), pq.ParquetWriter(file, schema, compression="lz4") as writer:
            for line, pairs, entailed in self._blocks():
                lines = marked(self._lines(pairs, entailed), line)
                writer.write_table(lines.to_arrow().cast(schema))
        return named(pl.scan_parquet(file), self.hierarchy), folder

    def _blocks(self) -> Iterator[tuple[int, PairCounts, IntArray]]:
        line = 0
        for pairs in self.tally.blocks():
            yield line, pairs, self.tally.joint_entailed(pairs)
            line += len(pairs)

    def _lines(self, pairs: PairCounts, entailed: IntArray) -> pl.DataFrame:
        """Lines of the table with numbers for names."""
        table = pair_table(self.hierarchy, pairs, self.tally.support)
        return numbered(table.with_columns(joint_entailed=pl.Series(entailed)))
