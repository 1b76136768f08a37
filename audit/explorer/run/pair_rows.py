"""Pairs of nodes, seen from one end or from both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import row
from audit.explorer.run.paged_tables import Page, Row, Source, Span
from audit.explorer.run.partners import Partners
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import relate_two
from audit.results.result import AuditResult
from audit.runs.instances import at_or_below

MOST_CARRIERS = 50
MOST_CONFUSED = 1_000
_OF4 = ("confusion", "confusion_low", "confusion_high")
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
    """The pairs of a run."""

    def __init__(
        self, result: AuditResult, hierarchy: Hierarchy, partners: Mapping[Source, Partners]
    ) -> None:
        self._result, self._hierarchy, self._partners = result, hierarchy, partners
        self._ids, self._titles = result.nodes["node"], result.nodes["title"]
        self._direct = result.nodes["direct"].to_numpy()
        self._place = self._ids.rank("ordinal")

    def partners(
        self, node: str, source: Source, relation: str | None, order: str, span: Span
    ) -> Page:
        """All rows of the table of pairs with a node at either end, seen from it.

        Args:
            relation: Only partners of this relation, or `APART`; None for all.
            order: One of `PARTNER_ORDERS`; ties by id.

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

    def confused_with(self, node: str, relation: str) -> Sequence[Row]:
        """The same as `confused` of the pairs of a node, seen from it.

        Rows ``node, title, relation, confusion, confusion_low, confusion_high``; ``node`` is the
        other end.
        """
        return [
            {**row, "node": row[end], "title": row[f"title_{end}"]}
            for row in self.confused(relation, node=node)
            for end in ("b" if row["a"] == node else "a",)
        ]

    def confused(
        self, relation: str, depth: str = "", below: str = "", node: str = ""
    ) -> Sequence[Row]:
        """The `MOST_CONFUSED` pairs of the highest confusion (equation 4), highest first."""
        assert self._result.model is not None, "the run has predictions"
        pairs = self._result.model.pairs.select(pl.col("a", "b", "relation").cast(pl.String), *_OF4)
        chosen = pl.col("confusion") > 0
        if relation:
            of = pl.col("relation")
            chosen &= of != "ancestor" if relation == APART else of == relation
        if depth:
            there = self._result.nodes.filter(pl.col("depth").cast(pl.String) == depth)["node"]
            chosen &= pl.all_horizontal(pl.col("a", "b").is_in(there.implode()))
        if node:
            chosen &= (pl.col("a") == node) | (pl.col("b") == node)
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
