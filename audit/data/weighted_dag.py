"""The weighted DAG of one instance, and the lines of a tree drawn of values on a hierarchy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, Sparse, row
from audit.base.errors import SchemaError, first_cases, printable
from audit.base.settings import Aggregation
from audit.hierarchies.aggregation import aggregated_values
from audit.hierarchies.hierarchy import Hierarchy


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

    What is still to be drawn waits in a list, so that no depth ends it.

    Args:
        hierarchy: The hierarchy.
        values: A value of each node, shape (n_nodes,).
        floor: Nodes below this value are left out unless one below them has it; a line below their
            parent counts them.

    Yields:
        The root, even without a value, and then a line for each parent of each node.
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
    """What a line says that counts nodes left out.

    Args:
        left_out: Their number.
        least: The share of the whole that they do not reach.

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

    @property
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
