"""Pairs of nodes, seen from one end or from both: each end is one range of a pair table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import row
from audit.counting.pair_table import observed_ratio
from audit.explorer.run.shelf import RowRanges
from audit.explorer.run.vocabulary import Page, Row, Source, Span
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import relate_two
from audit.results.result import AuditResult
from audit.runs.instances import at_or_below
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


MOST_CARRIERS = 50
MOST_CONFUSED = 1_000
_OF4 = ("confusion", "confusion_low", "confusion_high")
MOST_BRANCHES = 24
APART = "apart"
"""The relations of pairs of which neither node is above the other."""
PARTNER_ORDERS: Mapping[str, tuple[str, bool]] = {
    "strength": ("strength", True),
    "together": ("joint", True),
    "ratio": ("ratio", True),
    "lift": ("lift", True),
    "frequency": ("support", True),
    "node": ("node", False),
}
"""Column that partners are ordered by, and whether the largest comes first."""


@dataclass(frozen=True, slots=True)
class PairView:
    """Two nodes beside each other.

    Args:
        a, b: Rows of the table of nodes.
        relation: How they are related.
        lca: Row ``node, title`` of their lowest common ancestor.
        data: What the table of pairs says of both: ``support_a, support_b, joint,
            joint_entailed, confusion, expected, lift, observed, expected_length, ratio, explained,
            groups, effective, shrunk_ratio, ratio_low, ratio_high, q_value``; None if no instance
            carries both.
        model: The same of the predictions; None without predictions, or if there is none.
        drawn: Rows ``node, title, parents``: both nodes and what lies between them and their
            lowest common ancestor, parents among these alone.
        carriers: Rows ``a, b, title_a, title_b, joint``: labels at or below both, by frequency.
    """

    a: Row
    b: Row
    relation: str
    lca: Row
    data: Row | None
    model: Row | None
    drawn: Sequence[Row]
    carriers: Sequence[Row]


class PairRows:
    """The pairs of a run.

    Args:
        result: The run.
        hierarchy: Its hierarchy, in the order of its table of nodes.
        partners: Its pairs by their nodes.
    """

    def __init__(
        self, result: AuditResult, hierarchy: Hierarchy, partners: Mapping[Source, Partners]
    ) -> None:
        self._result, self._hierarchy, self._partners = result, hierarchy, partners
        self._ids, self._titles = result.nodes["node"], result.nodes["title"]
        self._support = result.nodes["support"].to_numpy()
        self._direct = result.nodes["direct"].to_numpy()
        self._place = self._ids.rank("ordinal")

    def partners(
        self, node: str, source: Source, relation: str | None, order: str, span: Span
    ) -> Page:
        """All rows of the table of pairs with a node at either end, seen from it.

        Args:
            node: Id of the node.
            source: Labels or predictions.
            relation: Only partners of this relation, or `APART`; None for all.
            order: One of `PARTNER_ORDERS`; ties by id.
            span: Which rows.

        Returns:
            Rows ``node, title, relation, support, joint, expected, lift, expected_length, ratio,
            strength``; ``node`` is the other end. Strength is the log likelihood ratio of what is
            observed to what is expected, of the length where that is known, below 0 where fewer
            are observed.
        """
        rows = self._partners[source].beside(self._hierarchy.index(node))
        times = pl.coalesce("ratio", "lift")
        strength = pl.col("joint") * (times.log() - 1 + 1 / times) * (times - 1).sign()
        rows = rows.with_columns(strength.alias("strength"))
        if relation == APART:
            rows = rows.filter(pl.col("relation") != "ancestor")
        elif relation is not None:
            rows = rows.filter(pl.col("relation") == relation)
        column, descending = PARTNER_ORDERS[order]
        by_name = self._place.gather(rows["other"]).alias("node")
        ordered = rows.with_columns(by_name).sort(
            column, "node", descending=[descending, False], nulls_last=True
        )
        seen = self._named(ordered.slice(span.offset, span.limit), "other", "node", "title")
        return Page(seen.drop("other").to_dicts(), len(rows))

    def confused(self, relation: str, depth: str, below: str) -> Sequence[Row]:
        """The `MOST_CONFUSED` pairs of the highest confusion (equation 4), highest first.

        Args:
            relation: Only pairs of this relation, or `APART`; empty for all.
            depth: Only pairs of two nodes at this depth; empty for all.
            below: Only pairs with a node at or below this one; empty for all.

        Returns:
            Rows ``a, b, title_a, title_b, relation, confusion, confusion_low, confusion_high``; the
            interval is null beyond the pairs that the run resamples.
        """
        assert self._result.model is not None, "the run has predictions"
        pairs = self._result.model.pairs.select(pl.col("a", "b", "relation").cast(pl.String), *_OF4)
        chosen = pl.col("confusion") > 0
        if relation:
            of = pl.col("relation")
            chosen &= of != "ancestor" if relation == APART else of == relation
        if depth:
            there = self._result.nodes.filter(pl.col("depth").cast(pl.String) == depth)["node"]
            chosen &= pl.all_horizontal(pl.col("a", "b").is_in(there.implode()))
        if below:
            nodes = list(at_or_below([below], self._hierarchy))
            chosen &= pl.any_horizontal(pl.col("a", "b").is_in(nodes))
        order = pairs.filter(chosen).sort("confusion", "a", "b", descending=[True, False, False])
        titles = self._result.nodes.select("node", "title")
        named = order.head(MOST_CONFUSED).collect()
        for end in ("a", "b"):
            ends = titles.rename({"node": end, "title": f"title_{end}"})
            named = named.join(ends, on=end, how="left", maintain_order="left")
        return named.to_dicts()

    def view(self, a: str, b: str) -> PairView | None:
        """Two nodes beside each other; None if the hierarchy lacks one, or they are the same."""
        if a == b or a not in self._hierarchy or b not in self._hierarchy:
            return None
        relation, common = relate_two(
            self._hierarchy, self._hierarchy.index(a), self._hierarchy.index(b)
        )
        lca = self._hierarchy.nodes[common]
        return PairView(
            a=self._node(a),
            b=self._node(b),
            relation=relation,
            lca=self._node(lca),
            data=self._row(a, b, "data"),
            model=None if self._result.model is None else self._row(a, b, "model"),
            drawn=self._nodes_between(a, b, lca),
            carriers=self._carriers(a, b),
        )

    def below(self, node: str, source: Source) -> Sequence[Row]:
        """Pairs of the most frequent children of a node.

        Rows ``a, b, joint, expected, expected_length, ratio``.
        """
        numbers = [self._hierarchy.index(child) for child in self._hierarchy.children(node)]
        used = sorted((i for i in numbers if self._support[i]), key=lambda i: -self._support[i])
        if len(used) < 2:
            return []
        rows = self._partners[source].among(used[:MOST_BRANCHES])
        for end in ("a", "b"):
            rows = rows.with_columns(self._ids.gather(rows[end]).alias(end))
        return rows.to_dicts()

    def _row(self, a: str, b: str, source: Source) -> Row | None:
        return self._partners[source].pair(self._hierarchy.index(a), self._hierarchy.index(b))

    def _node(self, node: str) -> Row:
        return self._result.nodes.row(self._hierarchy.index(node), named=True)

    def _nodes_between(self, a: str, b: str, lca: str) -> Sequence[Row]:
        """Both nodes, and what lies between them and their lowest common ancestor."""
        above = {node for end in (a, b) for node in self._hierarchy.ancestors(end, with_self=True)}
        between = {node for node in above if lca in self._hierarchy.ancestors(node, with_self=True)}
        return [
            {
                "node": node,
                "title": self._hierarchy.titles[self._hierarchy.index(node)],
                "parents": [p for p in self._hierarchy.parents(node) if p in between],
            }
            for node in sorted(between, key=self._hierarchy.index)
        ]

    def _carriers(self, a: str, b: str) -> Sequence[Row]:
        """Pairs of assignable nodes at or below the two, the most frequent first."""
        numbers = self._hierarchy.index(a), self._hierarchy.index(b)
        of_a, of_b = (self._assigned_below(number) for number in numbers)
        rows = self._partners["data"].between(*numbers, of_a, of_b, MOST_CARRIERS)
        for end in ("a", "b"):
            rows = self._named(rows, end, end, f"title_{end}")
        return rows.to_dicts()

    def _assigned_below(self, node: int) -> np.ndarray:
        """Numbers of the nodes at or below one that instances are labelled with."""
        below = row(self._hierarchy.below, node)
        return below[self._direct[below] > 0]

    def _named(self, rows: pl.DataFrame, numbers: str, name: str, title: str) -> pl.DataFrame:
        """Rows with the ids and titles of the nodes that a column numbers."""
        nodes = rows[numbers]
        return rows.with_columns(
            self._ids.gather(nodes).alias(name), self._titles.gather(nodes).alias(title)
        )
