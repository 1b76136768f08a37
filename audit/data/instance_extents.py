"""Bars of a tree that is drawn on a DAG: each is within the bar of the node it is drawn below."""

from __future__ import annotations

import numpy as np

from audit.base.dag import FloatArray, row
from audit.data.weighted_dag import WeightedDag


class Extents:
    """Where the bars of one instance begin, and how long they are, as shares of the root's.

    A node's extent is its own value and the extents of its children; that of a node with several
    parents is divided equally among them, so that the bars below a node never pass its own. Where
    every node has one parent, a bar is as long as the node's aggregated value.

    Args:
        dag: Values of the instance.
    """

    def __init__(self, dag: WeightedDag) -> None:
        self._parents = np.diff(dag.hierarchy.edges.indptr)
        self._extent = _extents(dag)
        self._open: list[list[float]] = []
        """Of each level that is drawn into: where the next bar begins, and the scale of bars."""

    def bar(self, level: int, node: int) -> tuple[float, float]:
        """Beginning and length of the next bar; lines are drawn from the root down, in order.

        Args:
            level: Level of the line, 0 for the root.
            node: Index of its node.

        Returns:
            Two shares of the root's bar; both 0 if the instance has no value.
        """
        own = float(self._extent[node])
        if level == 0:
            start, length = 0.0, float(own > 0)
        else:
            above = self._open[level - 1]
            start, length = above[0], own / int(self._parents[node]) * above[1]
            above[0] += length
        self._open[level:] = [[start, length / own if own else 0.0]]
        return start, length


def _extents(dag: WeightedDag) -> FloatArray:
    """Extent of each node before it is divided among its parents, shape (n_nodes,)."""
    hierarchy, extent = dag.hierarchy, dag.value.astype(np.float64)
    there = np.flatnonzero(extent @ hierarchy.closure)
    for node in there[np.argsort(hierarchy.height[there], kind="stable")]:
        parents = row(hierarchy.edges, int(node))
        if len(parents):
            extent[parents] += extent[node] / len(parents)
    return extent
