"""Edits of a hierarchy between two runs, and supports of one under the hierarchy of the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, closure, edge_matrix
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
    frame = pl.DataFrame([_row(*row, old, new) for row in rows], schema=dict(EDIT_COLUMNS))
    order = pl.col("edit").replace_strict(list(EDITS), range(len(EDITS)), return_dtype=pl.Int64)
    touched = pl.max_horizontal("support_old", "support_new").fill_null(0)
    return frame.sort("from_labels", order, -touched, "node")


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
    """The nodes that both hierarchies have, with their ancestor relations in either."""

    nodes: tuple[str, ...]
    """In node order."""
    old: Sparse
    """1 where the column is the row or an ancestor of it in OLD, shape (n_common, n_common)."""
    new: Sparse
    """The same for NEW."""

    @property
    def as_it_is(self) -> BoolArray:
        """Whether the same common nodes are below a node in both, shape (n_common,).

        Its support then means the same in both, since nodes of only one hierarchy are rolled up to
        it.
        """
        differing = abs(self.old - self.new)
        return np.asarray(np.asarray(differing.sum(axis=0)).ravel() == 0)


def common_nodes(old: Release, new: Release) -> Common:
    """Determine the common nodes; nodes of only one hierarchy are rolled up to them."""
    nodes = tuple(sorted(old.nodes.keys() & new.nodes.keys()))
    return Common(nodes, _within(old, nodes), _within(new, nodes))


def _within(release: Release, nodes: tuple[str, ...]) -> Sparse:
    index = {node: place for place, node in enumerate(release.nodes)}
    kept = np.array([index[node] for node in nodes], np.int64)
    return csr_array(release.closure[kept][:, kept])


def restated(old: Release, common: Common) -> tuple[IntArray, IntArray]:
    """Bounds of the number of OLD's instances that would carry each node under NEW's hierarchy.

    The bounds are equal if the same common nodes are below, or if joint counts of pairs determine
    the number: for a single gained subtree, or a lost one whose instances carry at most one of the
    remaining nodes. Otherwise an instance with several labels may or may not still carry the node,
    so that only bounds are known.

    Returns:
        Lower and upper bounds, shape (n_common,) each.
    """
    supports = np.array([old.support(node) for node in common.nodes], np.int64)
    low, high = supports.copy(), supports.copy()
    edited = np.flatnonzero(~common.as_it_is)
    if len(edited):
        union = _Unions(old, common, supports)
        for node in edited.tolist():
            low[node], high[node] = union.bounds(node)
    return low, high


class _Unions:
    """How many instances carry at least one of several nodes, from supports and joint counts."""

    def __init__(self, old: Release, common: Common, supports: IntArray) -> None:
        self._common, self._supports = common, supports
        self._down = csr_array(common.old.T)
        self._at = _counted_at(old, common)
        self._n = old.instances
        self._joint = _Joint(old, common)

    def bounds(self, node: int) -> tuple[int, int]:
        """Instances of OLD below a node of NEW: those that carry a whole part, or a loose node."""
        inside = self._below(self._common.new, node)
        below = self._below(self._common.old, node)
        whole = inside & (self._down @ (~inside).astype(np.int64) == 0)
        parts = self._tops(whole)
        loose = int(self._at[inside & ~whole].sum())
        lost = self._tops(below & ~inside & (self._down @ inside.astype(np.int64) == 0))
        torn = below & ~inside
        torn[self._under(lost)] = False
        low = max(
            int(self._supports[parts].max(initial=0)),
            self._union_low(parts),
            self._left(node, parts, lost, int(self._at[torn].sum())),
        )
        gained = [part for part in parts.tolist() if not below[part]]
        loose_gained = int(self._at[inside & ~whole & ~below].sum())
        high = min(
            self._union_high(parts) + loose,
            self._n,
            self._kept_high(node, parts, lost, loose)
            + sum(int(self._supports[g]) - self._joint(node, g) for g in gained)
            + loose_gained,
        )
        return min(low, high), max(low, high)

    def _below(self, reach: Sparse, node: int) -> BoolArray:
        """Nodes at or below one."""
        found = np.zeros(reach.shape[0], np.bool_)
        found[(reach[:, [node]]).nonzero()[0]] = True
        return found

    def _tops(self, nodes: BoolArray) -> IntArray:
        """Those of some nodes that have no other of them above, the largest first."""
        above = self._common.old @ nodes.astype(np.int64)
        tops = np.flatnonzero(nodes & (above == 1))
        return np.asarray(tops[np.argsort(-self._supports[tops], kind="stable")])

    def _under(self, tops: IntArray) -> IntArray:
        """Everything at or below some nodes."""
        return np.asarray(np.unique(self._common.old[:, tops].nonzero()[0]))

    def _union_high(self, parts: IntArray) -> int:
        """Hunter's bound: the sum less the joint count of each with one before it."""
        listed = parts.tolist()
        shared = (
            max((self._joint(part, before) for before in listed[:place]), default=0)
            for place, part in enumerate(listed)
        )
        return int(self._supports[parts].sum()) - sum(shared)

    def _union_low(self, parts: IntArray) -> int:
        """Bonferroni's bound: the sum less every joint count."""
        listed = parts.tolist()
        shared = sum(
            self._joint(part, before)
            for place, part in enumerate(listed)
            for before in listed[:place]
        )
        return int(self._supports[parts].sum()) - shared

    def _left(self, node: int, parts: IntArray, lost: IntArray, torn: int) -> int:
        """What stays at the least when some nodes below leave: all but those that carry no other.

        An instance of a lost node that carries a part as well stays; one label at a torn node,
        which leaves some of its descendants behind, is lost.
        """
        leaving = sum(
            int(self._supports[gone])
            - max((self._joint(gone, part) for part in parts.tolist()), default=0)
            for gone in lost.tolist()
        )
        return int(self._supports[node]) - leaving - torn

    def _kept_high(self, node: int, parts: IntArray, lost: IntArray, loose: int) -> int:
        """What stays at the most: less what certainly carries nothing but one lost node."""
        only = (
            int(self._supports[gone])
            - sum(self._joint(gone, part) for part in parts.tolist())
            - loose
            for gone in lost.tolist()
        )
        return int(self._supports[node]) - max([0, *only])


