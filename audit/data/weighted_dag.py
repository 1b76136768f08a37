"""The weighted DAG of one instance, and the tree of its labels and of what a model got right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, Sparse, row
from audit.base.errors import SchemaError, first_cases, printable
from audit.base.settings import Aggregation
from audit.engine.pairs.propagation import aggregate
from audit.engine.scores.cuts import decide
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import aggregated_values


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A line of a drawn tree: a node below one of its parents, or how many were left out there."""

    lead: str
    """What stands before the node: the branches that lead to it."""
    level: int
    """Number of lines above it that lead to it; 0 for the root."""
    node: int | None
    """Index of the node; None if the line counts the nodes left out."""
    parent: int | None = None
    """Index of the node that it is drawn below; None for the root."""
    left_out: int = 0
    again: bool = False
    """Whether what is below the node is drawn further up, below another of its parents."""


def tree_lines(hierarchy: Hierarchy, values: FloatArray, floor: float) -> Iterator[TreeLine]:
    """Draw the nodes with a value above 0 from the root down, the largest value first.

    What is still to be drawn waits in a list, so that no depth ends it. Nodes below ``floor`` are
    left out unless one below them has it; a line below their parent counts them. The root comes
    first, even without a value, then a line for each parent of each node.
    """
    reach = _reach(hierarchy, values)
    drawn: set[int] = set()
    waiting: list[tuple[TreeLine, str]] = [(TreeLine("", 0, hierarchy.root), "")]
    while waiting:
        line, below = waiting.pop()
        if line.node is None:
            yield line
            continue
        kept, left_out = _reached(hierarchy, values, reach, line.node, floor)
        again = line.node in drawn and bool(kept or left_out)
        drawn.add(line.node)
        yield TreeLine(line.lead, line.level, line.node, line.parent, again=again)
        parts: list[tuple[int | None, int]] = [(node, 0) for node in kept]
        parts += [(None, left_out)] if left_out else []
        last = len(parts) - 1
        for at, (node, few) in [] if again else reversed([*enumerate(parts)]):
            lead, under = below + "├└"[at == last] + "─ ", below + "│ "[at == last] + "  "
            waiting.append((TreeLine(lead, line.level + 1, node, line.node, few), under))


def left_out_words(left_out: int, least: float) -> str:
    """The text of a line that counts the nodes left out, whose share is below ``least``.

    >>> left_out_words(3, 0.01)
    '3 more with less than 1% of the total each'
    """
    return f"{left_out:,} more with less than {least * 100:.4g}% of the total each"


def _reach(hierarchy: Hierarchy, values: FloatArray) -> FloatArray:
    """The largest value of each node and its descendants, shape (n_nodes,)."""
    edges = hierarchy.edges.tocoo()
    if (values[edges.row] <= values[edges.col]).all():
        return values
    spread = hierarchy.closure.multiply(values[:, np.newaxis])
    return np.asarray(spread.max(axis=0).todense()).ravel()


def _reached(
    hierarchy: Hierarchy, values: FloatArray, reach: FloatArray, node: int, floor: float
) -> tuple[list[int], int]:
    """Children with a value, the largest first, and how many more do not reach the floor."""
    reached = [i for i in row(hierarchy.child_matrix, node).tolist() if reach[i]]
    reached.sort(key=lambda i: (-values[i], i))
    kept = [i for i in reached if reach[i] >= floor]
    return kept, len(reached) - len(kept)


_ABOVE = "  (see above)"


