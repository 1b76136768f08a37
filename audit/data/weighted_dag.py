"""The weighted DAG of one instance: what each node gets itself, and what reaches it from below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, Sparse, row
from audit.base.errors import SchemaError, first_cases
from audit.engine.pairs.propagation import aggregate
from audit.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False, repr=False)
class WeightedDag:
    """Algorithm 1 of *Abstraction Alignment* for one instance: values, and aggregated values.

    Args:
        hierarchy: The hierarchy.
        values: What each node gets itself, by id: 1 for a label, a score for a prediction.

    Raises:
        SchemaError: If a value belongs to no node, or is negative.
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
        """What each node gets itself, shape (n_nodes,)."""
        value = np.zeros(len(self.hierarchy))
        for node, own in self.values.items():
            value[self.hierarchy.index(node)] = own
        return value

    @cached_property
    def aggregated(self) -> FloatArray:
        """What reaches each node from itself and its descendants, shape (n_nodes,)."""
        line = csr_array(self.value[np.newaxis, :])
        return np.asarray(aggregate(line, self.hierarchy.closure).toarray(), float).ravel()

    def tree(self, *, least: float = 0.0, titles: bool = True) -> str:
        """The nodes that something reaches, drawn as a tree, the largest value first.

        Each line ends in the aggregated value; a node's own value follows where it differs. A node
        with several parents is drawn below its first one and pointed to from the others.

        Args:
            least: Share of the root's value below which a node is left out; what is left out is
                counted in a line of its own.
            titles: Whether titles follow the ids.
        """
        if not self.aggregated.any():
            return f"{self._name(self.hierarchy.root, titles)}  0"
        return "\n".join(self._lines(self.hierarchy.root, "", "", least, titles, set()))

    def _lines(
        self, node: int, lead: str, below: str, least: float, titles: bool, drawn: set[int]
    ) -> Iterator[str]:
        again = node in drawn and bool(self._reached(node, least)[0])
        drawn.add(node)
        yield f"{lead}{self._name(node, titles)}  {self._numbers(node)}{'  (see above)' * again}"
        if again:
            return
        children, left_out = self._reached(node, least)
        for position, child in enumerate(children):
            last = position == len(children) - 1 and not left_out
            yield from self._lines(
                child,
                below + ("└─ " if last else "├─ "),
                below + ("   " if last else "│  "),
                least,
                titles,
                drawn,
            )
        if left_out:
            yield f"{below}└─ {left_out:,} more with less than {least * 100:.4g}% of the total each"

    def _reached(self, node: int, least: float) -> tuple[list[int], int]:
        """Children that something reaches, largest first, and how many fall below the least."""
        reached = [i for i in row(self.hierarchy.child_matrix, node).tolist() if self.aggregated[i]]
        reached.sort(key=lambda i: (-self.aggregated[i], i))
        floor = least * self.aggregated[self.hierarchy.root]
        kept = [i for i in reached if self.aggregated[i] >= floor]
        return kept, len(reached) - len(kept)

    def _name(self, node: int, titles: bool) -> str:
        title = self.hierarchy.titles[node] if titles else ""
        return f"{self.hierarchy.nodes[node]} {title}".rstrip()

    def _numbers(self, node: int) -> str:
        total, own = self.aggregated[node], self.value[node]
        beside = f" (own {own:.4g})" if own and own != total else ""
        return f"{total:.4g}{beside}"

    def __repr__(self) -> str:
        return self.tree(least=0.01)

    def _repr_markdown_(self) -> str:
        return f"```\n{self.tree(least=0.01)}\n```"
