"""The labels and the predictions of one instance in one tree, with what the model got right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, row
from audit.base.settings import Aggregation
from audit.data.weighted_dag import TreeLine, WeightedDag, left_out_words, tree_lines
from audit.engine.pairs.propagation import aggregate
from audit.engine.scores.cuts import decide


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


Mark = Literal["hit", "miss", "false", ""]
SUMS: Mapping[Aggregation, str] = {
    "descendants": "",
    "paths": "A value counts at a node once for each path that leads up to it.",
    "mimic": "A node that has a value of its own keeps that, and hides what lies below it.",
}
"""How values are added up, where it is not each descendant once."""


@dataclass(frozen=True, slots=True)
class InstanceLine:
    """A line of the merged tree: a node below one of its parents, or what was left out there."""

    lead: str
    """What stands before the node: the branches that lead to it."""
    level: int
    """Number of lines above it that lead to it; 0 for the root."""
    node: str
    """Id of the node; empty if the line says how many nodes were left out."""
    title: str
    """Title of the node, or the words of a line without a node."""
    label: float = 0.0
    """Number of labels at or below the node, added up as the run's policy says."""
    score: float = 0.0
    """Sum of the scores at or below the node, likewise."""
    label_share: float = 0.0
    """``label`` as a share of the largest of all nodes, which is the root's unless nodes hide what
    is below them."""
    score_share: float = 0.0
    """``score`` as a share of the largest."""
    label_bar: tuple[float, float] = (0.0, 0.0)
    """Where its bar of labels begins, and its length, as shares of the root's: see `Extents`."""
    score_bar: tuple[float, float] = (0.0, 0.0)
    """The same of scores."""
    own_label: float = 0.0
    own_score: float = 0.0
    mark: Mark = ""
    also_below: tuple[str, ...] = ()
    """Other parents below which the node is drawn."""
    again: bool = False
    """Whether what is below the node is drawn further up."""


@dataclass(frozen=True, eq=False)
class InstanceTree:
    """One instance's labels and predictions.

    Args:
        labels: Its labels, each with the value 1.
        predictions: Its scores, in the same hierarchy and added up alike; None if it has none
            above 0.
        threshold: Least score of a predicted node; not used if ``single_label``.
        single_label: Whether only the node of the highest score is predicted.
    """

    labels: WeightedDag
    predictions: WeightedDag | None = None
    threshold: float = 0.5
    single_label: bool = False

    @property
    def sums(self) -> str:
        """How values are added up; empty where each descendant counts once."""
        return SUMS[self.labels.aggregation]

    def mark(self, node: int) -> Mark:
        """What the model made of a node, given its index.

        An instance carries a node, and a model predicts it, if the node or one of its descendants
        is labelled, or predicted. ``hit``: both. ``miss``: carried, not predicted. ``false``: the
        reverse. Empty: neither, or there are no predictions.
        """
        if self.predictions is None:
            return ""
        carried, predicted = self.labels.aggregated[node] > 0, self._predicted[node]
        if carried:
            return "hit" if predicted else "miss"
        return "false" if predicted else ""

    def lines(self, least: float = 0.0) -> Iterator[InstanceLine]:
        """The lines of the tree, the nodes of the largest share first.

        A node is drawn below each of its parents, and what is below it once.

        Args:
            least: A node is left out, and counted, if its share of the labels and its share of the
                scores are both below.
        """
        bars = [Extents(dag) for dag in (self.labels, self.predictions or self.labels)]
        shares = np.maximum(self._label_shares, self._score_shares)
        for line in tree_lines(self.labels.hierarchy, shares, least):
            if line.node is None:
                words = left_out_words(line.left_out, least)
                yield InstanceLine(line.lead, line.level, "", words)
            else:
                drawn = self._line(line, line.node)
                label_bar, score_bar = (bar.bar(line.level, line.node) for bar in bars)
                yield replace(drawn, label_bar=label_bar, score_bar=score_bar)

    def _line(self, line: TreeLine, node: int) -> InstanceLine:
        hierarchy, predictions = self.labels.hierarchy, self.predictions
        parents = hierarchy.parents(hierarchy.nodes[node])
        above = None if line.parent is None else hierarchy.nodes[line.parent]
        return InstanceLine(
            lead=line.lead,
            level=line.level,
            node=hierarchy.nodes[node],
            title=hierarchy.titles[node],
            label=float(self.labels.aggregated[node]),
            score=0.0 if predictions is None else float(predictions.aggregated[node]),
            label_share=float(self._label_shares[node]),
            score_share=float(self._score_shares[node]),
            own_label=float(self.labels.value[node]),
            own_score=0.0 if predictions is None else float(predictions.value[node]),
            mark=self.mark(node),
            also_below=tuple(parent for parent in parents if parent != above),
            again=line.again,
        )

    @cached_property
    def _predicted(self) -> BoolArray:
        """Whether the node or one of its descendants is predicted, shape (n_nodes,)."""
        assert self.predictions is not None
        scores = csr_array(self.predictions.value[np.newaxis, :])
        decided = decide(scores, self.threshold, single_label=self.single_label)
        closure = self.labels.hierarchy.closure
        return np.asarray(aggregate(decided, closure).toarray()).ravel() > 0

    @cached_property
    def _label_shares(self) -> FloatArray:
        return self.labels.shares

    @cached_property
    def _score_shares(self) -> FloatArray:
        if self.predictions is None:
            return np.zeros(len(self.labels.hierarchy))
        return self.predictions.shares
