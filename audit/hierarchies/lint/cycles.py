"""Cycles of edges, which no hierarchy may have, and what is left when their nodes are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from audit.base.cycles import CycleSearch, on_cycle, strong_components
from audit.base.dag import SYNTHETIC_ROOT, IntArray, Sparse, edge_matrix
from audit.hierarchies.building import EDGE_SCHEMA, CyclicError, arrows
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.lint.finding import LintFinding


def without_cycles(error: CyclicError) -> tuple[Hierarchy, tuple[LintFinding, ...]]:
    """The hierarchy in which nodes that are below each other are one, and the cycles.

    Such nodes go by the first id among them and its title, and may be a label if one of them may.
    There is a finding for each such set of nodes, the largest first; its only case is a shortest
    cycle of it, child -> parent -> ... -> child.
    """
    ids = error.nodes["node"].to_list()
    edges = _matrix(error)
    component = strong_components(edges)
    search = CycleSearch(edges)
    findings = [
        _finding([ids[node] for node in search.shortest(members.tolist())], len(members), len(ids))
        for members in _sets(component, np.flatnonzero(on_cycle(edges, component)))
    ]
    return _condensed(error, component), tuple(findings)


def _matrix(error: CyclicError) -> Sparse:
    place = {node: index for index, node in enumerate(error.nodes["node"])}
    child, parent = (
        error.edges[end].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        for end in EDGE_SCHEMA
    )
    return edge_matrix(child, parent, len(place))


def _sets(component: IntArray, on: IntArray) -> list[IntArray]:
    """The nodes on cycles by component, the largest component first."""
    by_component = on[np.argsort(component[on], kind="stable")]
    begins = np.unique(component[by_component], return_index=True)[1]
    return sorted(np.split(by_component, begins[1:]), key=len, reverse=True)


def _finding(cycle: Sequence[str], members: int, of: int) -> LintFinding:
    alone = members == 1
    several = (
        f"{members:,} nodes are below each other: {arrows(cycle)}. They cannot form a hierarchy; "
        "the other rules treat them as one node."
    )
    return LintFinding(
        "cycle",
        "error",
        f"A node is below itself: {arrows(cycle)}." if alone else several,
        "Remove that edge."
        if alone
        else "Remove one edge of the cycle, or make its nodes one; then run this again, since a "
        "longer cycle may be left.",
        (tuple(cycle),),
        "child, its parent, its parent again, back to the child",
        of,
        "nodes",
    )


def _condensed(error: CyclicError, component: IntArray) -> Hierarchy:
    nodes = (
        error.nodes.with_columns(component=pl.Series(component))
        .with_columns(first=pl.col("node").first().over("component"))
        .filter(pl.col("node") != SYNTHETIC_ROOT)
    )
    name = dict(nodes.select("node", "first").iter_rows())
    edges = error.edges.filter(pl.col("parent") != SYNTHETIC_ROOT).select(
        pl.col(end).replace_strict(name, return_dtype=pl.String) for end in EDGE_SCHEMA
    )
    merged = nodes.group_by("first").agg(
        pl.col("title").first(), pl.col("assignable").any(ignore_nulls=False)
    )
    built = Hierarchy.build(
        edges.filter(pl.col("child") != pl.col("parent")).unique(),
        merged.rename({"first": "node"}),
        name=error.name,
    )
    return replace(built, dropped=error.dropped)
