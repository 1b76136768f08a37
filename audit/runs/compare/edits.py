"""Edits of a hierarchy between two runs, and the nodes that both have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, Sparse
from audit.base.declared import schema
from audit.results.result import AuditResult

EDITS = {
    "added": "added",
    "removed": "removed",
    "moved": "moved",
    "retitled": "retitled",
    "assignable_changed": "allowed or no longer allowed as labels",
}
"""What can be edited, in order, and in words."""
EDIT_COLUMNS = schema(
    ("edit node title", pl.String),
    ("old new counted_at", pl.List(pl.String)),
    ("from_labels", pl.Boolean),
    ("support_old support_new", pl.Int64),
)


@dataclass(frozen=True, eq=False)
class Release:
    """The hierarchy of one run, and of how many independent instances its labels are."""

    run: AuditResult

    @cached_property
    def nodes(self) -> dict[str, dict[str, Any]]:
        """Rows of the run's node table, by id."""
        return {row["node"]: row for row in self.run.nodes.iter_rows(named=True)}

    def at(self, nodes: Sequence[str]) -> pl.DataFrame:
        """The run's node table of some of its nodes, in code-point order."""
        return self.run.nodes.filter(pl.col("node").is_in(nodes))

    @cached_property
    def parents(self) -> dict[str, list[str]]:
        """Parents of each node that has some, in code-point order."""
        edges = self.run.edges.sort("child", "parent")
        return dict(edges.group_by("child", maintain_order=True).agg("parent").iter_rows())

    def nearest(self, among: Collection[str]) -> dict[str, list[str]]:
        """The nearest ancestors of each node that are among some, in code-point order."""
        found: dict[str, list[str]] = {}
        for node in self.run.nodes.sort("depth")["node"]:
            above = ([one] if one in among else found[one] for one in self.parents.get(node, ()))
            found[node] = sorted({one for some in above for one in some})
        return found

    @property
    def instances(self) -> int:
        """Number of instances of the run."""
        return self.run.size

    @cached_property
    def root(self) -> Mapping[str, Any]:
        """The row of the root, which every instance with a label carries."""
        return next(row for node, row in self.nodes.items() if node not in self.parents)

    @property
    def groups(self) -> int:
        """Number of groups with labelled instances; of these instances if none has several."""
        return round(float(self.root["group_sum"]))

    @property
    def labelled(self) -> int:
        """Number of instances with labels."""
        return int(self.root["support"])

    @property
    def grouped(self) -> bool:
        """Whether some group has several instances with labels."""
        return self.groups != self.labelled


def hierarchy_edits(old: Release, new: Release) -> pl.DataFrame:
    """All edits of the hierarchy: one row per edit, columns `EDIT_COLUMNS`.

    ``old`` and ``new`` hold the parents of a moved node, the titles of a retitled one, or whether
    the node may be a label. A node counts as moved if its nearest ancestors among the common nodes
    differ, so inserting or removing an intermediate node moves nothing. A title that one run lacks
    is not an edit, since titles can come from separate files. ``from_labels`` marks nodes that were
    not in the hierarchy's list but were created for labels by their digits; they are last.
    """
    rows = []
    for edit, node, told in _edits(old, new):
        was, now = old.nodes.get(node), new.nodes.get(node)
        known = {"edit": edit, "node": node, "title": (now or was or {})["title"]}
        supports = {"support_old": was and was["support"], "support_new": now and now["support"]}
        nothing = {"old": [], "new": [], "counted_at": [], "from_labels": False}
        rows.append({**nothing, **known, **supports, **told})
    return edits_in_order(pl.DataFrame(rows, schema=EDIT_COLUMNS))


def edits_in_order(edits: pl.DataFrame) -> pl.DataFrame:
    """Edits by their kind, those that touch most instances first."""
    order = pl.col("edit").replace_strict(list(EDITS), range(len(EDITS)), return_dtype=pl.Int64)
    touched = pl.max_horizontal("support_old", "support_new").fill_null(0)
    return edits.sort("from_labels", order, -touched, "node")


def _edits(old: Release, new: Release) -> Iterator[tuple[str, str, dict[str, Any]]]:
    common = old.nodes.keys() & new.nodes.keys()
    before, after = old.nearest(common), new.nearest(common)
    for edit, run, nearest in (("removed", old, before), ("added", new, after)):
        for node in run.nodes.keys() - common:
            row, coded = run.nodes[node], run.run.identity["normaliser"] is not None
            labelled = row["title"] is None and row["direct"] > 0 and row["height"] == 0
            yield edit, node, {"counted_at": nearest[node], "from_labels": coded and labelled}
    for node in common:
        was, now = old.nodes[node], new.nodes[node]
        if before[node] != after[node]:
            sides = {"old": old.parents.get(node, []), "new": new.parents.get(node, [])}
            yield "moved", node, sides
        if was["title"] and now["title"] and was["title"] != now["title"]:
            yield "retitled", node, {"old": [was["title"]], "new": [now["title"]]}
        if was["assignable"] != now["assignable"]:
            words = ("may not be a label", "may be a label")
            old_word, new_word = (words[bool(row["assignable"])] for row in (was, now))
            yield "assignable_changed", node, {"old": [old_word], "new": [new_word]}


@dataclass(frozen=True, eq=False)
class Common:
    """The nodes that both hierarchies have."""

    nodes: tuple[str, ...]
    """In node order."""
    as_it_is: BoolArray
    """Whether the same common nodes are below a node in both, shape (n_common,).

    Its support then means the same in both, since nodes of only one hierarchy are rolled up to it.
    """

    @property
    def comparable(self) -> list[str]:
        """The nodes whose supports mean the same in both."""
        return [node for node, is_ in zip(self.nodes, self.as_it_is, strict=True) if is_]


def common_nodes(old: Release, new: Release) -> Common:
    """Determine the common nodes; nodes of only one hierarchy are rolled up to them."""
    nodes = tuple(sorted(old.nodes.keys() & new.nodes.keys()))
    differing = abs(_within(old, nodes) - _within(new, nodes))
    return Common(nodes, np.asarray(differing.sum(axis=0)).ravel() == 0)


def _within(release: Release, nodes: tuple[str, ...]) -> Sparse:
    """1 where the column is the row or an ancestor of it, shape (n_common, n_common)."""
    hierarchy = release.run.hierarchy
    kept = np.array([hierarchy.index(node) for node in nodes], np.int64)
    within: Sparse = hierarchy.closure[kept][:, kept]
    return within