@dataclass(frozen=True, eq=False, repr=False)
class WeightedDag:
    """Algorithm 1 of *Abstraction Alignment* for one instance: values and aggregated values.

    Args:
        hierarchy: The hierarchy.
        values: Own value of nodes, by id: 1 for a label, a score for a prediction.
        aggregation: What an aggregated value is.

    Raises:
        SchemaError: If an id is not a node, or a value is negative.

    >>> import audit
    >>> tree = audit.load_hierarchy({"pet": {"cat": {}, "dog": {}}})
    >>> audit.WeightedDag(tree, {"cat": 0.7, "dog": 0.2})
    pet  0.9
    ├─ cat  0.7
    └─ dog  0.2
    """

    hierarchy: Hierarchy
    values: Mapping[str, float]
    aggregation: Aggregation = "descendants"

    def __post_init__(self) -> None:
        strangers = sorted(node for node in self.values if node not in self.hierarchy)
        if strangers:
            raise SchemaError(
                f"values must belong to nodes of {self.hierarchy.name}",
                found=first_cases(strangers),
            )
        negative = sorted(node for node, value in self.values.items() if not value >= 0)
        if negative:
            raise SchemaError(
                "values must not be negative", found=f"at the nodes {first_cases(negative)}"
            )

    @classmethod
    def of_row(cls, hierarchy: Hierarchy, values: Sparse, position: int) -> WeightedDag:
        """The DAG of one row of values, shape (n_instances, n_nodes)."""
        stored = slice(values.indptr[position], values.indptr[position + 1])
        nodes = (hierarchy.nodes[i] for i in values.indices[stored].tolist())
        return cls(hierarchy, dict(zip(nodes, values.data[stored].tolist(), strict=True)))

    @cached_property
    def value(self) -> FloatArray:
        """Own value of each node, shape (n_nodes,)."""
        value = np.zeros(len(self.hierarchy))
        for node, own in self.values.items():
            value[self.hierarchy.index(node)] = own
        return value

    @cached_property
    def aggregated(self) -> FloatArray:
        """What reaches each node from itself and its descendants, shape (n_nodes,)."""
        line = csr_array(self.value[np.newaxis, :])
        reached = aggregated_values(self.hierarchy, line, self.aggregation)
        return np.asarray(reached.toarray(), float).ravel()

    @cached_property
    def shares(self) -> FloatArray:
        """Aggregated values as shares of the largest, which is the root's unless a node hides what
        is below it; shape (n_nodes,), 0 without values.
        """
        return self.aggregated / (self.aggregated.max() or 1.0)

    def tree(self, *, least: float = 0.0, titles: bool = True) -> str:
        """Text tree of the nodes with an aggregated value above 0, the largest value first.

        Each line ends in the aggregated value, followed by the node's own value if that differs. A
        node with several parents is drawn below its first one and referred to from the others.

        Args:
            least: Share of the largest value below which a node is left out; a line of its own
                counts the nodes left out.
            titles: Whether to show titles after the ids.
        """
        if not self.aggregated.any():
            return f"{self._name(self.hierarchy.root, titles)}  0"
        return "\n".join(self._lines(least, titles))

    def _lines(self, least: float, titles: bool) -> Iterator[str]:
        for line in tree_lines(self.hierarchy, self.shares, least):
            if line.node is None:
                yield f"{line.lead}{left_out_words(line.left_out, least)}"
            else:
                name, numbers = self._name(line.node, titles), self._numbers(line.node)
                yield f"{line.lead}{name}  {numbers}{_ABOVE * line.again}"

    def _name(self, node: int, titles: bool) -> str:
        title = self.hierarchy.titles[node] if titles else ""
        return printable(f"{self.hierarchy.nodes[node]} {title}".rstrip())

    def _numbers(self, node: int) -> str:
        total, own = self.aggregated[node], self.value[node]
        beside = f" (own {own:.4g})" if own and own != total else ""
        return f"{total:.4g}{beside}"

    def __repr__(self) -> str:
        return self.tree(least=0.01)

    def _repr_markdown_(self) -> str:
        return f"```\n{self.tree(least=0.01)}\n```"


class Extents:
    """Where the bars of one instance begin, and how long they are, as shares of the root's.

    A node's extent is its own value and the extents of its children; that of a node with several
    parents is divided equally among them, so that the bars below a node never pass its own. Where
    every node has one parent, a bar is as long as the node's aggregated value.
    """

    def __init__(self, dag: WeightedDag) -> None:
        self._parents = np.diff(dag.hierarchy.edges.indptr)
        self._extent = _extents(dag)
        self._open: list[list[float]] = []
        """Of each level that is drawn into: where the next bar begins, and the scale of bars."""

    def bar(self, level: int, node: int) -> tuple[float, float]:
        """Beginning and length of the next bar as shares of the root's, on level 0; both 0 if the
        instance has no value. Lines are drawn from the root down, in order."""
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

        A node is drawn below each of its parents, and what is below it once. One whose shares of
        labels and of scores are both below ``least`` is left out, and counted.
        """
        bars = [Extents(dag) for dag in (self.labels, self.predictions or self.labels)]
        shares = np.maximum(self.labels.shares, self._score_shares)
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
            label_share=float(self.labels.shares[node]),
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
    def _score_shares(self) -> FloatArray:
        nothing = np.zeros(len(self.labels.hierarchy))
        return nothing if self.predictions is None else self.predictions.shares
