"""Siblings that behave as one: concepts that stand for nearly the same instances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, Sparse
from audit.entailment.graph.condensation import Condensation
from audit.entailment.graph.measurements import TWINS

LEAST_SHARED = 5
"""Instances that two concepts must share to be compared."""
JACCARD = 0.9
"""Share of the instances of either that both must have."""
STEPS = 5_000_000
"""Pairs of concepts of one instance that are held in memory at a time."""


def twin_table(condensation: Condensation) -> pl.DataFrame:
    """Columns `TWINS`: the pairs with the most shared instances first."""
    wide = np.flatnonzero(condensation.children >= LEAST_SHARED)
    instances = csr_array(condensation.edges[:, wide].T)
    pairs = list(_alike(instances)) or [np.empty((0, 3), np.int64)]
    first, second, shared = np.concatenate(pairs).T
    first, second = wide[first], wide[second]
    siblings = _are_siblings(condensation.edges, first, second)
    first, second, shared = first[siblings], second[siblings], shared[siblings]
    texts, children = condensation.texts, condensation.children
    either = children[first] + children[second] - shared
    table = pl.DataFrame(
        {"relation": texts["relation"].gather(first),
         "first": texts["text"].gather(first),
         "second": texts["text"].gather(second),
         "shared": shared, "first_children": children[first],
         "second_children": children[second], "jaccard": shared / either}
    )  # fmt: skip
    return table.select(pl.col(name).cast(kind) for name, kind in TWINS.items()).sort(
        "shared", "relation", "first", "second", descending=[True, False, False, False]
    )


def _alike(instances: Sparse) -> Iterator[IntArray]:
    """Pairs of rows that share most columns, as ``first, second, shared``, shape (n_pairs, 3)."""
    size = np.diff(instances.indptr).astype(np.int64)
    columns = csr_array(instances.T)
    steps = np.asarray(instances @ np.diff(columns.indptr).astype(np.int64))
    block = np.cumsum(steps) // STEPS
    for rows in np.split(np.arange(len(size)), np.flatnonzero(np.diff(block)) + 1):
        met = csr_array(instances[rows] @ columns).tocoo()
        first, second, shared = rows[met.row], met.col.astype(np.int64), met.data
        either = size[first] + size[second] - shared
        alike = (first < second) & (shared >= LEAST_SHARED) & (shared >= JACCARD * either)
        yield np.column_stack((first[alike], second[alike], shared[alike]))


def _are_siblings(edges: Sparse, first: IntArray, second: IntArray) -> BoolArray:
    """Whether two nodes share a parent or have none, and neither is a parent of the other."""
    parents = np.diff(edges.indptr)
    tops = (parents[first] == 0) & (parents[second] == 0)
    shared = np.asarray(edges[first].multiply(edges[second]).sum(axis=1)).ravel() > 0
    line = edges[first].multiply(_one_hot(second, edges)) + edges[second].multiply(
        _one_hot(first, edges)
    )
    return np.asarray((tops | shared) & (np.asarray(line.sum(axis=1)).ravel() == 0))


def _one_hot(nodes: IntArray, edges: Sparse) -> Sparse:
    """A row for each node, with 1 in its column."""
    ones = np.ones(len(nodes), np.int64)
    return csr_array((ones, (np.arange(len(nodes)), nodes)), shape=(len(nodes), edges.shape[1]))
