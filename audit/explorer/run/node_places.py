"""Nodes in their places: what is above, below and beside them, and their use by columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import IntArray, row
from audit.engine.statistics.intervals import wilson
from audit.explorer.run.paged_tables import Page, Row, Span
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.parts import DriftPart
from audit.results.result import AuditResult

Tested: TypeAlias = Mapping[tuple[str, str], Row]
"""Rows of the table of comparisons of one node, by column and value."""
_CHANGE = {
    "difference": "difference",
    "difference_low": "low",
    "difference_high": "high",
    "q_value": "q_value",
    "differs": "differs",
}
"""What is shown of a comparison, and its column in the table."""


@dataclass(frozen=True, slots=True)
class DriftView:
    """A node's share of the instances by the values of a column.

    Args:
        column: Name of the column.
        values: Rows ``value, of, instances, share, low, high``, the values in their order: ``of``
            instances have the value, ``instances`` of them carry the node; and ``difference,
            difference_low, difference_high, q_value, differs``: against all other values. None
            where the run does not compare the node.
        tests: Number of comparisons of all nodes and columns, which are judged together.
    """

    column: str
    values: Sequence[Row]
    tests: int


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node in its place.

    Args:
        node: ``node, title, depth, height, level, branch, assignable, direct, support, residual,
            residual_rule`` as in the run's table of nodes.
        paths: Rows ``node, title``: all nodes above it, the root first.
        parents: Rows ``node, title, support``.
        children: Rows ``node, title, support, direct, residual, below, parents``, the most frequent
            first; ``below`` is the number of their own children.
        siblings: The same of all children of its parents, itself included.
        residual_use: Row of the table of residual shares; None if the node has none.
        model: ``name, value, low, high, n``: metrics of the node alone.
        drift: Its use by the columns that the policy compares; empty without any.
    """

    node: Row
    paths: Sequence[Row]
    parents: Sequence[Row]
    children: Sequence[Row]
    siblings: Sequence[Row]
    residual_use: Row | None = None
    model: Sequence[Row] = ()
    drift: Sequence[DriftView] = ()


class NodePlaces:
    """The nodes of a run."""

    def __init__(self, result: AuditResult, hierarchy: Hierarchy) -> None:
        self._result, self._hierarchy = result, hierarchy
        self._nodes = result.nodes
        self._drift = NodeDrift(result.part(DriftPart))
        self._support = result.nodes["support"].to_numpy()
        text = pl.concat_str("node", pl.lit("\n"), pl.col("title").fill_null(""))
        self._searched = result.nodes.select(text.str.to_lowercase()).to_series()

    @cached_property
    def _branches(self) -> IntArray:
        return top_branches(self._hierarchy)

    def title(self, node: str) -> str:
        """Title of a node; empty if it has none, or is unknown."""
        there = node in self._hierarchy
        return self._hierarchy.titles[self._hierarchy.index(node)] if there else ""

    def view(self, node: str) -> NodeView | None:
        """A node in its place; None if the hierarchy lacks it."""
        if node not in self._hierarchy:
            return None
        at = self._hierarchy.index(node)
        parents = row(self._hierarchy.edges, at)
        below = [row(self._hierarchy.child_matrix, int(parent)) for parent in parents]
        beside = np.unique(np.concatenate(below)) if below else np.array([at])
        return NodeView(
            node=self._nodes.row(at, named=True),
            paths=self._named(self._above(at)),
            parents=self._named(parents),
            children=self.children(node),
            siblings=self._frequent(beside),
            residual_use=self._residual_use(node),
            model=[metric for metric in self._result.metric_rows if metric["scope"] == node],
            drift=self._drift.of(node),
        )

    def top_branch(self, node: str) -> int | None:
        """Number of the top branch of a node by `top_branches`; None for none, or several."""
        if node not in self._hierarchy:
            return None
        number = int(self._branches[self._hierarchy.index(node)])
        return None if number < 0 else number

    def children(self, node: str) -> Sequence[Row]:
        """The children of a node as `NodeView` has them; none if the hierarchy lacks it."""
        if node not in self._hierarchy:
            return ()
        return self._frequent(row(self._hierarchy.child_matrix, self._hierarchy.index(node)))

    def search(self, text: str, span: Span) -> Page:
        """Rows ``node, title, depth, support``: nodes whose id or title holds a text.

        Ids that are equal come first, then ids that begin with it, then by frequency.
        """
        wanted = text.strip().lower()
        if not wanted:
            return Page()
        holds = self._searched.str.contains(wanted, literal=True).arg_true()
        begins = pl.col("node").str.to_lowercase()
        found = (
            self._nodes[holds]
            .with_columns(
                exact=begins == wanted,
                first=begins.str.starts_with(wanted),
            )
            .sort("exact", "first", "support", "node", descending=[True, True, True, False])
            .select("node", "title", "depth", "support")
        )
        return Page(found.slice(span.offset, span.limit).to_dicts(), len(found))

    def _above(self, at: int) -> Sequence[int]:
        """All nodes above one, by depth."""
        above = [int(i) for i in row(self._hierarchy.closure, at) if i != at]
        return sorted(above, key=lambda i: (int(self._hierarchy.depth[i]), i))

    def _named(self, places: Sequence[int] | np.ndarray) -> Sequence[Row]:
        return [
            {
                "node": self._hierarchy.nodes[i],
                "title": self._hierarchy.titles[i],
                "support": int(self._support[i]),
            }
            for i in places
        ]

    def _frequent(self, places: np.ndarray) -> Sequence[Row]:
        """Rows of nodes, the most frequent first."""
        rows = self._nodes[places].select("node", "title", "support", "direct", "residual")
        sizes = np.diff(self._hierarchy.child_matrix.indptr)[places]
        above = np.diff(self._hierarchy.edges.indptr)[places]
        placed = rows.with_columns(below=pl.Series(sizes), parents=pl.Series(above))
        return placed.sort("support", "node", descending=[True, False]).to_dicts()

    def _residual_use(self, node: str) -> Row | None:
        uses = self._result.residuals.filter(pl.col("parent") == node)
        return uses.row(0, named=True) if len(uses) else None


