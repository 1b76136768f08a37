"""The partners of a node, read by ranges of a pair table: each end is one range."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.counting.pair_table import observed_ratio
from audit.explorer.run.shelf import RowRanges
from audit.explorer.run.vocabulary import Row
from audit.runs.pair_layout import KEPT, ends_of, twin_of

SHOWN = ("joint", "expected", "lift", "expected_length", "ratio")
"""Numbers of a pair that its partners are shown with."""
_READ_OF_PAIR = (
    *("joint", "joint_entailed", "confusion", "observed", "expected_length", "ratio"),
    *("explained", "groups", "effective", "shrunk_ratio", "ratio_low", "ratio_high", "q_value"),
)
OF_PAIR = ("support_a", "support_b", "expected", "lift", *_READ_OF_PAIR)
"""Numbers that a pair is shown with alone."""


class Partners:
    """The pairs of a table that `audit.runs.pair_layout` has made ranges of.

    Nodes are named by their numbers in node order.

    Args:
        table: The pair table.
        nodes: Ids in node order, which is their own order.
    """

    def __init__(self, table: Path, nodes: pl.Series) -> None:
        self._nodes = nodes
        self._by_a, self._by_b = RowRanges(table), RowRanges(twin_of(table))
        ends = pl.read_parquet(ends_of(table))
        self._support = ends["support"].fill_null(0).to_numpy()
        self._a_starts, self._b_starts = (
            np.concatenate([[0], ends[f"as_{end}"].cum_sum().to_numpy()]) for end in ("a", "b")
        )
        some = self._by_a.read(0, min(1, int(self._a_starts[-1])), ["joint", "rate"])
        self._instances = round(some["joint"][0] / some["rate"][0]) if len(some) else 1

    def beside(self, node: int) -> pl.DataFrame:
        """All pairs with a node: ``other`` (number of the other node), ``relation``, ``support``
        (of the other) and `SHOWN`.
        """
        return self._partner_rows(node, self._read(node, KEPT))

    def pair(self, a: int, b: int) -> Row | None:
        """`OF_PAIR` of two nodes in any order; None if they are never together."""
        first, second = min(a, b), max(a, b)
        start, stop = self._a_starts[first : first + 2].tolist()
        pairs = self._by_a.read(start, stop, ["b", *_READ_OF_PAIR])
        seconds, wanted = pairs["b"], self._nodes[second]
        place = int(seconds.search_sorted(wanted))
        if place == len(seconds) or seconds[place] != wanted:
            return None
        row = pairs.drop("b").row(place, named=True)
        support_a, support_b = self._support[[first, second]].tolist()
        expected, lift = self._if_independent(support_a, support_b, row["joint"])
        numbers = {"support_a": support_a, "support_b": support_b, "expected": expected}
        return {**numbers, "lift": lift, **row}

    def among(self, nodes: Sequence[int]) -> pl.DataFrame:
        """All pairs of some nodes: ``a``, ``b`` (numbers) and `SHOWN`."""
        rows = []
        for node in sorted(nodes):
            seconds = self._seconds(node, KEPT)
            kept = np.flatnonzero(np.isin(seconds["other"].to_numpy(), nodes))
            first = pl.lit(node, pl.UInt32).alias("a")
            shown = self._partner_rows(node, seconds[kept])
            rows.append(shown.select(first, pl.col("other").alias("b"), *SHOWN))
        return pl.concat(rows)

    def between(
        self, a: int, b: int, of_a: np.ndarray, of_b: np.ndarray, most: int
    ) -> pl.DataFrame:
        """The most frequent pairs of one of some nodes with one of others.

        A pair is no more frequent than its first node with all that is below ``b``, so nodes are
        read by that until no further one can have a more frequent pair (the threshold algorithm
        of "Optimal aggregation algorithms for middleware", for one list).

        Args:
            a: Node that all of ``of_a`` are, or are below.
            b: The same of ``of_b``.
            of_a: Numbers of nodes.
            of_b: Numbers of nodes.
            most: How many pairs.

        Returns:
            ``a``, ``b`` (numbers, a pair once), ``joint``, ``expected_length``, ``ratio``.
        """
        if len(of_a) > len(of_b):
            a, b, of_a, of_b = b, a, of_b, of_a
        bound, best = self._joint_counts(b), _MostFrequent(of_b, len(self._support), most)
        for node in sorted(of_a.tolist(), key=lambda node: -bound[node]):
            if bound[node] < max(best.least, 1):
                break
            best.add(node, self._read(node, _OF_CARRIERS, int(of_b.min()), int(of_b.max())))
        found = best.rows().sort(pl.col("joint").neg(), "a", "b").head(most)
        return found.select("a", "b", "joint", "expected_length", observed_ratio())

    def _partner_rows(self, node: int, rows: pl.DataFrame) -> pl.DataFrame:
        support, joint = self._support[rows["other"].to_numpy()], rows["joint"].to_numpy()
        expected, lift = self._if_independent(support, self._support[node], joint)
        return rows.select(
            "other",
            "relation",
            pl.Series("support", support),
            "joint",
            pl.Series("expected", expected),
            pl.Series("lift", lift),
            "expected_length",
            observed_ratio(),
        )

    def _if_independent(self, support: Any, of_other: Any, joint: Any) -> tuple[Any, Any]:
        """Instances expected with both of two independent nodes, and the lift over these."""
        expected = support * of_other / self._instances
        return expected, joint / expected

    def _joint_counts(self, node: int) -> np.ndarray:
        """Number of instances that carry a node and each other; its own are its support."""
        rows = self._read(node, ("joint",))
        counted = np.zeros(len(self._support), dtype=np.int64)
        counted[rows["other"].to_numpy()] = rows["joint"].to_numpy()
        counted[node] = self._support[node]
        return counted

    def _read(
        self, node: int, columns: Iterable[str], least: int = 0, most: int | None = None
    ) -> pl.DataFrame:
        """Some columns of the pairs of a node, and ``other``, the number of the other node.

        Ranges without a node from ``least`` to ``most`` are not read.
        """
        read = []
        if least < node:
            start, stop = self._b_starts[node : node + 2].tolist()
            firsts = self._by_b.read(start, stop, ["a", *columns])
            read.append(firsts.rename({"a": "other"}).select("other", *columns))
        if most is None or most > node:
            read.append(self._seconds(node, columns))
        return pl.concat(read) if read else self._seconds(node, columns).clear()

    def _seconds(self, node: int, columns: Iterable[str]) -> pl.DataFrame:
        """The same of the pairs that name the node first."""
        start, stop = self._a_starts[node : node + 2].tolist()
        seconds = self._by_a.read(start, stop, ["b", *columns])
        return seconds.select(pl.Series("other", self._numbers(seconds["b"])), *columns)

    def _numbers(self, names: pl.Series) -> np.ndarray:
        """Numbers of nodes by their ids: node order is the order of ids."""
        numbers: np.ndarray = self._nodes.search_sorted(names).to_numpy()
        return numbers


class _MostFrequent:
    """The most frequent pairs with some nodes, of those that are added, each once.

    Args:
        others: Numbers of the nodes.
        nodes: How many nodes there are.
        most: How many pairs are wanted.
    """

    def __init__(self, others: np.ndarray, nodes: int, most: int) -> None:
        self._wanted, self._done = np.zeros((2, nodes), dtype=bool)
        self._wanted[others] = True
        self._most, self._counts = most, np.zeros(0, dtype=np.int64)
        self._found: list[pl.DataFrame] = []
        self.least = 0
        """What a pair must have to be among them."""

    def add(self, node: int, rows: pl.DataFrame) -> None:
        """Take those of the pairs of a node that may be among them."""
        other, joint = rows["other"].to_numpy(), rows["joint"].to_numpy()
        kept = self._wanted[other] & (joint >= self.least)
        if self._wanted[node]:
            kept &= ~self._done[other]
        self._done[node] = True
        one, two = pl.lit(node, pl.UInt32), pl.col("other")
        ends = (pl.min_horizontal(one, two).alias("a"), pl.max_horizontal(one, two).alias("b"))
        self._found.append(rows[np.flatnonzero(kept)].select(*ends, *_OF_CARRIERS))
        self._counts = np.sort(np.concatenate([self._counts, joint[kept]]))[-self._most :]
        self.least = int(self._counts[0]) if len(self._counts) == self._most else 0

    def rows(self) -> pl.DataFrame:
        """All pairs that may be among them."""
        none = pl.DataFrame(schema={"a": pl.UInt32, "b": pl.UInt32, **_OF_CARRIERS})
        return pl.concat([none, *self._found]).filter(pl.col("joint") >= self.least)


_OF_CARRIERS = dict.fromkeys(("joint", "joint_entailed"), pl.Int64) | dict.fromkeys(
    ("observed", "expected_length"), pl.Float64
)
