"""The pairs of a run by ranges of rows, in the order of either end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from audit.base.dag import IntArray
from audit.base.disk import written_whole
from audit.base.errors import OutputError
from audit.base.files import sha256_of
from audit.counting.pair_table import PairTable
from audit.explorer.run.paged_tables import Row

MOST_KEPT = 20
"""Number of orders that are kept, the latest used ones."""


def order_by_second(table: Path, second: IntArray) -> NDArray[np.uint32]:
    """Rows of a table of pairs by their second nodes, those of one node as in the table.

    It is made once for a table, and kept in the user's cache by the table's digest. Where nothing
    can be kept it is made each time. A run is never written to.

    Args:
        table: The table, a Parquet file ordered by first and second nodes.
        second: Number of the second node of each row, shape (n_pairs,).
    """
    kept = cache() / f"{sha256_of(table)}.npy"
    with suppress(OSError, ValueError, EOFError):
        order: NDArray[np.uint32] = np.load(kept, mmap_mode="r", allow_pickle=False)
        if order.shape == second.shape and order.dtype == np.uint32:
            with suppress(OSError):
                os.utime(kept)
            return order
    order = in_order(second)
    with suppress(OSError, OutputError):
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with written_whole(kept) as begun, begun.open("wb") as file:
            np.save(file, order)
        others = sorted(kept.parent.glob("*.npy"), key=lambda path: -path.stat().st_mtime)
        for old in others[MOST_KEPT:]:
            old.unlink(missing_ok=True)
    return order


def cache() -> Path:
    """Folder of the user's cache that orders are kept in; others cannot read it."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".cache"
    return base / "hierarchy-audit" / "pairs"


def in_order(second: IntArray) -> NDArray[np.uint32]:
    """Rows sorted by their second nodes, those of one node as they are.

    By the two lower bytes, then by the upper ones: such sorts are the fastest by far.
    """
    order = np.argsort(second.astype(np.uint16), kind="stable").astype(np.uint32)
    upper = (second >> 16).astype(np.uint16)
    if upper.any():
        order = order[np.argsort(upper[order], kind="stable")]
    return order


SHOWN = ("joint", "expected", "lift", "expected_length", "ratio")
"""Numbers of a pair that its partners are shown with."""
OF_PAIR = (
    *("support_a", "support_b", "expected", "lift", "joint", "joint_entailed", "confusion"),
    *("observed", "expected_length", "ratio", "explained", "groups", "effective"),
    *("shrunk_ratio", "ratio_low", "ratio_high", "q_value"),
)
"""Numbers that a pair is shown with alone."""
_COUNTS = ("joint", "joint_entailed", "observed")
"""What is read of each pair of a node."""


