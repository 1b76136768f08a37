"""The shape of an entailment graph: depth, branching, its concepts, and what lint says of it."""

from __future__ import annotations

import numpy as np
import polars as pl

from audit.analyses.entailment import graph as graphs
from audit.analyses.entailment.dataset import in_report_order, with_share
from audit.analyses.entailment.declared import TABLES
from audit.analyses.entailment.graph import DENIED, VALID, TextGraph
from audit.base.dag import SYNTHETIC_ROOT, condensed, edge_ends, longest_from_top
from audit.base.declared import schema
from audit.base.progress import Progress, silent
from audit.hierarchies.catch_alls import read_title
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.lint import lint_hierarchy

_STATED = schema(("relation instance concept", pl.String), ("valid invalid heads", pl.Int64))


def measure_graph(tuples: pl.DataFrame, progress: Progress = silent) -> dict[str, pl.DataFrame]:
    """Audit the graph of the edges from instances to concepts, relation by relation.

    Returns:
        The tables by name; they have no rows for a dataset without tuples. Beside those declared,
        ``graph_edges`` has a row an edge, sorted: ``valid`` and ``invalid`` count the tuples that
        state it, ``heads`` the head events; ``graph_members`` the texts of components, by their
        first one.
    """
    progress("building the graph")
    both = graph, _ = graphs.graph_of(tuples), graphs.by_context(tuples)
    progress("looking for cycles and chains")
    cases = graphs.components(*both), graphs.contradictions(*both), graphs.violations(*both)
    redundant, nodes = graphs.redundant(graph), _condensation(graph)
    return {
        "graph_edges": graph.edges.select(*_STATED),
        "graph_relations": _summary(tuples, graph, nodes, cases[0], redundant),
        "graph_shape": _shape(nodes),
        "graph_components": cases[0],
        "graph_contradictions": cases[1],
        "graph_violations": cases[2],
        "graph_redundant": redundant,
        "graph_concepts": _concepts(graph),
        "graph_lint": _lint(graph, nodes),
        "graph_neighbourhoods": graphs.neighbourhoods(graph, *cases),
        "graph_members": graph.members,
    }


def _condensation(graph: TextGraph) -> pl.DataFrame:
    """Each component as a node, named by its first text: its relation, depth and degrees."""
    edges = condensed(graph.valid, graph.component)
    first = np.unique(graph.component, return_index=True)[1]
    return graph.texts[first].select(
        "relation",
        "text",
        depth=pl.Series(longest_from_top(edges)),
        children=pl.Series(np.bincount(edges.indices, minlength=edges.shape[0])),
        parents=pl.Series(np.diff(edges.indptr).astype(np.int64)),
    )


def _shape(nodes: pl.DataFrame) -> pl.DataFrame:
    """How many texts have a depth, or so many children or parents, ``graph_shape``."""
    names = {"variable_name": "measure", "value_name": "value"}
    long = nodes.drop("text").unpivot(index="relation", **names)
    keys = ("relation", "measure", "value")
    return TABLES["graph_shape"].cast(long.group_by(keys).agg(texts=pl.len()).sort(keys))


def _summary(
    tuples: pl.DataFrame,
    graph: TextGraph,
    nodes: pl.DataFrame,
    components: pl.DataFrame,
    redundant: pl.DataFrame,
) -> pl.DataFrame:
    """The numbers of each relation, ``graph_relations``."""
    inner, own = pl.col("children") > 0, pl.col("instance") == pl.col("concept")
    table = in_report_order(tuples.group_by("relation").agg(tuples=pl.len(), self_edges=own.sum()))
    for further in (
        graph.texts.group_by("relation").agg(texts=pl.len()),
        graph.edges.group_by("relation").agg(
            edges=pl.len(),
            valid_edges=VALID.sum(),
            denied_edges=DENIED.sum(),
            contradictory_edges=(VALID & (pl.col("invalid") > 0)).sum(),
        ),
        components.group_by("relation").agg(
            components=pl.len(),
            synonym_components=pl.col("synonyms").sum(),
            texts_on_cycles=pl.col("texts").sum(),
        ),
        redundant.group_by("relation").agg(redundant_edges=pl.len()),
        graphs.chain_counts(graph),
        nodes.group_by("relation").agg(
            tops=(pl.col("parents") == 0).sum(),
            leaves=(~inner).sum(),
            deepest=pl.col("depth").max(),
            mean_depth=pl.col("depth").mean(),
            mean_children=pl.col("children").filter(inner).mean(),
            most_children=pl.col("children").max(),
        ),
    ):
        table = table.join(further, on="relation", how="left", maintain_order="left")
    return TABLES["graph_relations"].cast(table).with_columns(pl.col(pl.Int64).fill_null(0))


_GENERAL = frozenset(
    read_title(
        "action activity anything be being do doing entity event everything happening item matter "
        "object occurrence situation some something stuff thing"
    ).words
)
"""Words that distinguish no instance from another, besides those of catch-alls in titles."""


def _concepts(graph: TextGraph) -> pl.DataFrame:
    """Of each relation the concepts of valid edges, those with most first, ``graph_concepts``."""
    valid = graph.edges.filter(VALID).with_columns(of=pl.len().over("relation"))
    counts = valid.group_by("relation", "concept").agg(edges=pl.len(), of=pl.col("of").first())
    ordered = counts.sort("relation", "edges", "concept", descending=[False, True, False])
    nothing = pl.Series(map(says_nothing, ordered["concept"]), dtype=pl.Boolean)
    table = with_share(ordered, "edges", "of").with_columns(says_nothing=nothing)
    named = table.rename({"low": "share_low", "high": "share_high"})
    return TABLES["graph_concepts"].cast(named)


def says_nothing(text: str) -> bool:
    """Whether a text is made of words that name nothing in particular.

    >>> says_nothing("some thing"), says_nothing("other activities"), says_nothing("wild thing")
    (True, True, False)
    """
    return not read_title(text).words - _GENERAL


def _lint(graph: TextGraph, nodes: pl.DataFrame) -> pl.DataFrame:
    """What ``audit lint`` says of the condensation of each relation, ``graph_lint``."""
    node = pl.col("text").replace(SYNTHETIC_ROOT, f" {SYNTHETIC_ROOT}")
    texts = nodes.select("relation", node=node, title="text", assignable=True)
    child, parent = edge_ends(condensed(graph.valid, graph.component))
    ends = {"child": texts["node"].gather(child), "parent": texts["node"].gather(parent)}
    edges, relation = pl.DataFrame(ends), texts["relation"].gather(child)
    rows = []
    for name in texts["relation"].unique().sort():
        own = texts.filter(relation=name).drop("relation")
        hierarchy = Hierarchy.build(edges.filter(relation == name), own, name=name)
        for one in lint_hierarchy(hierarchy):
            about = {"relation": name, "rule": one.rule, "severity": one.severity, "unit": one.unit}
            rows.append({**about, "n": len(one.cases), "of": one.of, "first": [*one.cases[0]]})
    return TABLES["graph_lint"].frame(rows)
