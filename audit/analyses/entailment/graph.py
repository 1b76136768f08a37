"""The graph of an entailment dataset: cycles, contradictions, what does not follow, its lint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl
from scipy.sparse import csr_array, vstack

from audit.analyses.entailment.dataset import RELATIONS, WHOLE, in_report_order
from audit.analyses.entailment.declared import TABLES
from audit.base import dag
from audit.base.dag import IntArray, Sparse, edge_ends
from audit.base.declared import schema
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.lint import lint_hierarchy

EDGE = ["relation", "instance", "concept"]
VALID = pl.col("valid") > 0
BOTH = VALID & (pl.col("invalid") > 0)
DENIED = (pl.col("invalid") > 0) & ~VALID
MERGED = pl.lit("")
"""The context of all tuples together."""
_ENDS = ["child", "parent"]
_AT_ONCE = 16_384
_PICTURED = 3
"""Cases of each relation and kind whose texts are in its picture."""


@dataclass(frozen=True, eq=False)
class TextGraph:
    """Edges of all relations; texts of different relations or contexts are different nodes.

    Args:
        texts: ``relation, context, text``, sorted; the number of a row is the index of the node.
        edges: A row per edge and context, sorted by ``child, parent``, the indices of its nodes;
            ``valid, invalid, heads`` are counts of tuples, and of heads.
    """

    texts: pl.DataFrame
    edges: pl.DataFrame

    def matrix(self, rows: pl.Expr) -> Sparse:
        """The edges that an expression chooses, child by parent, shape (n, n)."""
        child, parent = self.edges.filter(rows).select(_ENDS).to_numpy().T
        return dag.edge_matrix(child, parent, len(self.texts))

    @cached_property
    def valid(self) -> Sparse:
        """Edges that a tuple states as valid, shape (n, n)."""
        return self.matrix(VALID)

    @cached_property
    def component(self) -> IntArray:
        """Strongly connected component of each node by valid edges, shape (n,)."""
        return dag.strong_components(self.valid)

    @cached_property
    def chains(self) -> pl.DataFrame:
        """``child, middle, parent``, sorted: two valid edges whose ends a denied one joins."""
        child, parent = edge_ends(two_steps(self.valid, self.matrix(DENIED)))
        edge = np.repeat(np.arange(len(child)), np.diff(self.valid.indptr)[child])
        ends = {"child": child[edge], "middle": dag.rows(self.valid, child), "parent": parent[edge]}
        n, (low, high) = len(self.texts), edge_ends(self.valid)
        steps = dag.among(low * n + high, ends["middle"] * n + ends["parent"])
        return pl.DataFrame(ends).filter(steps)

    @cached_property
    def near(self) -> pl.DataFrame:
        """The edges that findings can have: within components, contradicted, or around chains."""
        pairs = combinations(self.chains.columns, 2)
        around = pl.concat(self.chains.select(child=a, parent=b) for a, b in pairs).unique()
        child, parent = (pl.Series(self.component[self.edges[end]]) for end in _ENDS)
        met = self.edges.join(
            around.with_columns(around=True), on=_ENDS, how="left", maintain_order="left"
        )
        return met.filter(BOTH | (child == parent) | pl.col("around"))

    @cached_property
    def members(self) -> pl.DataFrame:
        """``relation, text, first``: texts of components of several, with the first of theirs."""
        component = pl.Series(self.component)
        first, size = pl.col("text").first().over(component), pl.len().over(component)
        named = self.texts.with_columns(first=first, size=size)
        return named.filter(pl.col("size") > 1).select("relation", "text", "first")


def graph_of(tuples: pl.DataFrame, context: pl.Expr = MERGED) -> TextGraph:
    """The graph that tuples state, each under a context; a text that is its own concept is no edge.

    Nodes and edges are numbered in the order of their texts.
    """
    names = ["context", *EDGE[1:]]
    others = tuples.filter(pl.col("instance") != pl.col("concept")).with_columns(context=context)
    known = pl.concat(others[name] for name in names).unique().sort()
    kinds = {"relation": pl.Enum(sorted(RELATIONS)), **dict.fromkeys(names, pl.Enum(known))}
    edges = (
        others.with_columns(pl.col(name).cast(of) for name, of in kinds.items())
        .group_by(*kinds)
        .agg(
            valid=pl.col("valid").sum().cast(pl.Int64),
            invalid=(~pl.col("valid")).sum().cast(pl.Int64),
            heads=pl.col("head").n_unique().cast(pl.Int64),
        )
    )
    relation, *codes = (edges[name].to_physical().to_numpy().astype(np.int64) for name in kinds)
    above = relation * len(known) + codes[0]
    ends = np.concatenate([above * len(known) + end for end in codes[1:]])
    found, node = np.unique(ends, return_inverse=True)
    above, text = np.divmod(found, max(len(known), 1))
    relation, of = np.divmod(above, max(len(known), 1))
    texts = {"relation": kinds["relation"].categories, "context": known, "text": known}
    places = zip(texts.items(), (relation, of, text), strict=True)
    child, parent = np.split(node, 2)
    numbered = edges.with_columns(child=child, parent=parent).sort("child", "parent")
    return TextGraph(
        pl.DataFrame({name: values.gather(at) for (name, values), at in places}),
        numbered.cast(dict.fromkeys(kinds, pl.String)),
    )


def measure_graph(tuples: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Audit the graph of the edges from instances to concepts, relation by relation.

    Returns:
        The tables by name; they have no rows for a dataset without tuples. Beside those declared,
        ``graph_edges`` has a row an edge, sorted: ``valid`` and ``invalid`` count the tuples that
        state it, ``heads`` the head events; ``graph_members`` the texts of components, by their
        first one.
    """
    graph, whole = graph_of(tuples), pl.when(pl.col("relation").is_in(WHOLE)).then(MERGED)
    near = tuples.join(graph.near, on=EDGE, how="semi")
    both = graph, graph_of(near, whole.otherwise("head"))
    cases = {
        "graph_components": components(*both),
        "graph_contradictions": contradictions(*both),
        "graph_violations": violations(*both),
    }
    tables = {
        **cases,
        "graph_relations": _relations(tuples, graph, cases["graph_components"]),
        "graph_lint": _lint(graph),
        "graph_neighbourhoods": _pictures(graph, *cases.values()),
    }
    edges = graph.edges.select(*EDGE, "valid", "invalid", "heads")
    told = {name: TABLES[name].cast(frame) for name, frame in tables.items()}
    return {**told, "graph_edges": edges, "graph_members": graph.members}


