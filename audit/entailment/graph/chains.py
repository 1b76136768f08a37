"""Chains a -> b -> c of valid edges, and whether a -> c was judged valid, invalid or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, Sparse
from audit.base.paths import edge_ends
from audit.entailment.graph.measurements import VIOLATIONS
from audit.entailment.graph.text_graph import DENIED, TextGraph

STEPS = 5_000_000
"""Steps from a node to a neighbour that are held in memory at a time."""


@dataclass(frozen=True, eq=False)
class Closed:
    """Chains between the ends of given edges.

    Args:
        chains: Number of nodes between the two ends of each edge, shape (n_edges,).
        through: The first of them, -1 where there is none, shape (n_edges,).
    """

    chains: IntArray
    through: IntArray


def closed_chains(valid: Sparse, child: IntArray, parent: IntArray) -> Closed:
    """Nodes b with valid edges child -> b and b -> parent, for each of several pairs.

    Each pair looks at the shorter of two lists, the parents of its child and the children of its
    parent; time grows with their lengths.
    """
    down = csr_array(valid.T)
    above, below = np.diff(valid.indptr)[child], np.diff(down.indptr)[parent]
    chains, through = np.zeros(len(child), np.int64), np.full(len(child), -1, np.int64)
    for matrix, start, end, asked in (
        (valid, child, parent, np.flatnonzero(above <= below)),
        (down, parent, child, np.flatnonzero(above > below)),
    ):
        keys = _keys(matrix)
        for block in _blocks(asked, np.diff(matrix.indptr)[start[asked]]):
            pair, middle = _neighbours(matrix, start, block)
            met = _contains(keys, middle * np.int64(matrix.shape[0]) + end[pair])
            pair, middle = pair[met], middle[met]
            chains += np.bincount(pair, minlength=len(child))
            found, first = np.unique(pair, return_index=True)
            through[found] = middle[first]
    return Closed(chains, through)


def chain_counts(graph: TextGraph) -> pl.DataFrame:
    """``relation, chains, chains_valid, chains_denied, chains_open``, a row per relation.

    Chains are counted by their middle: its children times its parents, less those that lead back.
    """
    children, parents = (np.diff(m.indptr) for m in (csr_array(graph.valid.T), graph.valid))
    back = np.asarray(graph.valid.multiply(graph.valid.T).sum(axis=1)).ravel()
    counts = {"chains": (children.astype(np.int64) * parents - back, graph.relation)}
    for name, rows in (("chains_valid", pl.col("valid") > 0), ("chains_denied", DENIED)):
        child, parent = graph.ends(rows)
        counts[name] = closed_chains(graph.valid, child, parent).chains, graph.relation[child]
    names = graph.texts["relation"].unique().sort()
    table = {
        name: np.bincount(relation, weights=n, minlength=len(names)).astype(np.int64)
        for name, (n, relation) in counts.items()
    }
    return pl.DataFrame({"relation": names, **table}).with_columns(
        chains_open=pl.col("chains") - pl.col("chains_valid") - pl.col("chains_denied")
    )


def violation_table(merged: TextGraph, by_context: TextGraph) -> pl.DataFrame:
    """Columns `VIOLATIONS`: those of one context first, then by relation and texts."""
    keys = ["relation", "instance", "concept"]
    within = (
        _violations(by_context)
        .sort(*keys, "context")
        .group_by(keys, maintain_order=True)
        .agg(pl.col("through").first().alias("inner"), pl.col("context").first())
    )
    return (
        _violations(merged)
        .drop("context")
        .join(within, on=keys, how="left")
        .with_columns(
            one_context=pl.col("inner").is_not_null(),
            through=pl.coalesce("inner", "through"),
            head=pl.col("context").replace("", None),
        )
        .select(pl.col(name).cast(kind) for name, kind in VIOLATIONS.items())
        .sort("one_context", *keys, descending=[True, False, False, False])
    )


def _violations(graph: TextGraph) -> pl.DataFrame:
    """Denied edges with a chain of valid ones, as ``relation, context, instance, through, ...``."""
    child, parent = graph.ends(DENIED)
    closed = closed_chains(graph.valid, child, parent)
    denied = graph.edges.filter(DENIED).with_columns(
        chains=pl.Series(closed.chains), middle=pl.Series(closed.through)
    )
    found = denied.filter(pl.col("chains") > 0)
    return found.with_columns(through=graph.texts["text"].gather(found["middle"])).drop("middle")


def _keys(matrix: Sparse) -> IntArray:
    row, column = edge_ends(matrix)
    return np.asarray(np.sort(row * np.int64(matrix.shape[0]) + column))


def _contains(keys: IntArray, asked: IntArray) -> BoolArray:
    if not len(keys):
        return np.zeros(len(asked), np.bool_)
    return np.asarray(keys[np.searchsorted(keys, asked).clip(max=len(keys) - 1)] == asked)


def _blocks(asked: IntArray, length: IntArray) -> Iterator[IntArray]:
    """The pairs in blocks of about `STEPS` steps."""
    block = np.cumsum(length, dtype=np.int64) // STEPS
    yield from np.split(asked, np.flatnonzero(np.diff(block)) + 1)


def _neighbours(matrix: Sparse, start: IntArray, block: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of a block, each as often as its start has neighbours, and these."""
    begins = matrix.indptr[start[block]].astype(np.int64)
    length = matrix.indptr[start[block] + 1] - begins
    position = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    neighbours = matrix.indices[np.repeat(begins, length) + position]
    return np.repeat(block, length), neighbours.astype(np.int64)
