"""Dangling edges: those with an end that is not a node, refused or dropped and counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

from audit.base.errors import HierarchyError, first_cases
from audit.base.plurals import counted

Dangling: TypeAlias = Literal["refuse", "drop"]
"""Treatment of edges with an end that is not a node: refuse the hierarchy, or leave them out."""


@dataclass(frozen=True, slots=True)
class DroppedEdges:
    """The dangling edges that a hierarchy was built without.

    Args:
        edges: ``child, parent`` of each, once, in the order of the file.
        tops: Nodes that have no parent without these edges, in the same order.
    """

    edges: tuple[tuple[str, str], ...] = ()
    tops: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, int]:
        """Numbers of edges and of nodes that lost all parents; empty if nothing was dropped."""
        return {"edges": len(self.edges), "tops": len(self.tops)} if self.edges else {}


def dropped_sentence(edges: int, tops: int) -> str:
    """What was dropped, as a sentence.

    >>> dropped_sentence(2, 1)
    '2 dangling edges of the hierarchy were dropped; 1 node lost all its parents and is a top now.'
    >>> dropped_sentence(1, 0)
    '1 dangling edge of the hierarchy was dropped; no node lost all its parents.'
    """
    lost = "no node lost all its parents"
    if tops:
        now = "its parents and is a top" if tops == 1 else "their parents and are tops"
        lost = f"{counted(tops, 'nodes')} lost all {now} now"
    were = "was" if edges == 1 else "were"
    return f"{counted(edges, 'dangling edges')} of the hierarchy {were} dropped; {lost}."


class DanglingError(HierarchyError):
    """An edge has an end that is not a node.

    Args:
        edges: ``child, parent`` of such edges, each once, in the order of the file.
    """

    def __init__(self, edges: tuple[tuple[str, str], ...]) -> None:
        self.edges = edges
        have = "has" if len(edges) == 1 else "have"
        super().__init__(
            "both ends of every edge must be nodes",
            found=f"{counted(len(edges), 'edges')} that {have} an end that is not a node: "
            f"{first_cases(f'{child} -> {parent}' for child, parent in edges)}",
            hint="each arrow points from child to parent, and an obsolete node does not count as "
            "one; add what is missing, or have such edges dropped and counted by --dangling drop",
        )


def without_dangling(
    edges: pl.DataFrame, nodes: pl.Series, dangling: Dangling
) -> tuple[pl.DataFrame, DroppedEdges]:
    """The edges between nodes in their order, and what was dropped.

    Args:
        edges: Columns ``child, parent``; an edge may be repeated.
        nodes: Ids of all nodes.
        dangling: Treatment of the other edges.

    Raises:
        DanglingError: If there are other edges, and they are to be refused.
    """
    between = pl.all_horizontal(pl.col("child", "parent").is_in(nodes.implode()))
    kept, others = edges.filter(between), edges.filter(~between).unique(maintain_order=True)
    rows = tuple((str(child), str(parent)) for child, parent in others.iter_rows())
    if rows and dangling == "refuse":
        raise DanglingError(rows)
    alone = pl.col("child").is_in(nodes.implode()) & ~pl.col("child").is_in(kept["child"].implode())
    tops = others.filter(alone)["child"].unique(maintain_order=True)
    return kept, DroppedEdges(rows, tuple(tops))
