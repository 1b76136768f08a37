"""The graph of an entailment dataset: cycles, contradictions, and what does not follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy.sparse import csr_array, vstack

from audit.analyses.entailment.dataset import WHOLE
from audit.analyses.entailment.declared import TABLES
from audit.base.dag import (
    IntArray,
    Sparse,
    edge_ends,
    edge_matrix,
    one_way,
    shortcuts,
    shortest_cycle,
    strong_components,
)
from audit.base.declared import schema
from audit.results.findings import finding_id

EDGE = ["relation", "instance", "concept"]
VALID = pl.col("valid") > 0
DENIED = (pl.col("invalid") > 0) & ~VALID
MERGED = pl.lit("")
"""The context of all tuples together."""
ONE, ACROSS = "one context", "across contexts"
"""Last parts of the keys of findings that lie within one context, or need several."""
_AT_ONCE = 16_384
_TEXTS, _PICTURES = 12, 3
"""Texts of one picture; pictures for each check, and cases of each."""


@dataclass(frozen=True, eq=False)
class TextGraph:
    """Edges of all relations; texts of different relations or contexts are different nodes.

    Args:
        texts: ``relation, context, text``, sorted; the number of a row is the index of the node.
        edges: One row per edge and context, with ``valid, invalid, heads`` (counts of tuples, and
            of heads) and ``child, parent`` (indices of nodes), sorted by the last two.
    """

    texts: pl.DataFrame
    edges: pl.DataFrame

    def matrix(self, rows: pl.Expr) -> Sparse:
        """Some edges, shape (n, n)."""
        chosen = self.edges.filter(rows)
        return edge_matrix(chosen["child"].to_numpy(), chosen["parent"].to_numpy(), len(self.texts))

    @cached_property
    def valid(self) -> Sparse:
        """Edges that a tuple states as valid, shape (n, n)."""
        return self.matrix(VALID)

    @cached_property
    def component(self) -> IntArray:
        """Strongly connected component of each node by valid edges, shape (n,)."""
        return strong_components(self.valid)

    @cached_property
    def members(self) -> pl.DataFrame:
        """``relation, text, first``: texts of components of several, by the first of each."""
        component = pl.Series(self.component)
        named = self.texts.with_columns(
            first=pl.col("text").first().over(component), size=pl.len().over(component)
        )
        return named.filter(pl.col("size") > 1).select("relation", "text", "first")


def graph_of(tuples: pl.DataFrame, context: pl.Expr = MERGED, valid: str = "valid") -> TextGraph:
    """The graph that tuples state, each under a context; a text that is its own concept is no edge.

    Args:
        valid: Column that says whether a tuple states its edge as valid.
    """
    others = tuples.filter(pl.col("instance") != pl.col("concept")).with_columns(context=context)
    keys = ["relation", "context"]
    edges = others.group_by(*keys, "instance", "concept").agg(
        valid=pl.col(valid).sum().cast(pl.Int64),
        invalid=(~pl.col(valid)).sum().cast(pl.Int64),
        heads=pl.col("head").n_unique().cast(pl.Int64),
    )
    texts = pl.concat(edges.select(*keys, text=end) for end in EDGE[1:]).unique()
    texts = texts.sort(*keys, "text")
    for end, name in (("instance", "child"), ("concept", "parent")):
        place = texts.select(*keys, pl.int_range(pl.len()).alias(name), pl.col("text").alias(end))
        edges = edges.join(place, on=[*keys, end], how="left")
    return TextGraph(texts, edges.sort("child", "parent"))


def by_context(tuples: pl.DataFrame) -> TextGraph:
    """The graph of each head; where instances are whole heads, of the relation."""
    whole = pl.col("relation").is_in(WHOLE)
    return graph_of(tuples, pl.when(whole).then(MERGED).otherwise("head"))


def _under_one_head(found: Iterable[pl.DataFrame], *keys: str) -> pl.DataFrame:
    """What is so of all contexts together, that of one context first, with the first such head."""
    merged, within = found
    ordered = within.sort(*keys, "context").unique(keys, keep="first", maintain_order=True)
    joined = merged.drop("context").join(ordered, on=keys, how="left", suffix="_within")
    one = pl.col("context").is_not_null()
    marked = joined.with_columns(one_context=one, head=pl.col("context").replace("", None))
    return marked.sort("one_context", *keys, descending=[True, *[False] * len(keys)])


def contradictions(*graphs: TextGraph) -> pl.DataFrame:
    """Edges that are valid and invalid, and denied ones between texts of one component.

    Args:
        graphs: That of all contexts together, and that by context; so in what follows.
    """

    def found(graph: TextGraph) -> pl.DataFrame:
        ends = (pl.Series(graph.component[graph.edges[end]]) for end in ("child", "parent"))
        both, cycle = VALID & (pl.col("invalid") > 0), DENIED & (next(ends) == next(ends))
        kind = pl.when(both).then(pl.lit("edge")).when(cycle).then(pl.lit("cycle"))
        return graph.edges.with_columns(kind=kind).drop_nulls("kind")

    told = _under_one_head(map(found, graphs), *EDGE, "kind")
    return TABLES["graph_contradictions"].cast(told)


def _two_steps(valid: Sparse, among: Sparse) -> Sparse:
    """Number of chains of two valid edges between the ends of each of some edges, shape (n, n)."""
    blocks = [slice(start, start + _AT_ONCE) for start in range(0, valid.shape[0], _AT_ONCE)]
    parts = [csr_array((valid[some] @ valid).multiply(among[some])) for some in blocks]
    return csr_array(vstack(parts)) if parts else valid


def chain_counts(graph: TextGraph) -> pl.DataFrame:
    """``relation, chains, chains_valid, chains_denied, chains_open``, a row per relation.

    A chain is two valid edges that do not lead back. Chains are counted by their middle: its
    children times its parents, less those that lead back.
    """
    valid, n = graph.valid, len(graph.texts)
    ways = np.bincount(valid.indices, minlength=n) * np.diff(valid.indptr)
    counts = {
        "chains": ways - valid.multiply(valid.T).sum(axis=1),
        "chains_valid": _two_steps(valid, valid).sum(axis=1),
        "chains_denied": _two_steps(valid, graph.matrix(DENIED)).sum(axis=1),
    }
    table = graph.texts.select("relation", **{name: pl.Series(of) for name, of in counts.items()})
    known = pl.col("chains_valid") + pl.col("chains_denied")
    summed = table.group_by("relation").agg(pl.all().sum().cast(pl.Int64)).sort("relation")
    return summed.with_columns(chains_open=pl.col("chains") - known)


def violations(*graphs: TextGraph) -> pl.DataFrame:
    """Denied edges between whose ends chains of two valid edges lead, and the first middle."""

    def found(graph: TextGraph) -> pl.DataFrame:
        closed = _two_steps(graph.valid, graph.matrix(DENIED))
        child, parent = edge_ends(closed)
        middles = csr_array(graph.valid[child].multiply(csr_array(graph.valid.T)[parent]))
        middles.sort_indices()
        names = graph.texts["text"].gather(middles.indices[middles.indptr[:-1]])
        ends = {"child": child, "parent": parent, "chains": closed.data, "through": names}
        return graph.edges.join(pl.DataFrame(ends), on=["child", "parent"])

    told = _under_one_head(map(found, graphs), *EDGE)
    through = pl.coalesce("through_within", "through")
    return TABLES["graph_violations"].cast(told.with_columns(through=through))


def redundant(graph: TextGraph) -> pl.DataFrame:
    """Valid edges beside a longer path, ``graph_redundant``.

    Texts on cycles are left out, with all paths through them: one wrong edge that closes a cycle
    would make any number of sound edges redundant.
    """
    acyclic = np.bincount(graph.component)[graph.component] == 1
    child, parent = edge_ends(graph.valid)
    kept = acyclic[child] & acyclic[parent]
    edges = edge_matrix(child[kept], parent[kept], len(graph.texts))
    child, parent = edge_ends(edges)
    found = pl.DataFrame({"child": child, "parent": parent, "through": shortcuts(edges)})
    met = found.filter(pl.col("through") >= 0)
    named = met.with_columns(through=graph.texts["text"].gather(met["through"]))
    joined = graph.edges.join(named, on=["child", "parent"]).sort(EDGE)
    return TABLES["graph_redundant"].cast(joined)


def components(merged: TextGraph, contexts: TextGraph) -> pl.DataFrame:
    """The components of the relations, with the shortest cycle that lies within one context."""
    within = _cycles(contexts).filter(~pl.col("synonyms")).rename({"first": "member"})
    inner = (
        within.join(merged.members.rename({"text": "member"}), on=["relation", "member"])
        .sort(pl.col("cycle").list.len(), "context", "member")
        .unique(["relation", "first"], keep="first", maintain_order=True)
        .select("relation", "first", "cycle", head="context")
    )
    joined = _cycles(merged).join(inner, on=["relation", "first"], how="left", suffix="_within")
    told = joined.with_columns(
        one_context=pl.col("cycle_within").is_not_null(),
        cycle=pl.coalesce("cycle_within", "cycle"),
        head=pl.col("head").replace("", None),
    )
    order = ("one_context", "synonyms", "texts", "relation", "first")
    ordered = told.sort(order, descending=[True, False, True, False, False])
    return TABLES["graph_components"].cast(ordered)


_CYCLES = schema(
    ("context relation first", pl.String),
    ("texts edges", pl.Int64),
    ("synonyms", pl.Boolean),
    ("cycle", pl.List(pl.String)),
)


def _cycles(graph: TextGraph) -> pl.DataFrame:
    """Each component of several texts, in the order of their first ones, with a shortest cycle."""
    alone, component, rows = one_way(graph.valid), graph.component, []
    inside = []
    for edges in (graph.valid, alone):
        child, parent = (component[end] for end in edge_ends(edges))
        inside.append(np.bincount(child[child == parent], minlength=len(component)))
    nodes = pl.DataFrame({"component": component}).with_row_index("node")
    several = nodes.group_by("component", maintain_order=True).agg("node")
    for number, members in several.filter(pl.col("node").list.len() > 1).iter_rows():
        synonyms = inside[1][number] == 0
        among = np.array(members, np.int64)
        cycle = shortest_cycle(graph.valid, among, None if synonyms else alone)
        relation, context, first = graph.texts.row(members[0])
        texts = graph.texts["text"].gather(cycle).to_list()
        edges_inside = inside[0][number]
        rows.append((context, relation, first, len(members), edges_inside, synonyms, texts))
    return pl.DataFrame(rows, schema=_CYCLES, orient="row")


def neighbourhoods(
    graph: TextGraph, cycles: pl.DataFrame, contradicting: pl.DataFrame, denied: pl.DataFrame
) -> pl.DataFrame:
    """Pictures of the worst findings, ``graph_neighbourhoods``, in the order of the checks."""
    table = TABLES["graph_neighbourhoods"]
    pictures = [
        (finding_id("cycle", row["relation"], row["first"]), row["relation"], row["cycle"][:-1])
        for row in cycles.filter(~pl.col("synonyms")).head(_PICTURES).to_dicts()
    ]
    for check, cases, names in (
        ("contradiction", contradicting, ("instance", "concept")),
        ("transitivity", denied, ("instance", "through", "concept")),
    ):
        for rows in cases.partition_by("relation", "one_context", maintain_order=True)[:_PICTURES]:
            relation, one = rows.select("relation", "one_context").row(0)
            finding = finding_id(check, relation, ONE if one else ACROSS)
            chosen = rows.head(_PICTURES).select(names).rows()
            pictures.append((finding, relation, [text for case in chosen for text in case]))
    around = (table.cast(_around(graph, *picture)) for picture in pictures)
    return pl.concat([table.frame(), *around])


def _around(graph: TextGraph, finding: str, relation: str, texts: Sequence[str]) -> pl.DataFrame:
    """Edges among the texts and their nearest neighbours, those with the most tuples first."""
    named = pl.col("instance").alias("child"), pl.col("concept").alias("parent")
    edges = graph.edges.filter(relation=relation).with_columns(*named, finding=pl.lit(finding))
    ends = pl.col("child", "parent")
    touching = edges.filter(pl.any_horizontal(ends.is_in(texts))).sort(
        pl.col("valid") + pl.col("invalid"), "child", "parent", descending=[True, False, False]
    )
    near = (text for edge in touching.select(ends).rows() for text in edge)
    among = list(dict.fromkeys([*texts, *near]))[:_TEXTS]
    return edges.filter(pl.all_horizontal(ends.is_in(among))).sort("child", "parent")
