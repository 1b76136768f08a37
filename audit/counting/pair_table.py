"""The pair table: the counts of each pair, while it is judged, and its published form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from audit.base.dag import IntArray
from audit.base.disk import PassingFolder, on_disk
from audit.base.progress import Progress
from audit.base.schemas import schema
from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.pairs.tally import PairTally
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import RELATIONS, relate

JUDGED = schema(
    (
        "observed expected_length ratio p_value q_value explained effective shrunk_ratio "
        "ratio_low ratio_high",
        pl.Float64,
    ),
    ("groups found_rank", pl.Int64),
    ("group_sum group_squares", pl.Float64),
)
"""Columns with the judgement of a pair; null if it was not judged. ``observed`` and ``effective``,
by weight, are null without groups. So are ``groups``, and the sum over all groups of the share of
a group's records that count, given for every pair that some count for, and of its squares."""


def pair_table(hierarchy: Hierarchy, counts: PairCounts, supports: IntArray) -> pl.DataFrame:
    """Table of the counts, relation and lowest common ancestor of each pair, with ids as Enum."""
    table = numbered_pairs(hierarchy, counts, supports)
    ids, relations = pl.Enum(hierarchy.nodes), pl.Enum(RELATIONS)
    nodes = [table[name].cat.to(ids) for name in ("a", "b", "lca")]
    return table.with_columns(*nodes, table["relation"].cat.to(relations))


def numbered_pairs(hierarchy: Hierarchy, counts: PairCounts, supports: IntArray) -> pl.DataFrame:
    """The same with numbers for names, as `named` takes them."""
    relation, lca = relate(hierarchy, counts.a, counts.b)
    return pl.DataFrame(
        {
            "a": counts.a.astype(np.uint32),
            "b": counts.b.astype(np.uint32),
            "support_a": supports[counts.a],
            "support_b": supports[counts.b],
            "joint": counts.joint,
            "confusion_sum": counts.confusion_sum,
            "relation": relation,
            "lca": lca,
        }
    )


def named(pairs: pl.LazyFrame, hierarchy: Hierarchy) -> pl.LazyFrame:
    """Replace the numbers of nodes and relations by their names."""
    ids, relations = pl.Enum(hierarchy.nodes), pl.Enum(RELATIONS)
    nodes, relation = pl.col("a", "b", "lca"), pl.col("relation")
    return pairs.with_columns(nodes.cat.to(ids), relation.cat.to(relations))


def described(pairs: pl.LazyFrame, instances: int) -> pl.LazyFrame:
    """The published pair table, lazily: with rate, confusion, expectation and lift.

    If a table lacks ``joint_entailed`` or columns of `JUDGED`, as pairs of a model do, these are
    null.
    """
    # a number of its own for each row: polars rounds quotients by one number for all otherwise,
    # unless there is a single row
    n = pl.col("joint") * 0 + max(instances, 1)
    independent = pl.col("support_a") * pl.col("support_b") / n
    there = pairs.collect_schema().names()
    return pairs.select(
        pl.col("a", "b").cast(pl.String),
        pl.col("support_a", "support_b", "joint"),
        _if_there(there, "joint_entailed", pl.Int64),
        (pl.col("joint") / n).alias("rate"),
        (pl.col("confusion_sum") / n).alias("confusion"),
        independent.alias("expected"),
        (pl.col("joint") / independent).alias("lift"),
        *(_if_there(there, name, dtype) for name, dtype in JUDGED.items()),
        pl.col("relation").cast(pl.String),
        pl.col("lca").cast(pl.String),
    )


def observed_ratio() -> pl.Expr:
    """Column ``ratio``: joint instances without a label below both nodes, over those expected.

    Of ``joint, joint_entailed, observed, expected_length``; null where nothing is expected.
    """
    expected, instances = pl.col("expected_length"), pl.col("joint") - pl.col("joint_entailed")
    observed = pl.coalesce("observed", instances)
    return pl.when(expected > 0).then(observed / expected).alias("ratio")


def _if_there(there: Sequence[str], name: str, dtype: type[pl.DataType]) -> pl.Expr:
    return pl.col(name) if name in there else pl.lit(None, dtype).alias(name)


PAIRS_AT_ONCE = 500_000
"""Number of rows of a pair table in memory that are judged at a time."""
_COUNTS = ("support_a", "support_b", "joint", "joint_entailed")

Block: TypeAlias = tuple[int, pl.DataFrame]
"""The index of the first row of a block of the pair table, and the block's rows."""
Marked: TypeAlias = Callable[[pl.DataFrame, int], pl.DataFrame]
"""A function that adds the judgements to a block of rows, given the index of its first row."""


class Pairs(Protocol):
    """Every pair with a joint instance, in order."""

    def blocks(self) -> Iterable[Block]:
        """The pairs in blocks of rows, with at least ``a, b, joint, joint_entailed``."""

    def table(self, marked: Marked, progress: Progress) -> tuple[pl.LazyFrame, object]:
        """The pair table with the judgements, and the object that keeps its files alive, if any."""


@dataclass(frozen=True, eq=False)
class PairsInMemory:
    """A pair table in memory.

    Args:
        counted: From `audit.counting.pair_table.pair_table`, with ``joint_entailed``.
    """

    counted: pl.DataFrame

    @classmethod
    def of(cls, counted: pl.DataFrame) -> PairsInMemory:
        """Build from a counted table, with counts narrowed to half their size."""
        return cls(counted.with_columns(pl.col(_COUNTS).cast(pl.Int32)))

    def blocks(self) -> list[Block]:
        """The rows of the table in blocks."""
        starts = range(0, max(len(self.counted), 1), PAIRS_AT_ONCE)
        return [(line, self.counted.slice(line, PAIRS_AT_ONCE)) for line in starts]

    def table(self, marked: Marked, progress: Progress) -> tuple[pl.LazyFrame, object]:
        """The table with the judgements."""
        blocks = [marked(pairs, line) for line, pairs in self.blocks()]
        table = pl.concat(blocks, rechunk=False).lazy()
        return table.with_columns(pl.col(_COUNTS).cast(pl.Int64)), None


@dataclass(frozen=True, eq=False)
class TalliedPairs:
    """The pairs of a tally, whose table is written to the disk; memory holds one block at a time.

    Args:
        hierarchy: The hierarchy.
        tally: The counts of the pairs.
    """

    hierarchy: Hierarchy
    tally: PairTally

    def blocks(self) -> Iterator[Block]:
        """The columns that the judgement of pairs needs, in blocks of rows."""
        for line, pairs, entailed in self._blocks():
            columns = {"a": pairs.a, "b": pairs.b, "joint": pairs.joint, "joint_entailed": entailed}
            yield line, pl.DataFrame(columns)

    def table(self, marked: Marked, progress: Progress) -> tuple[pl.LazyFrame, object]:
        """The table with the judgements, written to the disk and read lazily.

        Raises:
            OutputError: If the disk is full.
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
        table = numbered_pairs(self.hierarchy, pairs, self.tally.support)
        return table.with_columns(joint_entailed=pl.Series(entailed))