def _counted_at(old: Release, common: Common) -> IntArray:
    """Instances at the most that carry a node of OLD by a label at it, or at a node that is gone.

    A node that only OLD has counts at its nearest common ancestors, each.
    """
    index = {node: place for place, node in enumerate(common.nodes)}
    direct = old.run.nodes.filter(pl.col("node").is_in(list(index))).select("node", "direct")
    at = np.zeros(len(index), np.int64)
    for node, labelled in direct.iter_rows():
        at[index[node]] = labelled
    for node in sorted(old.nodes.keys() - index.keys()):
        for ancestor in nearest_common(old, node, set(index)):
            at[index[ancestor]] += old.support(node) or 0
    return at


class _Joint:
    """Instances of OLD that carry both of two common nodes."""

    def __init__(self, old: Release, common: Common) -> None:
        self._n = len(common.nodes)
        names = pl.Enum(common.nodes)
        pairs = (
            old.run.pairs.select(
                pl.col("a", "b").cast(names, strict=False).to_physical().cast(pl.Int64), "joint"
            )
            .drop_nulls()
            .collect()
        )
        key = pairs["a"].to_numpy() * np.int64(self._n) + pairs["b"].to_numpy()
        order = np.argsort(key)
        self._key, self._count = key[order], pairs["joint"].to_numpy()[order]

    def __call__(self, a: int, b: int) -> int:
        key = min(a, b) * self._n + max(a, b)
        place = int(np.searchsorted(self._key, key))
        there = place < len(self._key) and self._key[place] == key
        return int(self._count[place]) if there else 0
