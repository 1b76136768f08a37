"""The weighted DAG of one instance, and the tree of its labels and of what a model got right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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

Mark = Literal["hit", "miss", "false", ""]
_SUMS: Mapping[Aggregation, str] = {
    "descendants": "",
    "paths": "A value counts at a node once for each path that leads up to it.",
    "mimic": "A node that has a value of its own keeps that, and hides what lies below it.",
}


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
        wrong = [n for n, value in self.values.items() if n not in self.hierarchy or not value >= 0]
        if wrong:
            required = f"values from 0 on, of nodes of {self.hierarchy.name}, are required"
            raise SchemaError(required, found=f"others at {first_cases(sorted(wrong))}")

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
        value[[self.hierarchy.index(node) for node in self.values]] = [*self.values.values()]
        return value

    @cached_property
    def aggregated(self) -> FloatArray:
        """Own and descendants' values of each node, added by ``aggregation``; shape (n_nodes,)."""
        reached = aggregated_values(
            self.hierarchy, csr_array(self.value[np.newaxis, :]), self.aggregation
        )
        return np.asarray(reached.toarray(), float).ravel()

    @cached_property
    def shares(self) -> FloatArray:
        """Aggregated values as shares of the largest, shape (n_nodes,); 0 without values."""
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
        told = []
        for line in InstanceTree(self).lines(least):
            name = printable(f"{line.node} {line.title * (titles or not line.node)}".strip())
            own = f" (own {line.own_label:.4g})" * (line.own_label not in (0, line.label))
            value = f"  {line.label:.4g}{own}{'  (see above)' * line.again}" * bool(line.node)
            told.append(line.lead + name + value)
        return "\n".join(told)

    def __repr__(self) -> str:
        return self.tree(least=0.01)


@dataclass(frozen=True, slots=True)
class InstanceLine:
    """A line of the merged tree: a node below one of its parents, or what was left out there.

    Args:
        lead: The branches that lead to it.
        level: Number of lines above it that lead to it; 0 for the root.
        node: Id of the node; empty if the line says how many nodes were left out.
        title: Title of the node, or the words of a line without a node.
        label, score: Labels and scores at or below the node, added up as the run's policy says.
        label_share, score_share: The same as shares of the largest.
        own_label, own_score: The node's own.
        mark: What the model made of the node.
        also_below: Other parents below which the node is drawn.
        again: Whether what is below the node is drawn further up.
    """

    lead: str
    level: int
    node: str
    title: str
    label: float = 0.0
    score: float = 0.0
    label_share: float = 0.0
    score_share: float = 0.0
    own_label: float = 0.0
    own_score: float = 0.0
    mark: Mark = ""
    also_below: tuple[str, ...] = ()
    again: bool = False


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
        return _SUMS[self.labels.aggregation]

    def mark(self, node: int) -> Mark:
        """What the model made of a node: ``hit`` if a label and a prediction are at or below it,
        perhaps apart; ``miss`` if only a label is, ``false`` if only a prediction; else empty."""
        if self.predictions is None:
            return ""
        if self.labels.aggregated[node] > 0:
            return "hit" if self._predicted[node] else "miss"
        return "false" if self._predicted[node] else ""

    def lines(self, least: float = 0.0) -> Iterator[InstanceLine]:
        """The lines of the tree, the nodes of the largest share first.

        A node is drawn below each of its parents, and what is below it once. One whose shares of
        labels and of scores are both below ``least`` is left out, and counted. What is still to be
        drawn waits in a list, so that no depth ends it.
        """
        hierarchy, drawn = self.labels.hierarchy, set[int]()
        shares = np.maximum(*(dag.shares for dag in self._both_dags))
        reach = hierarchy.closure.multiply(shares[:, np.newaxis]).max(axis=0).toarray().ravel()
        waiting = [(hierarchy.root, "", "", "")]  # the second: the parent, or what is said
        while waiting:
            node, parent, lead, below = waiting.pop()
            if node < 0:
                yield InstanceLine(lead, len(lead) // 3, "", parent)
                continue
            children = [i for i in row(hierarchy.child_matrix, node).tolist() if reach[i]]
            again = node in drawn and bool(children)
            yield self._line(node, parent, lead, again)
            if again:
                continue
            drawn.add(node)
            kept = sorted((i for i in children if reach[i] >= least), key=lambda i: (-shares[i], i))
            parts = [(i, hierarchy.nodes[node]) for i in kept]
            if few := len(children) - len(kept):
                parts.append(
                    (-1, f"{few:,} more with less than {least * 100:.4g}% of the total each")
                )
            for behind, part in enumerate(reversed(parts)):
                branch, under = ("├─ ", "│  ") if behind else ("└─ ", "   ")
                waiting.append((*part, below + branch, below + under))

    def _line(self, node: int, parent: str, lead: str, again: bool) -> InstanceLine:
        hierarchy, (labels, scores) = self.labels.hierarchy, self._both_dags
        return InstanceLine(
            lead=lead,
            level=len(lead) // 3,
            node=hierarchy.nodes[node],
            title=hierarchy.titles[node],
            label=labels.aggregated[node],
            score=scores.aggregated[node],
            label_share=labels.shares[node],
            score_share=scores.shares[node],
            own_label=labels.value[node],
            own_score=scores.value[node],
            mark=self.mark(node),
            also_below=tuple(p for p in hierarchy.parents(hierarchy.nodes[node]) if p != parent),
            again=again,
        )

    @cached_property
    def _both_dags(self) -> tuple[WeightedDag, WeightedDag]:
        return self.labels, self.predictions or WeightedDag(self.labels.hierarchy, {})

    @cached_property
    def _predicted(self) -> BoolArray:
        """Whether the node or one of its descendants is predicted, shape (n_nodes,)."""
        scores = csr_array(self._both_dags[1].value[np.newaxis, :])
        decided = decide(scores, self.threshold, single_label=self.single_label)
        closure = self.labels.hierarchy.closure
        return np.asarray(aggregate(decided, closure).toarray()).ravel() > 0
