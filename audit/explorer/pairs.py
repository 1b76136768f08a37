"""A table of pairs: all of a node from either end, two nodes, and the whole in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from audit.base.disk import written_whole
from audit.base.errors import OutputError
from audit.base.progress import logged
from audit.counting.pair_table import PAIRS_AT_ONCE, PairTable
from audit.explorer.rows import ROWS, Query

AT_ONCE = 4_000_000
"""Pairs that are looked through whenever a node is asked for; more are put in order once."""
MOST_KEPT = 4
"""Tables in order that are kept, the latest used ones."""
COUNTS = {"joint", "joint_entailed", "co_predicted", "confusion"}
"""Columns that follow from themselves and the number of instances with both."""


class Pairs:
    """The pairs of a run, or of its predictions: rows as `audit.explorer.rows.Stored` has them.

    Args:
        table: The table; ``counted`` lies in the order of first and second nodes.
        digest: SHA-256 of its file, by which the order of second nodes is kept.
    """

    numbered = True

    def __init__(self, table: PairTable, digest: str) -> None:
        self.table, self._counted = table, table.counted
        self._total = int(self._counted.select(pl.len()).collect().item())
        many = self._total > AT_ONCE
        self._by_second = by_second(self._counted, digest) if many else self._counted

    @cached_property
    def schema(self) -> Mapping[str, pl.DataType]:
        """All columns of the table."""
        return pl.Schema(self.table.schema)

    def counted_with(self, node: int) -> pl.DataFrame:
        """What is counted of all pairs with a node, in the order of the other ones."""
        before, behind = (
            rows.filter(pl.col(end) == node)
            for rows, end in ((self._by_second, "b"), (self._counted, "a"))
        )
        return pl.concat([before, behind]).collect()

    def partners(self, node: int) -> pl.DataFrame:
        """All pairs with a node: the ``other`` one, its ``title`` and ``support``, the columns of
        the table, and ``strength``: the log likelihood ratio of what is observed to what is
        expected, of the length where that is known, below 0 where fewer are observed.
        """
        counted = self.counted_with(node)
        other = pl.Series("other", _other(counted, node))
        names, times = self.table.names, pl.coalesce("ratio", "lift")
        strength = pl.col("joint") * (times.log() - 1 + 1 / times) * (times - 1).sign()
        shown = [name for name in self.schema if not name.startswith(("support_", "rate"))]
        titles = pl.Series("title", self.table.hierarchy.titles, dtype=pl.String)
        own = pl.Series("support", self.table.support[other.to_numpy()])
        return self.table.described(counted, shown).select(
            names.gather(other).alias("other"),
            titles.gather(other),
            pl.col("relation"),
            own,
            strength.alias("strength"),
            pl.exclude("relation"),
        )

    def pair(self, a: int, b: int) -> Mapping[str, Any] | None:
        """The row of the pair of two nodes, in any order; None if they are never together."""
        both = (pl.col("a") == min(a, b)) & (pl.col("b") == max(a, b))
        row = self.table.described(self._counted.filter(both).collect(), self.schema)
        return row.row(0, named=True) if len(row) else None

    def carriers(self, a: int, b: int, labels: np.ndarray) -> pl.DataFrame:
        """The `ROWS` most frequent pairs of a label at or below ``a`` with one at or below ``b``.

        Args:
            labels: Whether instances are labelled with a node, shape (n_nodes,).

        Returns:
            All columns of the table, the most frequent first.
        """
        below = self.table.hierarchy.below
        within = [np.flatnonzero(below[[node]].toarray()[0] * labels) for node in (a, b)]
        either = [self._counted.filter(_among(*one)) for one in permutations(within)]
        best = pl.concat(either).unique(["a", "b"]).collect()
        best = best.sort("joint", "a", "b", descending=[True, False, False])[:ROWS]
        return self.table.described(best, self.schema)

    def page(self, query: Query) -> tuple[pl.DataFrame, int]:
        """The rows of a page, and how many the query has."""
        first, last, total = query.start, query.start + ROWS, 0
        if not (query.where or query.nodes or query.order):
            wanted, total = self._counted.slice(first, ROWS).collect(), self._total
            return self.table.described(wanted, self.schema), total
        best = pl.DataFrame()
        for rows in self._blocks(query):
            total += len(rows)
            best = query.ranked(pl.concat([best, rows], how="diagonal").lazy()).head(last).collect()
        return self._whole(best[first:last]), total

    def _blocks(self, query: Query) -> Iterator[pl.DataFrame]:
        """Ends of the pairs of a query, and what they are ordered by, in the order of the table."""
        asked = {name for one in query.where for name in one.meta.root_names()}
        asked |= {query.order} - {""}
        read = {*self._counted.collect_schema()}
        if asked <= COUNTS:
            read &= {"a", "b", "joint", *asked}
        rows = self._counted.filter(*query.nodes).select(sorted(read))
        for block in rows.collect_batches(chunk_size=PAIRS_AT_ONCE, maintain_order=True):
            shown = block.select(first="a", second="b").with_columns(
                self.table.described(block, asked).get_columns()
            )
            kept = {"first", "second", query.order} - {""}
            yield shown.filter(*query.where).select(sorted(kept))

    def _whole(self, ends: pl.DataFrame) -> pl.DataFrame:
        """All columns of a few pairs."""
        if ends.is_empty():
            return pl.DataFrame(schema=self.schema)
        both = pl.col("a").is_in(ends["first"].implode()) & pl.col("b").is_in(
            ends["second"].implode()
        )
        rows = self._counted.filter(both).collect()
        ordered = ends.select(a="first", b="second").join(
            rows, on=["a", "b"], how="left", maintain_order="left"
        )
        return self.table.described(ordered.select(rows.columns), self.schema)

    def batches(self, query: Query) -> Iterator[pl.DataFrame]:
        """All rows of a query, some at a time, as they are stored, whatever order it asks for."""
        rows = self._counted.filter(*query.nodes)
        for block in rows.collect_batches(chunk_size=PAIRS_AT_ONCE, maintain_order=True):
            yield self.table.described(block, self.schema).filter(*query.where)


def _other(rows: pl.DataFrame, node: int) -> np.ndarray:
    """The number of the partner of a node in each of its rows."""
    a, b = rows["a"].to_numpy(), rows["b"].to_numpy()
    return np.where(a == node, b, a)


def _among(first: np.ndarray, second: np.ndarray) -> pl.Expr:
    """That the first node is one of some, and the second of others; ranges leave out most rows."""
    among = pl.lit(value=bool(len(first) and len(second)))
    for end, nodes in (("a", first), ("b", second)) if len(first) and len(second) else ():
        among &= pl.col(end).is_between(nodes[0], nodes[-1])
        among &= pl.col(end).is_in(pl.Series(nodes, dtype=pl.UInt32).implode())
    return among


def by_second(counted: pl.LazyFrame, digest: str) -> pl.LazyFrame:
    """The same pairs in the order of their second nodes, then of the first.

    They are put in order once for a table, and kept in the user's cache. Where nothing can be kept
    they are returned as they were given. A run is never written to.
    """
    kept = cache_folder() / f"{digest}.parquet"
    with suppress(OSError, OutputError, pl.exceptions.PolarsError):
        if not kept.is_file():
            logged("putting the pairs in the order of their second nodes, once")
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with written_whole(kept) as begun:
                _write_by_second(counted, begun)
        kept.touch()
        for old in sorted(kept.parent.iterdir(), key=lambda one: -one.stat().st_mtime)[MOST_KEPT:]:
            old.unlink(missing_ok=True)
        there = pl.scan_parquet(kept)
        if there.collect_schema() == counted.collect_schema():
            return there
    return counted


def _write_by_second(counted: pl.LazyFrame, file: Path) -> None:
    """Some second nodes at a time, so that no more than `AT_ONCE` pairs or a node's are held."""
    sizes = counted.group_by("b").agg(pl.len()).sort("b").collect(engine="streaming")
    part = sizes["len"].cum_sum() // AT_ONCE
    schema = counted.collect_schema().to_arrow()
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for (_,), own in sizes.group_by(part, maintain_order=True):
            within = pl.col("b").is_between(own["b"][0], own["b"][-1])
            rows = counted.filter(within).collect(engine="streaming")
            table = rows.sort("b", "a").to_arrow().cast(schema)
            writer.write_table(table, row_group_size=PAIRS_AT_ONCE)


def cache_folder() -> Path:
    """Path of the folder of the user's cache for sorted pairs; it need not exist yet."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".cache"
    return base / "hierarchy-audit" / "by-second"