def _with_context(keys: list[str], merged: pl.DataFrame, within: pl.DataFrame) -> pl.DataFrame:
    """Merged rows; ``one_context``: if a context has one by itself; ``head``: the first with it."""
    ordered = within.sort(*keys, "context").unique(keys, keep="first", maintain_order=True)
    joined = merged.drop("context").join(ordered, on=keys, how="left", suffix="_within")
    one = pl.col("context").is_not_null()
    marked = joined.with_columns(one_context=one, head=pl.col("context").replace("", None))
    return marked.sort("one_context", *keys, descending=[True, *[False] * len(keys)])


def contradictions(merged: TextGraph, contexts: TextGraph) -> pl.DataFrame:
    """Edges of the merged graph that are valid and invalid, or denied within one component.

    ``contexts`` only tells whether one context has an edge so by itself, and the first that does.
    """

    def found(graph: TextGraph) -> pl.DataFrame:
        child, parent = (pl.Series(graph.component[graph.edges[end]]) for end in _ENDS)
        both, cycle = pl.when(BOTH).then(pl.lit("edge")), DENIED & (child == parent)
        return graph.edges.with_columns(kind=both.when(cycle).then(pl.lit("cycle"))).drop_nulls()

    return _with_context([*EDGE, "kind"], found(merged), found(contexts))


def two_steps(valid: Sparse, among: Sparse) -> Sparse:
    """Number of chains of two valid edges between the ends of each of some edges, shape (n, n)."""
    blocks = [slice(start, start + _AT_ONCE) for start in range(0, valid.shape[0], _AT_ONCE)]
    parts = [csr_array((valid[some] @ valid).multiply(among[some])) for some in blocks]
    return csr_array(vstack(parts)) if parts else valid


def violations(merged: TextGraph, contexts: TextGraph) -> pl.DataFrame:
    """Denied edges of the merged graph between whose ends chains of two valid edges lead.

    ``through`` is the first middle, of the context that has such chains by itself if there is one.
    """

    def found(graph: TextGraph) -> pl.DataFrame:
        told = graph.chains.group_by(_ENDS).agg(pl.col("middle").first(), chains=pl.len())
        through = graph.texts["text"].gather(told["middle"])
        return graph.edges.join(told.with_columns(through=through), on=_ENDS)

    told = _with_context(EDGE, found(merged), found(contexts))
    return told.with_columns(through=pl.coalesce("through_within", "through"))


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
    return told.sort(order, descending=[True, False, True, False, False])


_CYCLES = schema(
    ("context relation first", pl.String),
    ("texts edges", pl.Int64),
    ("synonyms", pl.Boolean),
    ("cycle", pl.List(pl.String)),
)


