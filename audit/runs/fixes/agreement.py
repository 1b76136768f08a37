"""How far two people agree who decided on the same proposals, and what they decided otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from audit.engine.statistics.intervals import wilson
from audit.hierarchies.hierarchy import Hierarchy
from audit.runs.fixes.sheet import Decided, decision_of


@dataclass(frozen=True, eq=False)
class Agreement:
    """What two sheets on the same run decide of the rows that both decided.

    Args:
        first: The decisions of one person.
        second: Those of another.
    """

    first: Decided
    second: Decided

    @cached_property
    def rows(self) -> pl.DataFrame:
        """``number``, and for each the decision as written, ``a, b``, and what becomes of the
        label, ``becomes_a, becomes_b`` (itself where the decision is to reject)."""
        parts = []
        for side, one in (("a", self.first), ("b", self.second)):
            decided = one.sheet.filter(pl.col("decision") != "")
            parts.append(decided.select("number", pl.col("decision").alias(side)))
        both = parts[0].join(parts[1], on="number")
        proposed = self.first.proposals.table.with_columns(pl.col("number").cast(pl.String))
        told = proposed.join(both, on="number", maintain_order="left")
        becomes = {
            f"becomes_{side}": pl.Series(
                [_becomes(row, row[side]) for row in told.iter_rows(named=True)], dtype=pl.String
            )
            for side in "ab"
        }
        return told.with_columns(**becomes).select("number", "a", "b", *becomes)

    @property
    def same(self) -> tuple[int, int, float, float]:
        """Rows of which the same becomes, of all that both decided, and the 95 % interval of the
        share."""
        k, n = int((self.rows["becomes_a"] == self.rows["becomes_b"]).sum()), len(self.rows)
        return k, n, *wilson(k, n)

    def by_level(self) -> list[tuple[int, int, int]]:
        """Level, counted from below the root, rows whose labels have a common node there, and rows
        whose labels both lie that deep; of the rows that both leave with a label."""
        proposals = self.first.proposals
        hierarchy, titles = proposals.run.hierarchy, proposals.titles
        named = [
            tuple(_levels(hierarchy, titles.node(label)) for label in pair)
            for pair in self.rows.select("becomes_a", "becomes_b").iter_rows()
            if all(pair)
        ]
        deepest = max((min(map(len, both)) for both in named), default=0)
        reaching = [[both for both in named if min(map(len, both)) > n] for n in range(deepest)]
        return [
            (n + 1, sum(not a[n].isdisjoint(b[n]) for a, b in some), len(some))
            for n, some in enumerate(reaching)
        ]

    def disagreements(self) -> pl.DataFrame:
        """The sheet of the rows that they decided otherwise, with both decisions as its notes."""
        other = self.rows.filter(pl.col("becomes_a") != pl.col("becomes_b"))
        notes = other.select("number", note=pl.format("one: {}; the other: {}", "a", "b"))
        sheet = self.first.proposals.sheet()
        return sheet.drop("note").join(notes, on="number").select(sheet.columns)


def _becomes(row: dict[str, object], decision: str) -> str:
    """What becomes of a label: another, itself, or nothing, as text that tells these apart."""
    kind, label = decision_of(decision)
    if kind == "other":
        return label
    if kind == "reject":
        return str(row["label"] or "")
    if kind == "remove" or row["change"] == "remove":
        return ""
    candidates = row["candidates"]
    only = candidates[0] if isinstance(candidates, list) and len(candidates) == 1 else ""
    return str(row["proposed"] or only)


def _levels(hierarchy: Hierarchy, node: str | None) -> list[set[str]]:
    """The nodes above one, itself included, by their depth below the root."""
    if node is None or node not in hierarchy:
        return []
    found: dict[int, set[str]] = {}
    for one in hierarchy.ancestors(node, with_self=True):
        found.setdefault(int(hierarchy.depth[hierarchy.index(one)]), set()).add(one)
    return [found[depth] for depth in sorted(found) if depth]
