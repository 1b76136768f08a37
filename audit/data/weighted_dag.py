"""The weighted DAG of one instance, and the tree of its labels and of what a model got right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

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
_Bar: TypeAlias = tuple[float, float]
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
        if strangers := sorted(node for node in self.values if node not in self.hierarchy):
            required = f"values must belong to nodes of {self.hierarchy.name}"
            raise SchemaError(required, found=first_cases(strangers))
        if negative := sorted(node for node, value in self.values.items() if not value >= 0):
            required, found = "values must not be negative", f"at {first_cases(negative)}"
            raise SchemaError(required, found=found)

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
        """What reaches each node from itself and its descendants, shape (n_nodes,)."""
        line = csr_array(self.value[np.newaxis, :])
        reached = aggregated_values(self.hierarchy, line, self.aggregation)
        return np.asarray(reached.toarray(), float).ravel()

    @cached_property
    def shares(self) -> FloatArray:
        """Aggregated values as shares of the largest, shape (n_nodes,); 0 without values."""
        return self.aggregated / (self.aggregated.max() or 1.0)

    @cached_property
    def extents(self) -> FloatArray:
        """Own value and the parts of the children's extents, which are divided equally among their
        parents, shape (n_nodes,): where all have one, the aggregated value."""
        hierarchy, extent = self.hierarchy, self.value.astype(np.float64)
        there = np.flatnonzero(extent @ hierarchy.closure)
        for node in there[np.argsort(hierarchy.height[there], kind="stable")]:
            parents = row(hierarchy.edges, int(node))
            extent[parents] += extent[node] / max(len(parents), 1)
        return extent

    def bars(self, bar: _Bar, node: int, children: Sequence[int]) -> list[_Bar]:
        """Beginnings and lengths of the bars of children behind each other within their parent's,
        as shares of the root's."""
        of, starts = np.array(children, int), self.hierarchy.edges.indptr
        lengths = self.extents[of] / (starts[of + 1] - starts[of]) * bar[1]
        lengths /= self.extents[node] or 1.0
        begins = bar[0] + np.cumsum(lengths) - lengths
        return [*zip(begins.tolist(), lengths.tolist(), strict=True)]

    def tree(self, *, least: float = 0.0, titles: bool = True) -> str:
        """Text tree of the nodes with an aggregated value above 0, the largest value first.

        Each line ends in the aggregated value, followed by the node's own value if that differs. A
        node with several parents is drawn below its first one and referred to from the others.

        Args:
            least: Share of the largest value below which a node is left out; a line of its own
                counts the nodes left out.
            titles: Whether to show titles after the ids.
        """
        lines = InstanceTree(self).lines(least)
        return "\n".join(f"{line.lead}{_told(line, titles)}" for line in lines)

    def __repr__(self) -> str:
        return self.tree(least=0.01)

    def _repr_markdown_(self) -> str:
        return f"```\n{self.tree(least=0.01)}\n```"


def _told(line: InstanceLine, titles: bool) -> str:
    if not line.node:
        return line.title
    name = printable(f"{line.node} {line.title * titles}".rstrip())
    beside = f" (own {line.own_label:.4g})" * (line.own_label not in (0, line.label))
    return f"{name}  {line.label:.4g}{beside}{'  (see above)' * line.again}"


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
        label_bar, score_bar: Where bars begin, and their lengths, as shares of the root's; those
            below a node never pass its own.
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
    label_bar: _Bar = (0.0, 0.0)
    score_bar: _Bar = (0.0, 0.0)
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
        """What the model made of a node: ``hit`` if it or one below is labelled, and so predicted;
        ``miss`` or ``false`` if only the one or the other; empty if neither, or without a model."""
        if self.predictions is None:
            return ""
        predicted = self._predicted[node]
        if self.labels.aggregated[node] > 0:
            return "hit" if predicted else "miss"
        return "false" if predicted else ""

    def lines(self, least: float = 0.0) -> Iterator[InstanceLine]:
        """The lines of the tree, the nodes of the largest share first.

        A node is drawn below each of its parents, and what is below it once. One whose shares of
        labels and of scores are both below ``least`` is left out, and counted. What is still to be
        drawn waits in a list, so that no depth ends it.
        """
        hierarchy, drawn = self.labels.hierarchy, set[int]()
        shares = np.maximum(*(dag.shares for dag in self._dags))
        reach = hierarchy.closure.multiply(shares[:, np.newaxis]).max(axis=0).toarray().ravel()
        bars = [(0.0, float(dag.extents[hierarchy.root] > 0)) for dag in self._dags]
        waiting = [(self._line(hierarchy.root, bars), "")]
        while waiting:
            line, below = waiting.pop()
            if not line.node:
                yield line
                continue
            node = hierarchy.index(line.node)
            children = [i for i in row(hierarchy.child_matrix, node).tolist() if reach[i]]
            again = node in drawn and bool(children)
            yield replace(line, again=again)
            if again:
                continue
            drawn.add(node)
            kept = sorted((i for i in children if reach[i] >= least), key=lambda i: (-shares[i], i))
            own = zip(self._dags, (line.label_bar, line.score_bar), strict=True)
            each = zip(*(dag.bars(bar, node, kept) for dag, bar in own), strict=True)
            parts = [self._line(i, bars, line) for i, bars in zip(kept, each, strict=True)]
            if few := len(children) - len(kept):
                words = f"{few:,} more with less than {least * 100:.4g}% of the total each"
                parts.append(InstanceLine("", line.level + 1, "", words))
            for behind, part in enumerate(reversed(parts)):
                lead, under = ("├─ ", "│  ") if behind else ("└─ ", "   ")
                waiting.append((replace(part, lead=below + lead), below + under))

    def _line(
        self, node: int, bars: Sequence[_Bar], above: InstanceLine | None = None
    ) -> InstanceLine:
        hierarchy, values = self.labels.hierarchy, dict[str, Any]()
        for kind, dag, bar in zip(("label", "score"), self._dags, bars, strict=True):
            values[kind], values[f"own_{kind}"] = dag.aggregated[node], dag.value[node]
            values[f"{kind}_share"], values[f"{kind}_bar"] = dag.shares[node], bar
        name = hierarchy.nodes[node]
        return InstanceLine(
            lead="",
            level=above.level + 1 if above else 0,
            node=name,
            title=hierarchy.titles[node],
            mark=self.mark(node),
            also_below=tuple(p for p in hierarchy.parents(name) if not above or p != above.node),
            **values,
        )

    @cached_property
    def _dags(self) -> tuple[WeightedDag, WeightedDag]:
        return self.labels, self.predictions or WeightedDag(self.labels.hierarchy, {})

    @cached_property
    def _predicted(self) -> BoolArray:
        """Whether the node or one of its descendants is predicted, shape (n_nodes,)."""
        scores = csr_array(self._dags[1].value[np.newaxis, :])
        decided = decide(scores, self.threshold, single_label=self.single_label)
        closure = self.labels.hierarchy.closure
        return np.asarray(aggregate(decided, closure).toarray()).ravel() > 0
