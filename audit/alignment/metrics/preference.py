"""Which of two regions of the hierarchy a model prefers.

*Abstraction Alignment*, section 3.3 and equation 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.streaming import (
    Computed,
    Measure,
    columns,
)
from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.base.errors import SchemaError
from audit.engine.pairs.propagation import aggregate
from audit.engine.pairs.rows import row_numbers, stored
from audit.engine.statistics.association import ratio
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import aggregated_values

On: TypeAlias = Literal["values", "aggregated"]
"""Values compared: a node's own scores, or scores aggregated over its descendants."""


@dataclass(frozen=True, eq=False)
class SubgraphPreference(Measure):
    """Share of instances whose largest value in one subgraph exceeds that in another (equation 3).

    The comparison is strict; ties are counted separately. Nodes of the first subgraph are removed
    from the second. An instance without a stored value on one side (the model has no such word) is
    left out; n counts the others.

    Raises:
        SchemaError: On aggregated values, if a node of one side is an ancestor of a node of the
            other:
            its value could then never be the smaller one.
    """

    first: IntArray | Sparse
    """Node indices, or a 0/1 mask of shape (n_instances, n_nodes) if each instance has its own."""
    second: IntArray | Sparse
    on: On = "values"
    parameters: Mapping[str, object] = field(default_factory=dict)
    statistics: ClassVar[tuple[str, ...]] = ("compared", "preferred", "tied")

    def update(self, batch: Batch) -> FloatArray:
        """Whether each instance is compared, prefers the first side, and is tied."""
        first, second = (_side(nodes, batch) for nodes in (self.first, self.second))
        second = _without(second, first)
        words, values = _ones(batch.scores), batch.scores
        if self.on == "aggregated":
            _refuse_nested(batch.hierarchy, first, second)
            words, values = (
                aggregated_values(batch.hierarchy, m, batch.aggregation) for m in (words, values)
            )
        (left, has_left), (right, has_right) = (
            (_largest(values, side), _any_stored(words, side)) for side in (first, second)
        )
        compared = has_left & has_right
        preferred, tied = compared & (left > right), compared & (left == right)
        return np.column_stack([compared, preferred, tied]).astype(np.float64)

    def compute(self, sums: FloatArray) -> Computed:
        """``subgraph_preference``, undefined if no instance is compared, and ``ties``."""
        compared, preferred, tied = columns(sums)
        return {
            "subgraph_preference": (ratio(preferred, compared), compared),
            "ties": (tied, compared),
        }


def _side(nodes: IntArray | Sparse, batch: Batch) -> Sparse:
    """A subgraph as a canonical mask: one row for all instances, or one for each."""
    n_nodes = len(batch.hierarchy)
    if isinstance(nodes, np.ndarray):
        unique = np.unique(nodes)
        return csr_array((np.ones(len(unique)), unique, [0, len(unique)]), shape=(1, n_nodes))
    if nodes.shape != (len(batch), n_nodes):
        raise SchemaError(
            "a subgraph must be node indices or a mask of shape (instances, nodes)",
            found=f"{nodes.shape}, required {(len(batch), n_nodes)}",
        )
    mask = _ones(nodes, nodes.data != 0)
    mask.eliminate_zeros()
    mask.sum_duplicates()
    return mask


def _without(mask: Sparse, other: Sparse) -> Sparse:
    n = max(mask.shape[0], other.shape[0])
    mask, other = _repeated(mask, n), _repeated(other, n)
    kept = ~stored(other, row_numbers(mask), mask.indices.astype(np.int64))
    left = _ones(mask, kept)
    left.eliminate_zeros()
    return left


def _repeated(mask: Sparse, n: int) -> Sparse:
    return mask if mask.shape[0] == n else csr_array(mask[np.zeros(n, np.int64)])


def _ones(pattern: Sparse, data: BoolArray | None = None) -> Sparse:
    values = np.ones(pattern.nnz) if data is None else data.astype(np.float64)
    return csr_array((values, pattern.indices.copy(), pattern.indptr.copy()), shape=pattern.shape)


def _refuse_nested(hierarchy: Hierarchy, first: Sparse, second: Sparse) -> None:
    n = max(first.shape[0], second.shape[0])
    first, second = _repeated(first, n), _repeated(second, n)
    for low, high in ((first, second), (second, first)):
        above = aggregate(low, hierarchy.strict_closure)
        met = stored(high, row_numbers(above), above.indices.astype(np.int64))
        if met.any():
            node = hierarchy.nodes[int(above.indices[met][0])]
            raise SchemaError(
                "aggregated values can be compared only between nodes of which neither is above "
                "the other",
                found=f"{node!r} of one side is an ancestor of a node of the other",
                hint="compare the values of the nodes themselves",
            )


def _chosen(values: Sparse, mask: Sparse) -> BoolArray:
    """Whether each stored value is in the mask."""
    rows = np.zeros(values.nnz, np.int64) if mask.shape[0] == 1 else row_numbers(values)
    return stored(mask, rows, values.indices.astype(np.int64))


def _any_stored(values: Sparse, mask: Sparse) -> BoolArray:
    return np.bincount(row_numbers(values)[_chosen(values, mask)], minlength=values.shape[0]) > 0


def _largest(values: Sparse, mask: Sparse) -> FloatArray:
    """The largest stored value in the mask, shape (n_instances,); 0 where there is none."""
    chosen = _chosen(values, mask)
    largest = np.zeros(values.shape[0])
    np.maximum.at(largest, row_numbers(values)[chosen], values.data[chosen])
    return largest
