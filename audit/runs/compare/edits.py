"""Edits of a hierarchy between two runs, and the nodes that both have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, Sparse, closure, edge_matrix
from audit.base.schemas import schema
from audit.engine.statistics.two_rates import GroupSums
from audit.results.result import AuditResult

Edit: TypeAlias = Literal["added", "removed", "moved", "retitled", "assignable_changed"]
EDITS: tuple[Edit, ...] = ("added", "removed", "moved", "retitled", "assignable_changed")

EDIT_COLUMNS = schema(
    ("edit node title", pl.String),
    ("old new counted_at", pl.List(pl.String)),
    ("from_labels", pl.Boolean),
    ("support_old support_new", pl.Int64),
)


@dataclass(frozen=True, eq=False)
class Release:
    """The hierarchy and the supports of one run, by node."""

    run: AuditResult

    @cached_property
    def nodes(self) -> dict[str, dict[str, object]]:
        """Rows of the run's node table, by id."""
        return {row["node"]: row for row in self.run.nodes.iter_rows(named=True)}

    @cached_property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """Parents of each node, in node order; empty for a root."""
        found: dict[str, list[str]] = {node: [] for node in self.nodes}
        for child, parent in self.run.edges.sort("child", "parent").iter_rows():
            found[child].append(parent)
        return {node: tuple(parents) for node, parents in found.items()}

    @cached_property
    def closure(self) -> Sparse:
        """1 where the column is the row or an ancestor of it, in the order of ``nodes``."""
        index = {node: place for place, node in enumerate(self.nodes)}
        ends = [
            np.array([index[node] for node in self.run.edges[end]], np.int64)
            for end in ("child", "parent")
        ]
        return closure(edge_matrix(ends[0], ends[1], len(index)))

    def support(self, node: str) -> int | None:
        """Number of instances carrying a node; None if the hierarchy does not have it."""
        row = self.nodes.get(node)
        return None if row is None else _whole(row["support"])

    @property
    def instances(self) -> int:
        """Number of instances of the run."""
        return int(self.run.ledger["instances"])

    def numbers(self, nodes: Iterable[str], name: str) -> FloatArray:
        """A column of the run's node table for some of its nodes, shape (n,)."""
        return np.array([self.nodes[node][name] for node in nodes], np.float64)

    @cached_property
    def root(self) -> str:
        """The root of the hierarchy, which every instance with a label carries."""
        return next(node for node, above in self.parents.items() if not above)

    @cached_property
    def groups(self) -> int:
        """Number of groups with labelled instances; of these instances if none has several."""
        return round(float(self.numbers([self.root], "group_sum")[0]))

    @property
    def labelled(self) -> int:
        """Number of instances with labels."""
        return _whole(self.nodes[self.root]["support"])

    @property
    def grouped(self) -> bool:
        """Whether some group has several instances with labels."""
        return self.groups != self.labelled

    def group_sums(self, nodes: Sequence[str]) -> GroupSums:
        """How much of each group carries some nodes."""
        sums, squares = (self.numbers(nodes, f"group_{name}") for name in ("sum", "squares"))
        return GroupSums(sums, squares, self.groups, self.labelled)


def nearest_common(release: Release, node: str, common: Set[str]) -> tuple[str, ...]:
    """The nearest ancestors of a node that both hierarchies have, in node order.

    Labels of a node that is removed count at these; supports are propagated, so they did before
    too.
    """
    found: set[str] = set()
    waiting = list(release.parents[node])
    seen = set(waiting)
    while waiting:
        parent = waiting.pop()
        if parent in common:
            found.add(parent)
            continue
        new = set(release.parents[parent]) - seen
        seen |= new
        waiting.extend(new)
    return tuple(sorted(found))


