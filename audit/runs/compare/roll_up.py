"""Supports of one run under the hierarchy of another, as far as its tables determine them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, Sparse
from audit.runs.compare.edits import Release, nearest_common


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
