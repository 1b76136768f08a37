"""The weighted DAG of one instance: each node's own value, and its aggregated value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import Aggregation, FloatArray, Sparse
from audit.base.errors import SchemaError, first_cases, printable
from audit.data.tree_lines import left_out_words, tree_lines
from audit.hierarchies.aggregation import aggregated_values
from audit.hierarchies.hierarchy import Hierarchy

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
