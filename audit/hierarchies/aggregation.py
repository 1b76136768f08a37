"""The aggregated value of each node, in the reading that a policy names."""

from __future__ import annotations

from audit.base.dag import Sparse
from audit.base.settings import Aggregation
from audit.engine.pairs.propagation import aggregate, keep_own_values, path_counts
from audit.hierarchies.hierarchy import Hierarchy


def aggregated_values(
    hierarchy: Hierarchy, values: Sparse, aggregation: Aggregation = "descendants"
) -> Sparse:
    """Aggregated value of each node, shape (n_instances, n_nodes), canonical CSR.

    Args:
        hierarchy: The nodes.
        values: Own values, not negative, shape (n_instances, n_nodes).
        aggregation: What an aggregated value is: each descendant counts once (``descendants``),
            once for each path (``paths``), or only below nodes without a value (``mimic``).

    Raises:
        SchemaError: If nodes have more paths between them than can be counted.
    """
    if aggregation == "paths":
        return aggregate(values, path_counts(hierarchy.edges))
    if aggregation == "mimic":
        return keep_own_values(values, hierarchy.edges, hierarchy.height)
    return aggregate(values, hierarchy.closure)