def hierarchy_edits(old: Release, new: Release) -> pl.DataFrame:
    """All edits of the hierarchy: one row per edit, columns `EDIT_COLUMNS`.

    ``old`` and ``new`` hold the parents of a moved node, the titles of a retitled one, or whether
    the node may be a label. A node counts as moved if its nearest ancestors among the common nodes
    differ, so inserting or removing an intermediate node moves nothing. A title that one run lacks
    is not an edit, since titles can come from separate files. ``from_labels`` marks nodes that were
    not in the hierarchy's list but were created for labels by their digits; they are last.
    """
    common = frozenset(old.nodes) & frozenset(new.nodes)
    rows = [
        *_edits_in_one("removed", old, common),
        *_edits_in_one("added", new, common),
        *(row for node in sorted(common) for row in _changed(node, old, new, common)),
    ]
    made = [_row(*row, old, new) for row in rows]
    return edits_in_order(pl.DataFrame(made, schema=dict(EDIT_COLUMNS)))


def edits_in_order(edits: pl.DataFrame) -> pl.DataFrame:
    """Edits by their kind, those that touch most instances first."""
    order = pl.col("edit").replace_strict(list(EDITS), range(len(EDITS)), return_dtype=pl.Int64)
    touched = pl.max_horizontal("support_old", "support_new").fill_null(0)
    return edits.sort("from_labels", order, -touched, "node")


_Told: TypeAlias = tuple[Edit, str, list[str], list[str], tuple[str, ...], bool]


def _edits_in_one(edit: Edit, release: Release, common: frozenset[str]) -> Iterable[_Told]:
    for node in sorted(release.nodes.keys() - common):
        at = nearest_common(release, node, common)
        yield edit, node, [], [], at, _from_labels(release, node)


def _from_labels(release: Release, node: str) -> bool:
    row = release.nodes[node]
    labelled = row["title"] is None and _whole(row["direct"]) > 0 and row["height"] == 0
    return release.run.identity["normaliser"] is not None and labelled


def _changed(node: str, old: Release, new: Release, common: frozenset[str]) -> Iterable[_Told]:
    was, now = old.nodes[node], new.nodes[node]
    if nearest_common(old, node, common) != nearest_common(new, node, common):
        yield "moved", node, list(old.parents[node]), list(new.parents[node]), (), False
    if was["title"] and now["title"] and was["title"] != now["title"]:
        yield "retitled", node, [str(was["title"])], [str(now["title"])], (), False
    if was["assignable"] != now["assignable"]:
        yield "assignable_changed", node, [_yes(was)], [_yes(now)], (), False


def _yes(row: Mapping[str, object]) -> str:
    return "may be a label" if row["assignable"] else "may not be a label"


def _row(
    edit: Edit,
    node: str,
    was: list[str],
    now: list[str],
    at: tuple[str, ...],
    from_labels: bool,
    old: Release,
    new: Release,
) -> dict[str, object]:
    titled = new.nodes.get(node) or old.nodes[node]
    return {
        "edit": edit,
        "node": node,
        "title": titled["title"],
        "old": was,
        "new": now,
        "counted_at": list(at),
        "from_labels": from_labels,
        "support_old": old.support(node),
        "support_new": new.support(node),
    }


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value


@dataclass(frozen=True, eq=False)
class Common:
    """The nodes that both hierarchies have."""

    nodes: tuple[str, ...]
    """In node order."""
    as_it_is: BoolArray
    """Whether the same common nodes are below a node in both, shape (n_common,).

    Its support then means the same in both, since nodes of only one hierarchy are rolled up to it.
    """


def common_nodes(old: Release, new: Release) -> Common:
    """Determine the common nodes; nodes of only one hierarchy are rolled up to them."""
    nodes = tuple(sorted(old.nodes.keys() & new.nodes.keys()))
    differing = abs(_within(old, nodes) - _within(new, nodes))
    return Common(nodes, np.asarray(differing.sum(axis=0)).ravel() == 0)


def _within(release: Release, nodes: tuple[str, ...]) -> Sparse:
    """1 where the column is the row or an ancestor of it, shape (n_common, n_common)."""
    index = {node: place for place, node in enumerate(release.nodes)}
    kept = np.array([index[node] for node in nodes], np.int64)
    return csr_array(release.closure[kept][:, kept])
