"""Edges of a dataset as arrays, chains of two valid ones, and pictures of the worst cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.analyses.entailment.dataset import WHOLE
from audit.analyses.entailment.declared import TABLES
from audit.base.dag import BoolArray, IntArray, Sparse, edge_ends, edge_matrix, strong_components
from audit.results.findings import finding_id

MOST_TEXTS = 12
"""Texts of one picture."""
MOST_FINDINGS = 3
"""Pictures for each check."""
ONE, ACROSS = "one context", "across contexts"
"""Last parts of the keys of findings that lie within one context, or need several."""


def neighbourhood_table(
    merged: TextGraph,
    components: pl.DataFrame,
    contradictions: pl.DataFrame,
    violations: pl.DataFrame,
) -> pl.DataFrame:
    """The table ``graph_neighbourhoods``, in the order of the checks."""
    tables = [
        _neighbourhood(merged, finding, relation, texts)
        for rows in (
            _of_components(components),
            _of_edges("contradiction", contradictions, ("instance", "concept")),
            _of_edges("transitivity", violations, ("instance", "through", "concept")),
        )
        for finding, relation, texts in rows
    ]
    empty = TABLES["graph_neighbourhoods"].frame()
    return pl.concat([empty, *tables])


_Pictures = Iterator[tuple[str, str, Sequence[str]]]
"""Id of a finding, its relation, and the texts in the middle of the picture."""


def _of_components(components: pl.DataFrame) -> _Pictures:
    worst = components.filter(~pl.col("synonyms")).head(MOST_FINDINGS)
    for relation, first, cycle in worst.select("relation", "first", "cycle").iter_rows():
        yield finding_id("cycle", relation, first), relation, cycle[:-1]


def _of_edges(check: str, table: pl.DataFrame, texts: Sequence[str]) -> _Pictures:
    """The first cases of the findings of a relation, as many as there is room for."""
    keys = ("relation", "one_context")
    for (relation, one), cases in list(table.group_by(keys, maintain_order=True))[:MOST_FINDINGS]:
        some = [text for case in cases.select(texts).head(3).iter_rows() for text in case]
        yield finding_id(check, str(relation), ONE if one else ACROSS), str(relation), some


def _neighbourhood(
    graph: TextGraph, finding: str, relation: str, texts: Sequence[str]
) -> pl.DataFrame:
    """Edges among the texts and their nearest neighbours, those with the most tuples first."""
    edges = graph.edges.filter(pl.col("relation") == relation)
    chosen = list(texts)
    ends = pl.col("instance"), pl.col("concept")
    touching = edges.filter(pl.any_horizontal(end.is_in(chosen) for end in ends)).sort(
        pl.col("valid") + pl.col("invalid"), "instance", "concept", descending=[True, False, False]
    )
    near = (text for edge in touching.select("instance", "concept").iter_rows() for text in edge)
    among = list(dict.fromkeys([*chosen, *near]))[:MOST_TEXTS]
    return (
        edges.filter(pl.all_horizontal(end.is_in(among) for end in ends))
        .with_columns(finding=pl.lit(finding))
        .rename({"instance": "text", "concept": "above"})
        .drop("child", "parent")
        .rename({"text": "child", "above": "parent"})
        .pipe(TABLES["graph_neighbourhoods"].cast)
        .sort("child", "parent")
    )


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
    """The table ``graph_violations``: those of one context first, then by relation and texts."""
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
        .pipe(TABLES["graph_violations"].cast)
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
