"""Edges of an entailment dataset as arrays: between texts of one relation, or of one context."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from audit.base.dag import IntArray, Sparse, edge_matrix
from audit.base.paths import strong_components
from audit.entailment.dataset import WHOLE

NODE = ("relation", "context", "text")
EDGE = ("relation", "context", "instance", "concept")


@dataclass(frozen=True, eq=False)
class TextGraph:
    """Edges of all relations; texts of different relations or contexts are different nodes.

    Args:
        texts: Columns `NODE`, sorted by them; the number of a row is the index of the node.
        edges: Columns `EDGE` with ``valid, invalid, heads`` (counts of tuples, and of heads) and
            ``child, parent`` (indices of nodes), sorted by `EDGE`.
    """

    texts: pl.DataFrame
    edges: pl.DataFrame

    @cached_property
    def valid(self) -> Sparse:
        """Edges that a tuple states as valid, shape (n, n)."""
        ends = self.ends(pl.col("valid") > 0)
        return edge_matrix(*ends, len(self.texts))

    @cached_property
    def component(self) -> IntArray:
        """Strongly connected component of each node by valid edges, shape (n,)."""
        return strong_components(self.valid)

    @cached_property
    def relation(self) -> IntArray:
        """Number of the relation of each node, in code-point order of their names, shape (n,)."""
        return self.texts["relation"].rank("dense").to_numpy().astype(np.int64) - 1

    def ends(self, rows: pl.Expr) -> tuple[IntArray, IntArray]:
        """Child and parent of some edges."""
        chosen = self.edges.filter(rows)
        return chosen["child"].to_numpy(), chosen["parent"].to_numpy()


DENIED = (pl.col("invalid") > 0) & (pl.col("valid") == 0)
"""Edges that tuples state as invalid alone."""


def stated_edges(tuples: pl.DataFrame) -> pl.DataFrame:
    """One row per edge and context: `EDGE` with ``valid, invalid, heads``.

    The context is the head, or empty for relations whose instance is the whole head. A text that
    is its own concept is not an edge.
    """
    whole = pl.col("relation").is_in(sorted(WHOLE))
    return (
        tuples.filter(pl.col("instance") != pl.col("concept"))
        .with_columns(context=pl.when(whole).then(pl.lit("")).otherwise("head"))
        .group_by(EDGE)
        .agg(
            valid=pl.col("valid").sum().cast(pl.Int64),
            invalid=(~pl.col("valid")).sum().cast(pl.Int64),
            heads=pl.col("head").n_unique().cast(pl.Int64),
        )
    )


def merged_contexts(edges: pl.DataFrame) -> pl.DataFrame:
    """Edges of all contexts together: the same columns, with an empty context."""
    counts = (pl.col(name).sum() for name in ("valid", "invalid", "heads"))
    keys = ("relation", "instance", "concept")
    merged = edges.group_by(keys).agg(*counts).with_columns(context=pl.lit(""))
    return merged.select(*EDGE, "valid", "invalid", "heads")


def text_graph(edges: pl.DataFrame) -> TextGraph:
    """The graph of a table of edges with the columns `EDGE` and ``valid, invalid, heads``."""
    ends = [
        edges.select("relation", "context", pl.col(end).alias("text"))
        for end in ("instance", "concept")
    ]
    texts = pl.concat(ends).unique().sort(NODE)
    position = texts.with_columns(place=pl.int_range(pl.len(), dtype=pl.Int64))
    for name, end in (("child", "instance"), ("parent", "concept")):
        renamed = position.rename({"text": end, "place": name})
        edges = edges.join(renamed, on=["relation", "context", end], how="left")
    return TextGraph(texts, edges.sort("child", "parent"))
