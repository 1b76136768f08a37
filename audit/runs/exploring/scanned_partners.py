"""The pairs of a node, looked for in the whole pair table of a run without ranges of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from audit.results.exploration import Row
from audit.runs.exploring.partners import SHOWN


class ScannedPartners:
    """The pairs of a table as `audit.runs.exploring.partners.Partners`.

    Args:
        pairs: The pair table.
        nodes: Ids in node order.
    """

    def __init__(self, pairs: pl.LazyFrame, nodes: pl.Series) -> None:
        self._pairs, self._nodes, self._ids = pairs, nodes, pl.Enum(nodes)

    def beside(self, node: int) -> pl.DataFrame:
        """All pairs with a node."""
        name = self._nodes[node]
        first = pl.col("a") == name
        other = pl.when(first).then(pl.col("b")).otherwise(pl.col("a"))
        support = pl.when(first).then(pl.col("support_b")).otherwise(pl.col("support_a"))
        rows = self._pairs.filter(first | (pl.col("b") == name))
        return rows.select(
            self._number(other).alias("other"), "relation", support.alias("support"), *SHOWN
        ).collect()

    def pair(self, a: int, b: int) -> Row | None:
        """The row of two nodes in any order; None if they are never together."""
        names = self._names([a, b])
        row = self._pairs.filter(pl.col("a").is_in(names) & pl.col("b").is_in(names)).collect()
        return row.row(0, named=True) if len(row) else None

    def among(self, nodes: Sequence[int]) -> pl.DataFrame:
        """All pairs of some nodes."""
        names = self._names(nodes)
        rows = self._pairs.filter(pl.col("a").is_in(names) & pl.col("b").is_in(names))
        return rows.select(self._number(pl.col("a", "b")), *SHOWN).collect()

    def between(
        self, a: int, b: int, of_a: np.ndarray, of_b: np.ndarray, most: int
    ) -> pl.DataFrame:
        """The most frequent pairs of one of some nodes with one of others."""
        names_a, names_b = self._names(of_a.tolist()), self._names(of_b.tolist())
        one = pl.col("a").is_in(names_a) & pl.col("b").is_in(names_b)
        other = pl.col("a").is_in(names_b) & pl.col("b").is_in(names_a)
        rows = self._pairs.filter(one | other).select("a", "b", "joint", "expected_length", "ratio")
        ordered = rows.sort("joint", "a", "b", descending=[True, False, False]).head(most)
        return ordered.with_columns(self._number(pl.col("a", "b"))).collect()

    def _names(self, nodes: Sequence[int]) -> pl.Series:
        return self._nodes[list(nodes)].implode()

    def _number(self, names: pl.Expr) -> pl.Expr:
        return names.cast(self._ids).to_physical().cast(pl.UInt32)
