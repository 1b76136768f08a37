"""The acyclic graph of components: redundant edges, depth, branching, hierarchies; and concepts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.analyses.entailment.dataset import with_share
from audit.analyses.entailment.declared import TABLES
from audit.analyses.entailment.graph.text_graph import TextGraph
from audit.base.dag import (
    SYNTHETIC_ROOT,
    IntArray,
    Sparse,
    condensed,
    edge_ends,
    edge_matrix,
    longest_from_top,
    shortcuts,
)
from audit.hierarchies.catch_alls import read_title
from audit.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Condensation:
    """Components of a graph's valid edges as nodes, a text on no cycle being one by itself.

    Args:
        graph: The graph of all contexts together.
    """

    graph: TextGraph

    @cached_property
    def edges(self) -> Sparse:
        """Edges between components, shape (n_components, n_components)."""
        return condensed(self.graph.valid, self.graph.component)

    @cached_property
    def first(self) -> IntArray:
        """The first node of each component, shape (n_components,)."""
        return np.unique(self.graph.component, return_index=True)[1].astype(np.int64)

    @cached_property
    def texts(self) -> pl.DataFrame:
        """``relation, text`` of the first node of each component."""
        return self.graph.texts.select(pl.col("relation", "text").gather(self.first))

    @cached_property
    def depth(self) -> IntArray:
        """Longest path from a top, shape (n_components,)."""
        return longest_from_top(self.edges)

    @cached_property
    def children(self) -> IntArray:
        """Number of children, shape (n_components,)."""
        return np.diff(csr_array(self.edges.T).indptr).astype(np.int64)

    @cached_property
    def parents(self) -> IntArray:
        """Number of parents, shape (n_components,)."""
        return np.diff(self.edges.indptr).astype(np.int64)

    def hierarchies(self) -> Iterator[Hierarchy]:
        """The hierarchy of each relation: nodes are texts, of a component its first one.

        Each may be a label by itself.
        """
        child, parent = edge_ends(self.edges)
        ids = self.texts["text"].replace(SYNTHETIC_ROOT, f" {SYNTHETIC_ROOT}")
        relation = self.texts["relation"]
        edges = pl.DataFrame({"child": ids.gather(child), "parent": ids.gather(parent)})
        for name in relation.unique().sort():
            nodes = pl.DataFrame({"node": ids, "title": self.texts["text"], "assignable": True})
            own = edges.filter(relation.gather(child) == name)
            yield Hierarchy.build(own, nodes.filter(relation == name), name=name)


def redundant_table(graph: TextGraph) -> pl.DataFrame:
    """The table ``graph_redundant``, sorted by them.

    Texts on cycles are left out, with all paths through them: one wrong edge that closes a cycle
    would make any number of sound edges redundant.
    """
    acyclic = np.bincount(graph.component)[graph.component] == 1
    child, parent = graph.ends(pl.col("valid") > 0)
    kept = acyclic[child] & acyclic[parent]
    edges = edge_matrix(child[kept], parent[kept], len(graph.texts))
    child, parent = edge_ends(edges)
    through = shortcuts(edges)
    met = through >= 0
    found = pl.DataFrame({"child": child[met], "parent": parent[met], "through": through[met]})
    named = found.with_columns(through=graph.texts["text"].gather(found["through"]))
    return (
        graph.edges.join(named, on=["child", "parent"])
        .pipe(TABLES["graph_redundant"].cast)
        .sort("relation", "instance", "concept")
    )


def shape_table(condensation: Condensation) -> pl.DataFrame:
    """The table ``graph_shape``, sorted by them."""
    measures = {name: getattr(condensation, name) for name in ("depth", "children", "parents")}
    tables = [
        pl.DataFrame(
            {"relation": condensation.texts["relation"], "value": values}
        ).with_columns(measure=pl.lit(name))
        for name, values in measures.items()
    ]  # fmt: skip
    return (
        pl.concat(tables)
        .group_by("relation", "measure", "value")
        .agg(texts=pl.len())
        .pipe(TABLES["graph_shape"].cast)
        .sort("relation", "measure", "value")
    )


def shape_summary(condensation: Condensation) -> pl.DataFrame:
    """``relation, tops, leaves, deepest, mean_depth, mean_children, most_children``."""
    table = pl.DataFrame(
        {"relation": condensation.texts["relation"], "depth": condensation.depth,
         "children": condensation.children, "parents": condensation.parents}
    )  # fmt: skip
    inner = pl.col("children") > 0
    return table.group_by("relation").agg(
        tops=(pl.col("parents") == 0).sum().cast(pl.Int64),
        leaves=(~inner).sum().cast(pl.Int64),
        deepest=pl.col("depth").max(),
        mean_depth=pl.col("depth").mean(),
        mean_children=pl.col("children").filter(inner).mean(),
        most_children=pl.col("children").max(),
    )


_GENERAL = frozenset(
    read_title(
        "action activity anything be being do doing entity event everything happening item matter "
        "object occurrence situation some something stuff thing"
    ).words
)
"""Words that distinguish no instance from another, besides those of catch-alls in titles."""


def concept_table(merged: TextGraph) -> pl.DataFrame:
    """Of each relation the concepts of valid edges, those with most first."""
    valid = merged.edges.filter(pl.col("valid") > 0)
    concepts = (
        valid.with_columns(of=pl.len().over("relation"))
        .group_by("relation", "concept")
        .agg(edges=pl.len(), of=pl.col("of").first())
        .sort("relation", "edges", "concept", descending=[False, True, False])
    )
    table = with_share(concepts, "edges", "of").with_columns(
        pl.Series("says_nothing", list(map(says_nothing, concepts["concept"])), pl.Boolean)
    )
    named = table.rename({"low": "share_low", "high": "share_high"})
    return named.pipe(TABLES["graph_concepts"].cast)


def says_nothing(text: str) -> bool:
    """Whether a text is made of words that name nothing in particular.

    >>> says_nothing("some thing"), says_nothing("other activities"), says_nothing("wild thing")
    (True, True, False)
    """
    return not read_title(text).words - _GENERAL
