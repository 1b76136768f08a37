"""Faults of edges: dangling ones, comparable parents of a node, and headings of a single child."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from audit.base.cycles import edge_ends
from audit.base.dag import IntArray
from audit.base.paths import shortcuts
from audit.base.plurals import counted
from audit.hierarchies.dangling import dropped_sentence
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.lint.finding import LintFinding


def dangling_edges(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Edges that the hierarchy was built without, since an end of each is not a node."""
    dropped = hierarchy.dropped
    if dropped.edges:
        yield LintFinding(
            "dangling_edge",
            "warning",
            dropped_sentence(**dropped.to_dict()),
            "Add the ids that are missing as nodes, let the edge lead to the successor of an "
            "obsolete one, or remove the edge.",
            dropped.edges,
            "child, parent",
            hierarchy.edges.nnz + len(dropped.edges),
            "edges",
        )


def redundant_edges(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Edges to a parent that a longer path leads to as well.

    Such a path begins with another parent of the node, which is below this one: a node has two
    comparable parents exactly where one of its edges is redundant.
    """
    child, parent = edge_ends(hierarchy.edges)
    through = shortcuts(hierarchy.edges)
    met = through >= 0
    if met.any():
        n = int(met.sum())
        yield LintFinding(
            "redundant_edge",
            "warning",
            f"{counted(n, 'edges')} {'leads' if n == 1 else 'lead'} to a parent that is above "
            "another parent of the node: the two parents are comparable, and the edge to the "
            "upper one adds nothing.",
            "Remove the edge to the upper parent; or, if the node does not belong below the lower "
            "one, remove the edge to that.",
            named(hierarchy, child[met], through[met], parent[met]),
            "child, lower parent, upper parent",
            len(child),
            "edges",
        )


def lone_children(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Headings of a single child: both always carry the same instances."""
    lone, child = lone_pairs(hierarchy)
    if len(lone):
        yield LintFinding(
            "lone_child",
            "note",
            f"{counted(len(lone), 'headings')} {'has' if len(lone) == 1 else 'have'} a single "
            "child: every instance of the one is an instance of the other, so the two levels "
            "always say the same.",
            "Leave out one of the two, or add the siblings that are missing.",
            named(hierarchy, lone, child),
            "heading, child",
            int((~hierarchy.leaf).sum()),
            "nodes with children",
        )


def lone_pairs(hierarchy: Hierarchy) -> tuple[IntArray, IntArray]:
    """Nodes that may not be labels themselves and have a single child, and that child."""
    below = hierarchy.child_matrix
    lone = np.flatnonzero((np.diff(below.indptr) == 1) & ~hierarchy.assignable)
    return lone, below.indices[below.indptr[lone]].astype(np.int64)


def named(hierarchy: Hierarchy, *columns: IntArray) -> tuple[tuple[str, ...], ...]:
    """Cases as ids, from the indices of their first nodes, second nodes, and so on."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(tuple(hierarchy.nodes[index] for index in row) for row in rows)
