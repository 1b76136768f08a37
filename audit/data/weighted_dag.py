"""The weighted DAG of one instance, and the tree of its labels and of what a model got right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, Sparse, row
from audit.base.errors import SchemaError, first_cases, printable
from audit.base.settings import Aggregation
from audit.engine.pairs.propagation import aggregate
from audit.engine.scores.cuts import decide
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import aggregated_values


class _Line(NamedTuple):
    """A node below one of its parents, or, without a node, how many were left out there; ``lead``
    are the branches before it, ``again`` whether what is below it is drawn further up."""

    lead: str
    level: int
    node: int | None
    parent: int | None = None
    left_out: int = 0
    again: bool = False


def _drawn(hierarchy: Hierarchy, values: FloatArray, floor: float) -> Iterator[_Line]:
    """Nodes with a value above 0 from the root down, once below each parent, the largest first.

    Nodes below ``floor`` are left out unless one below them has it. What is still to be drawn waits
    in a list, so that no depth ends it.
    """
    spread = hierarchy.closure.multiply(values[:, np.newaxis])
    reach, drawn = np.asarray(spread.max(axis=0).todense()).ravel(), set[int]()
    waiting = [(_Line("", 0, hierarchy.root), "")]
    while waiting:
        line, below = waiting.pop()
        if line.node is None:
            yield line
            continue
        children = [i for i in row(hierarchy.child_matrix, line.node).tolist() if reach[i]]
        kept = [i for i in children if reach[i] >= floor]
        kept.sort(key=lambda i: (-values[i], i))
        again = line.node in drawn and bool(children)
        drawn.add(line.node)
        yield line._replace(again=again)
        parts: list[tuple[int | None, int]] = [(node, 0) for node in kept]
        parts += [(None, len(children) - len(kept))] * (len(kept) < len(children))
        for at, (node, few) in [] if again else reversed([*enumerate(parts, 1)]):
            last = at == len(parts)
            lead, under = below + "├└"[last] + "─ ", below + "│ "[last] + "  "
            waiting.append((_Line(lead, line.level + 1, node, line.node, few), under))


def _words(left_out: int, least: float) -> str:
    return f"{left_out:,} more with less than {least * 100:.4g}% of the total each"


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

    def tree(self, *, least: float = 0.0, titles: bool = True) -> str:
        """Text tree of the nodes with an aggregated value above 0, the largest value first.

        Each line ends in the aggregated value, followed by the node's own value if that differs. A
        node with several parents is drawn below its first one and referred to from the others.

        Args:
            least: Share of the largest value below which a node is left out; a line of its own
                counts the nodes left out.
            titles: Whether to show titles after the ids.
        """
        return "\n".join(
            f"{line.lead}{_words(line.left_out, least)}"
            if line.node is None
            else f"{line.lead}{self._told(line.node, titles)}{'  (see above)' * line.again}"
            for line in _drawn(self.hierarchy, self.shares, least)
        )

    def _told(self, node: int, titles: bool) -> str:
        title = self.hierarchy.titles[node] if titles else ""
        total, own = self.aggregated[node], self.value[node]
        beside = f" (own {own:.4g})" if own and own != total else ""
        return f"{printable(f'{self.hierarchy.nodes[node]} {title}'.rstrip())}  {total:.4g}{beside}"

    def __repr__(self) -> str:
        return self.tree(least=0.01)

    def _repr_markdown_(self) -> str:
        return f"```\n{self.tree(least=0.01)}\n```"


Mark = Literal["hit", "miss", "false", ""]
_SUMS: Mapping[Aggregation, str] = {
    "descendants": "",
    "paths": "A value counts at a node once for each path that leads up to it.",
    "mimic": "A node that has a value of its own keeps that, and hides what lies below it.",
}


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
        label_bar, score_bar: Where bars begin, and their lengths, as shares of the root's.
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
    label_bar: tuple[float, float] = (0.0, 0.0)
    score_bar: tuple[float, float] = (0.0, 0.0)
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
        carried, predicted = bool(self.labels.aggregated[node] > 0), bool(self._predicted[node])
        marks: dict[tuple[bool, bool], Mark] = {
            (True, True): "hit", (True, False): "miss", (False, True): "false",
        }  # fmt: skip
        return marks.get((carried, predicted), "")

    def lines(self, least: float = 0.0) -> Iterator[InstanceLine]:
        """The lines of the tree, the nodes of the largest share first.

        A node is drawn below each of its parents, and what is below it once. One whose shares of
        labels and of scores are both below ``least`` is left out, and counted.
        """
        hierarchy = self.labels.hierarchy
        dags = {"label": self.labels, "score": self.predictions or WeightedDag(hierarchy, {})}
        bars = {kind: _Bars(dag) for kind, dag in dags.items()}
        shares = np.maximum(*(dag.shares for dag in dags.values()))
        for lead, level, node, parent, left_out, again in _drawn(hierarchy, shares, least):
            if node is None:
                yield InstanceLine(lead, level, "", _words(left_out, least))
                continue
            values: dict[str, Any] = {}
            for kind, dag in dags.items():
                values |= {
                    kind: float(dag.aggregated[node]),
                    f"{kind}_share": float(dag.shares[node]),
                    f"{kind}_bar": bars[kind].next(level, node),
                    f"own_{kind}": float(dag.value[node]),
                }
            name, above = hierarchy.nodes[node], None if parent is None else hierarchy.nodes[parent]
            also = tuple(one for one in hierarchy.parents(name) if one != above)
            values |= {"mark": self.mark(node), "also_below": also, "again": again}
            yield InstanceLine(lead, level, name, hierarchy.titles[node], **values)

    @cached_property
    def _predicted(self) -> BoolArray:
        """Whether the node or one of its descendants is predicted, shape (n_nodes,)."""
        assert self.predictions is not None
        scores = csr_array(self.predictions.value[np.newaxis, :])
        decided = decide(scores, self.threshold, single_label=self.single_label)
        closure = self.labels.hierarchy.closure
        return np.asarray(aggregate(decided, closure).toarray()).ravel() > 0


class _Bars:
    """Where bars begin, and how long they are, as shares of the root's; those below a node never
    pass its own."""

    def __init__(self, dag: WeightedDag) -> None:
        self._parents, self._extents = np.diff(dag.hierarchy.edges.indptr), dag.extents
        self._open: list[list[float]] = []
        """Of each level that is drawn into: where the next bar begins, and the scale of bars."""

    def next(self, level: int, node: int) -> tuple[float, float]:
        """Beginning and length of the next bar from the root down; both 0 without a value."""
        own = float(self._extents[node])
        start, length = 0.0, float(own > 0)
        if level:
            above = self._open[level - 1]
            start, length = above[0], own / int(self._parents[node]) * above[1]
            above[0] += length
        self._open[level:] = [[start, length / own if own else 0.0]]
        return start, length
