"""What nodes are to each other, values of all below one, and whether two hierarchies are one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from audit.base import dag
from audit.base.dag import SYNTHETIC_ROOT, IntArray, Sparse
from audit.base.errors import InputError
from audit.base.machine import cores
from audit.base.settings import Aggregation
from audit.engine.pairs.propagation import aggregate, keep_own_values, path_counts
from audit.hierarchies.hierarchy import Hierarchy

RELATIONS = ("ancestor", "sibling", "overlap", "same_branch", "cross_branch")
"""Names of the relations between two nodes; the first that holds applies."""
PAIRS_PER_BLOCK = 250_000
"""Number of pairs that a thread relates at a time, so that memory stays bounded."""


def relate(
    hierarchy: Hierarchy, a: IntArray, b: IntArray
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Relation and lowest common ancestor of pairs of different nodes, shape (n_pairs,) each.

    The relations are positions in `RELATIONS`, the lowest common ancestors node indices.
    """
    relation, lca = np.empty((2, len(a)), np.uint32)
    _lookups(hierarchy)  # once, before threads ask for it

    def fill(start: int) -> None:
        block = slice(start, start + PAIRS_PER_BLOCK)
        relation[block], lca[block] = _relation_and_lca(hierarchy, a[block], b[block])

    with ThreadPoolExecutor(cores()) as threads:
        list(threads.map(fill, range(0, len(a), PAIRS_PER_BLOCK)))
    return relation, lca


def relate_two(hierarchy: Hierarchy, a: int, b: int) -> tuple[str, int]:
    """Relation and lowest common ancestor of two different nodes, as `relate` gives them.

    The latter is the deepest node at or above both; ties by smaller height, then node order.
    """
    relation, lca = _relation_and_lca(hierarchy, np.array([a]), np.array([b]))
    return RELATIONS[relation[0]], int(lca[0])


def _relation_and_lca(hierarchy: Hierarchy, a: IntArray, b: IntArray) -> tuple[IntArray, IntArray]:
    """What `relate` gives, relation and lowest common ancestor, of one block of pairs."""
    ancestors, overlapping = _lookups(hierarchy)
    lca = ancestors.lowest(a, b)
    relation = np.where(lca == hierarchy.root, 4, 3)
    relation[dag.among(overlapping, a * np.int64(len(hierarchy)) + b)] = 2
    shared_parents = hierarchy.edges[a].multiply(hierarchy.edges[b]).sum(axis=1)
    relation[np.asarray(shared_parents).ravel() > 0] = 1
    relation[(lca == a) | (lca == b)] = 0
    return relation, lca


@lru_cache(maxsize=1)
def _lookups(hierarchy: Hierarchy) -> tuple[dag.CommonAncestors, IntArray]:
    """Common ancestors, and keys of the pairs that share a descendant; kept, as blocks are many."""
    ancestors = dag.CommonAncestors(hierarchy.closure, hierarchy.depth, hierarchy.height)
    return ancestors, dag.sharing_descendant(hierarchy.edges, hierarchy.closure)


def aggregated_values(
    hierarchy: Hierarchy, values: Sparse, aggregation: Aggregation = "descendants"
) -> Sparse:
    """Aggregated value of each node, shape (n_instances, n_nodes), canonical CSR.

    Args:
        hierarchy: The nodes.
        values: Own values, not negative, shape (n_instances, n_nodes).
        aggregation: What an aggregated value is: each descendant counts once (``descendants``),
            once for each path (``paths``), or only below nodes without a value (``mimic``).
    """
    if aggregation == "paths":
        return aggregate(values, path_counts(hierarchy.edges))
    if aggregation == "mimic":
        return keep_own_values(values, hierarchy.edges, hierarchy.height)
    return aggregate(values, hierarchy.closure)


_ENOUGH = 0.5
"""Share of the nodes of the smaller hierarchy from which on both are one classification."""


@dataclass(frozen=True, slots=True)
class SharedNodes:
    """How many ids two hierarchies share, of the smaller; one with another title in each is not."""

    shared: int
    of: int

    @property
    def same(self) -> bool:
        """Whether they share half of the smaller one's ids, enough to be one classification."""
        return self.shared >= _ENOUGH * self.of

    def __str__(self) -> str:
        return f"{self.shared:,} of the {self.of:,} nodes of the smaller hierarchy are in both"


def shared_nodes(
    one: Iterable[tuple[str, str | None]], other: Iterable[tuple[str, str | None]]
) -> SharedNodes:
    """How many nodes two hierarchies share, by the id and the title of each, if it has any."""
    titles, others = _titles(one), _titles(other)
    common = titles.keys() & others.keys()
    differ = sum(bool(titles[n] and others[n] and titles[n] != others[n]) for n in common)
    return SharedNodes(len(common) - differ, min(len(titles), len(others)))


def refuse_other(shared: SharedNodes, names: tuple[str, str], required: str) -> None:
    """Raise InputError, with what is required, unless two hierarchies share most of their nodes."""
    if not shared.same:
        raise InputError(
            required,
            found=f"{names[0]!r} and {names[1]!r}: {shared}",
            hint="counts can be compared only within one classification",
        )


def _titles(nodes: Iterable[tuple[str, str | None]]) -> Mapping[str, str]:
    """Titles by node, without case and doubled blanks; of all but the synthetic root."""
    return {
        node: " ".join((title or "").casefold().split())
        for node, title in nodes
        if node != SYNTHETIC_ROOT
    }