def top_branches(hierarchy: Hierarchy) -> IntArray:
    """Number of the top branch of each node, shape (n,); -1 for one in none or in several.

    Top branches are the nodes right below the root. Where one of them alone has more than half of
    all leaves below it, on two levels or more, the nodes right below it take its place, and so on;
    a node below a top branch is none. They are numbered from 0 in node order.
    """
    tops = _tops(hierarchy)
    above = csr_array(hierarchy.closure[:, tops])
    numbers = np.full(len(hierarchy), -1, np.int64)
    single = np.diff(above.indptr) == 1
    numbers[single] = above.indices[above.indptr[:-1][single]]
    return numbers


def _tops(hierarchy: Hierarchy) -> IntArray:
    leaves = np.asarray(hierarchy.below @ hierarchy.leaf.astype(np.int64))
    wide = 2 * leaves > hierarchy.leaf.sum()
    found, below = set[int](), row(hierarchy.child_matrix, hierarchy.root)
    while True:
        found |= set(below.tolist())
        largest = below[wide[below]]
        if len(largest) != 1 or hierarchy.height[largest[0]] < 2:
            break
        found -= set(largest.tolist())
        below = row(hierarchy.child_matrix, int(largest[0]))
    tops = np.array(sorted(found), np.int64)
    within = csr_array(hierarchy.closure[tops][:, tops])
    topmost: IntArray = tops[np.diff(within.indptr) == 1]
    return topmost


class NodeDrift:
    """The drift tables of a run, read by node; of none where the policy names no column."""

    def __init__(self, part: DriftPart | None) -> None:
        self._tested = None if part is None else part.nodes
        self._values: dict[str, list[Row]] = {}
        for value in () if part is None else part.values.iter_rows(named=True):
            self._values.setdefault(value["column"], []).append(value)

    def of(self, node: str) -> Sequence[DriftView]:
        """A view for each column in the policy's order; empty where the run compares none."""
        if self._tested is None:
            return ()
        rows = self._tested.filter(pl.col("node") == node).to_dicts()
        tested = {(row["column"], row["value"]): row for row in rows}
        return [
            DriftView(column, _drift_rows(column, in_order(values), tested), len(self._tested))
            for column, values in self._values.items()
        ]


def _drift_rows(column: str, values: Sequence[Row], tested: Tested) -> list[Row]:
    there = [tested.get((column, row["value"])) for row in values]
    rest = there[::-1] if len(values) == 2 else [None] * len(values)
    return [_drift_row(*one) for one in zip(values, there, rest, strict=True)]


def _drift_row(value: Row, own: Row | None, rest: Row | None) -> Row:
    """A value by its own comparison; of two values, one is only compared with by the other's."""
    share = dict[str, Any].fromkeys(("instances", "share", "low", "high"))
    if own is not None:
        share = _share(own["instances"], own["of"], own.get("worth"))
    elif rest is not None:
        share = _share(rest["elsewhere"], rest["of_elsewhere"], rest.get("worth"))
    change = {name: None if own is None else own[was] for name, was in _CHANGE.items()}
    return {"value": value["value"], "of": value["instances"], **share, **change}


def _share(k: int, n: int, worth: float | None) -> dict[str, Any]:
    """A share with its interval at the effective number of instances; without that, none."""
    low, high = (None, None) if worth is None else wilson(k * worth, n * worth)
    return {"instances": k, "share": k / n, "low": low, "high": high}


def in_order(values: Sequence[Row]) -> Sequence[Row]:
    """Rows by their ``value``: by number where all are numbers, else by text.

    >>> [row["value"] for row in in_order([{"value": "10"}, {"value": "9"}])]
    ['9', '10']
    """
    if all(row["value"].isascii() and row["value"].isdigit() for row in values):
        return sorted(values, key=lambda row: (int(row["value"]), row["value"]))
    return sorted(values, key=lambda row: row["value"])