def _cycles(graph: TextGraph) -> pl.DataFrame:
    """Each component of several texts, in the order of their first ones, with a shortest cycle."""
    alone, component, rows = dag.one_way(graph.valid), graph.component, []

    def inside(edges: Sparse) -> IntArray:
        child, parent = (component[end] for end in edge_ends(edges))
        return np.bincount(child[child == parent], minlength=len(component))

    edges, alone_inside = inside(graph.valid), inside(alone)
    nodes = pl.DataFrame({"component": component}).with_row_index("node")
    several = nodes.group_by("component", maintain_order=True).agg("node")
    for number, members in several.filter(pl.col("node").list.len() > 1).iter_rows():
        synonyms = alone_inside[number] == 0
        among = np.array(members, np.int64)
        cycle = dag.shortest_cycle(graph.valid, among, None if synonyms else alone)
        relation, context, first = graph.texts.row(members[0])
        texts = graph.texts["text"].gather(cycle).to_list()
        rows.append((context, relation, first, len(members), edges[number], synonyms, texts))
    return pl.DataFrame(rows, schema=_CYCLES, orient="row")


def _relations(tuples: pl.DataFrame, graph: TextGraph, components: pl.DataFrame) -> pl.DataFrame:
    """The counts of each relation, ``graph_relations``; two valid edges that go on are a chain."""
    valid = graph.valid
    ways = np.bincount(valid.indices, minlength=len(graph.texts)) * np.diff(valid.indptr)
    by_text = graph.texts.with_columns(
        chains=pl.Series(ways - valid.multiply(valid.T).sum(axis=1)),
        chains_valid=pl.Series(two_steps(valid, valid).sum(axis=1)),
        chains_denied=np.bincount(graph.chains["child"], minlength=len(ways)),
    )
    counted = ("chains", "chains_valid", "chains_denied")
    table = in_report_order(tuples.group_by("relation").agg(tuples=pl.len()))
    for rest in (
        by_text.group_by("relation").agg(pl.col(counted).sum(), texts=pl.len()),
        graph.edges.group_by("relation").agg(
            edges=pl.len(),
            valid_edges=VALID.sum(),
            denied_edges=DENIED.sum(),
            contradictory_edges=BOTH.sum(),
        ),
        components.group_by("relation").agg(
            components=pl.len(),
            synonym_components=pl.col("synonyms").sum(),
            texts_on_cycles=pl.col("texts").sum(),
        ),
    ):
        table = table.join(rest, on="relation", how="left", maintain_order="left")
    filled = table.with_columns(pl.exclude("relation").cast(pl.Int64).fill_null(0))
    known = pl.col("chains_valid") + pl.col("chains_denied")
    return filled.with_columns(chains_open=pl.col("chains") - known)


def _pictures(
    graph: TextGraph, cycles: pl.DataFrame, contradicting: pl.DataFrame, denied: pl.DataFrame
) -> pl.DataFrame:
    """The edges among texts of the first findings, ``graph_neighbourhoods``."""
    named = [cycles.filter(~pl.col("synonyms")).select("relation", text="cycle")]
    for cases, ends in ((contradicting, EDGE[1:]), (denied, [*EDGE[1:], "through"])):
        named.append(cases.select("relation", text=pl.concat_list(ends)))
    first = pl.concat(one.group_by("relation").head(_PICTURED) for one in named)
    texts = first.explode("text").unique()
    edges = graph.edges
    for end in EDGE[1:]:
        edges = edges.join(texts, left_on=["relation", end], right_on=["relation", "text"])
    order = ("relation", pl.col("valid") + pl.col("invalid"), "child", "parent")
    ordered = edges.sort(order, descending=[False, True, False, False])
    return ordered.drop("child", "parent").rename({"instance": "child", "concept": "parent"})


def _lint(graph: TextGraph) -> pl.DataFrame:
    """What ``audit lint`` says of each relation, with texts of a component as one node."""
    edges = dag.condensed(graph.valid, graph.component)
    first = graph.texts[np.unique(graph.component, return_index=True)[1]]
    node = pl.col("text").replace(dag.SYNTHETIC_ROOT, f" {dag.SYNTHETIC_ROOT}")
    texts = first.select("relation", node=node, title="text", assignable=True)
    child, parent = edge_ends(edges)
    ends = {"child": texts["node"].gather(child), "parent": texts["node"].gather(parent)}
    stated, relation, rows = pl.DataFrame(ends), texts["relation"].gather(child), []
    for name in texts["relation"].unique().sort():
        own = texts.filter(relation=name).drop("relation")
        hierarchy = Hierarchy.build(stated.filter(relation == name), own, name=name)
        for one in lint_hierarchy(hierarchy):
            about = {"relation": name, "rule": one.rule, "severity": one.severity, "unit": one.unit}
            rows.append({**about, "n": len(one.cases), "of": one.of, "first": [*one.cases[0]]})
    return TABLES["graph_lint"].frame(rows)
