"""The weighted DAG of one instance: each node's own value, and its aggregated value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, Sparse, row
from audit.base.errors import SchemaError, first_cases, printable
from audit.engine.pairs.propagation import aggregate
from audit.hierarchies.hierarchy import Hierarchy

_ABOVE = "  (see above)"


@dataclass(frozen=True, eq=False, repr=False)
class WeightedDag:
    """Algorithm 1 of *Abstraction Alignment* for one instance: values and aggregated values.

    Args:
        hierarchy: The hierarchy.
        values: Own value of nodes, by id: 1 for a label, a score for a prediction.

    Raises:
        SchemaError: If an id is not a node, or a value is negative.
    """

    hierarchy: Hierarchy
    values: Mapping[str, float]

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
        """Sum of the values of each node and its descendants, shape (n_nodes,)."""
        line = csr_array(self.value[np.newaxis, :])
        return np.asarray(aggregate(line, self.hierarchy.closure).toarray(), float).ravel()

    def tree(self, *, least: float = 0.0, titles: bool = True) -> str:
        """Text tree of the nodes with an aggregated value above 0, the largest value first.

        Each line ends in the aggregated value, followed by the node's own value if that differs. A
        node with several parents is drawn below its first one and referred to from the others.

        Args:
            least: Share of the root's value below which a node is left out; a line of its own
                counts the nodes left out.
            titles: Whether to show titles after the ids.
        """
        if not self.aggregated.any():
            return f"{self._name(self.hierarchy.root, titles)}  0"
        return "\n".join(self._lines(least, titles))

    def _lines(self, least: float, titles: bool) -> Iterator[str]:
        """The lines from the root down; what is still to be drawn waits, so that no depth ends it.

        What waits is a node, or how many were left out, with what stands before it and before
        what is below it.
        """
        drawn: set[int] = set()
        waiting: list[tuple[int | str, str, str]] = [(self.hierarchy.root, "", "")]
        while waiting:
            node, lead, below = waiting.pop()
            if isinstance(node, str):
                yield f"{lead}{node}"
                continue
            children, left_out = self._reached(node, least)
            again = node in drawn and bool(children)
            drawn.add(node)
            yield f"{lead}{self._name(node, titles)}  {self._numbers(node)}{_ABOVE * again}"
            parts: list[int | str] = [] if again else [*children]
            if left_out and not again:
                share = f"{least * 100:.4g}%"
                parts.append(f"{left_out:,} more with less than {share} of the total each")
            last = len(parts) - 1
            waiting += [
                (part, below + "├└"[at == last] + "─ ", below + "│ "[at == last] + "  ")
                for at, part in reversed([*enumerate(parts)])
            ]

    def _reached(self, node: int, least: float) -> tuple[list[int], int]:
        """Children that something reaches, largest first, and how many fall below the least."""
        reached = [i for i in row(self.hierarchy.child_matrix, node).tolist() if self.aggregated[i]]
        reached.sort(key=lambda i: (-self.aggregated[i], i))
        floor = least * self.aggregated[self.hierarchy.root]
        kept = [i for i in reached if self.aggregated[i] >= floor]
        return kept, len(reached) - len(kept)

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