class Partners:
    """The pairs of a table, whose rows are two ranges for each node: by first and second node.

    Nodes are named by their numbers in node order.
    """

    def __init__(self, file: Path, table: PairTable) -> None:
        self._rows, self._table = RowRanges(file), table
        self._known = [name for name in _COUNTS if name in table.counted.collect_schema()]
        ends = pl.read_parquet(file, columns=["a", "b"])
        nodes = len(table.support)
        self._a_starts, self._b_starts = (
            np.cumsum(np.bincount(ends[end].to_numpy() + 1, minlength=nodes + 1))
            for end in ("a", "b")
        )
        self._by_b = order_by_second(file, ends["b"].to_numpy())

    def beside(self, node: int) -> pl.DataFrame:
        """All pairs with a node: ``other`` (number of the other node), ``relation``, ``support``
        (of the other) and `SHOWN`.
        """
        rows = self._read(node)
        other = _other(rows, node)
        support = pl.Series("support", self._table.support[other.to_numpy()])
        return self._table.described(rows, ("relation", *SHOWN)).with_columns(other, support)

    def pair(self, a: int, b: int) -> Row | None:
        """`OF_PAIR` of two nodes in any order; None if they are never together."""
        first, second = min(a, b), max(a, b)
        start, stop = self._a_starts[first : first + 2].tolist()
        place = int(np.searchsorted(self._rows.read(start, stop, ["b"])["b"].to_numpy(), second))
        row = self._rows.read(start + place, min(start + place + 1, stop))
        if not len(row) or row["b"][0] != second:
            return None
        return self._table.described(row, OF_PAIR).row(0, named=True)

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

        Returns:
            ``a``, ``b`` (numbers, a pair once), ``joint``, ``expected_length``, ``ratio``.
        """
        if len(of_a) > len(of_b):
            a, b, of_a, of_b = b, a, of_b, of_a
        bound, best = self._joint_counts(b), _MostFrequent(of_b, len(self._table.support), most)
        for node in sorted(of_a.tolist(), key=lambda node: -bound[node]):
            if bound[node] < max(best.least, 1):
                break
            best.add(node, self._read(node, int(of_b.min()), int(of_b.max())))
        found = best.rows(self._read(b).clear()).sort("a", "b")
        shown = self._table.described(found, ("joint", "expected_length", "ratio"))
        ranked = shown.select(found["a"], found["b"], pl.all())
        return ranked.sort("joint", descending=True, maintain_order=True).head(most)

    def _joint_counts(self, node: int) -> np.ndarray:
        """Number of instances that carry a node and each other; its own are its support."""
        rows, counted = self._read(node), np.zeros(len(self._table.support), dtype=np.int64)
        counted[_other(rows, node).to_numpy()] = rows["joint"].to_numpy()
        counted[node] = self._table.support[node]
        return counted

    def _read(self, node: int, least: int = 0, most: int | None = None) -> pl.DataFrame:
        """The rows of a node, by its partners.

        Those before it are not read if all wanted ones are, from ``least`` on, behind it; nor those
        behind it if none is, up to ``most``.
        """
        start, stop = self._b_starts[node : node + 2].tolist() if least < node else (0, 0)
        rows = self._by_b[start:stop]
        a = pl.Series("a", np.searchsorted(self._a_starts, rows, side="right") - 1, pl.UInt32)
        b = pl.Series("b", np.full(len(rows), node), pl.UInt32)
        firsts = self._rows.take(rows, self._known).select(a, b, *self._known)
        behind = most is None or most > node
        return pl.concat([firsts, self._seconds(node) if behind else firsts.clear()])

    def _seconds(self, node: int) -> pl.DataFrame:
        """The rows that name the node first."""
        start, stop = self._a_starts[node : node + 2].tolist()
        return self._rows.read(start, stop, ["a", "b", *self._known])


def _other(rows: pl.DataFrame, node: int) -> pl.Series:
    """The partner of a node in each of its rows."""
    return rows.select(pl.when(pl.col("a") == node).then("b").otherwise("a").alias("other"))[
        "other"
    ]


class _MostFrequent:
    """The most frequent pairs with some nodes, of those that are added, each once."""

    def __init__(self, others: np.ndarray, nodes: int, most: int) -> None:
        self._wanted, self._done = np.zeros((2, nodes), dtype=bool)
        self._wanted[others] = True
        self._most, self._counts = most, np.zeros(0, dtype=np.int64)
        self._found: list[pl.DataFrame] = []
        self.least = 0
        """What a pair must have to be among them."""

    def add(self, node: int, rows: pl.DataFrame) -> None:
        """Take those of the pairs of a node that may be among them."""
        other, joint = _other(rows, node).to_numpy(), rows["joint"].to_numpy()
        kept = self._wanted[other] & (joint >= self.least)
        if self._wanted[node]:
            kept &= ~self._done[other]
        self._done[node] = True
        self._found.append(rows[np.flatnonzero(kept)])
        self._counts = np.sort(np.concatenate([self._counts, joint[kept]]))[-self._most :]
        self.least = int(self._counts[0]) if len(self._counts) == self._most else 0

    def rows(self, none: pl.DataFrame) -> pl.DataFrame:
        """All pairs that may be among them; ``none`` has their columns."""
        return pl.concat([none, *self._found]).filter(pl.col("joint") >= self.least)


class RowRanges:
    """A Parquet file that is read by ranges of rows, from several threads at once."""

    def __init__(self, path: Path) -> None:
        self._path, self._footer = path, pq.read_metadata(path)
        groups = range(self._footer.num_row_groups)
        sizes = [self._footer.row_group(group).num_rows for group in groups]
        self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    def read(self, start: int, stop: int, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The rows from ``start`` to before ``stop``; all columns if none are named."""
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        last = int(np.searchsorted(self._starts, stop, side="left"))
        groups = range(first, last) if start < stop else range(0)
        before = int(self._starts[first]) if start < stop else 0
        return self._groups(groups, columns).slice(start - before, stop - start)

    def take(self, rows: NDArray[np.integer], columns: Sequence[str]) -> pl.DataFrame:
        """Some columns of some rows, named in ascending order."""
        group = np.searchsorted(self._starts, rows, side="right") - 1
        groups, own = np.unique(group, return_inverse=True)
        sizes = np.diff(self._starts)[groups]
        place = rows - self._starts[group] + (np.cumsum(sizes) - sizes)[own]
        return self._groups(groups.tolist(), columns).select(pl.all().gather(place))

    def _groups(self, groups: Iterable[int], columns: Sequence[str] | None) -> pl.DataFrame:
        wanted = None if columns is None else list(columns)
        with pq.ParquetFile(self._path, metadata=self._footer, memory_map=True) as file:
            rows = file.read_row_groups(list(groups), columns=wanted, use_threads=False)
        read = pl.from_arrow(pa.table(rows))
        assert isinstance(read, pl.DataFrame)
        return read
