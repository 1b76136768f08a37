"""Faults of the edges of a hierarchy: cycles, redundant ones, lone children."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from audit.base.dag import SYNTHETIC_ROOT, BoolArray, IntArray, Sparse, edge_matrix
from audit.base.paths import (
    CycleSearch,
    edge_ends,
    on_cycle,
    shortcuts,
    strong_components,
)
from audit.base.plurals import counted
from audit.hierarchies.building import EDGE_SCHEMA, CyclicError, arrows
from audit.hierarchies.hierarchy import Hierarchy

Severity: TypeAlias = Literal["error", "warning", "note"]

LINTS: dict[str, str] = {
    "cycle": "Are any nodes below themselves?",
    "member_named_alike": "Has a group the name of a class in it?",
    "redundant_edge": "Is a node also below one of its parents through another parent?",
    "top_below": "Is a top concept below another one?",
    "one_way": "Is a relation stated from one end alone, where others are from both?",
    "orphan": "Is a node neither above nor below another one?",
    "lone_child": "Does a heading have a single child, which says the same?",
    "two_titles": "Has a dictionary several titles for one code?",
    "missing_title": "Do nodes lack a title?",
    "title_blanks": "Do titles hold blanks or signs that nobody sees?",
    "title_clash": "Do different nodes have the same title?",
    "title_repeated": "Does a node have the same title as one above it?",
    "only_catch_alls": "Does a heading have only catch-alls below it?",
}
"""Rules by name, with the question that each answers, in report order."""


@dataclass(frozen=True)
class LintFinding:
    """What one rule found in a hierarchy; of cycles there is one for each component.

    Args:
        rule: One of `LINTS`.
        cases: The nodes of each case, in the order that ``reads`` says.
        reads: How a case reads, such as ``child, by way of, parent``; the last word is of all
            further nodes.
        unit: What they are, as a plural noun.
    """

    rule: str
    severity: Severity
    statement: str
    advice: str
    cases: tuple[tuple[str, ...], ...]
    reads: str
    of: int
    unit: str

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values, for JSON."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "statement": self.statement,
            "advice": self.advice,
            "n": len(self.cases),
            "of": self.of,
            "unit": self.unit,
            "reads": self.reads,
            "cases": [list(case) for case in self.cases],
        }


def members_named_alike(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Groups that the file names like a member of theirs: both are one node."""
    cases = hierarchy.faults.get("member_named_alike", ())
    if cases:
        n = len(cases)
        yield LintFinding(
            "member_named_alike",
            "note",
            f"{counted(n, 'groups')} {'has' if n == 1 else 'have'} the name of a class in "
            f"{'it' if n == 1 else 'them'}: both were read as one node, and a label of that name "
            "may mean either.",
            "Give the group another name.",
            cases,
            "group and member",
            int((~hierarchy.leaf & stated(hierarchy)).sum()),
            "nodes with children",
        )


def said_from_one_end(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Relations of a thesaurus that one of both ends states, where both state others."""
    cases = hierarchy.faults.get("one_way", ())
    if cases:
        n = len(cases)
        yield LintFinding(
            "one_way",
            "note",
            f"{counted(n, 'relations')} {'is' if n == 1 else 'are'} stated by the broader or by "
            "the narrower concept alone, others by both: programs that read one of the two miss "
            f"{'it' if n == 1 else 'them'}.",
            "State each relation by both ends, or all of them by the same one.",
            cases,
            "child, parent",
            hierarchy.edges.nnz,
            "edges",
        )


def tops_below_others(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Concepts that a thesaurus calls top concepts, and that have a broader one."""
    cases = hierarchy.faults.get("top_below", ())
    if cases:
        n = len({case[0] for case in cases})
        yield LintFinding(
            "top_below",
            "warning",
            f"{counted(n, 'concepts')} {'is a top concept' if n == 1 else 'are top concepts'} by "
            "the file, which also states a broader one.",
            "Remove the statement that it is a top concept, or the one of what is broader.",
            cases,
            "top concept, its broader one",
            hierarchy.edges.nnz,
            "edges",
        )


def orphans(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Nodes with nothing above and nothing below them, where others have."""
    child, parent = edge_ends(hierarchy.edges)
    placed, own = np.zeros(len(hierarchy), np.bool_), stated(hierarchy)
    within = own[parent]
    placed[child[within]] = placed[parent[within]] = True
    alone = np.flatnonzero(own & ~placed)
    if len(alone) and placed.any():
        n = len(alone)
        yield LintFinding(
            "orphan",
            "note",
            f"{counted(n, 'nodes')} {'has' if n == 1 else 'have'} nothing above and nothing below.",
            "Say what each belongs to, or leave it out.",
            named(hierarchy, alone),
            "node",
            int(own.sum()),
            "nodes",
        )


def redundant_edges(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Edges to a parent that a longer path leads to as well.

    Such a path begins with another parent of the node, which is below this one: a node has two
    comparable parents exactly where one of its edges is redundant.
    """
    child, parent = edge_ends(hierarchy.edges)
    through = shortcuts(hierarchy.edges)
    met = through >= 0
    if met.any():
        n = int(met.sum())
        yield LintFinding(
            "redundant_edge",
            "warning",
            f"{counted(n, 'edges')} {'leads' if n == 1 else 'lead'} to a parent that is above "
            "another parent of the node: the two parents are comparable, and the edge to the "
            "upper one adds nothing.",
            "Remove the edge to the upper parent; or, if the node does not belong below the lower "
            "one, remove the edge to that.",
            named(hierarchy, child[met], through[met], parent[met]),
            "child, lower parent, upper parent",
            len(child),
            "edges",
        )


def lone_children(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Headings of a single child: both always carry the same instances."""
    lone, child = lone_pairs(hierarchy)
    if len(lone):
        yield LintFinding(
            "lone_child",
            "note",
            f"{counted(len(lone), 'headings')} {'has' if len(lone) == 1 else 'have'} a single "
            "child: every instance of the one is an instance of the other, so the two levels "
            "always say the same.",
            "Leave out one of the two, or add the siblings that are missing.",
            named(hierarchy, lone, child),
            "heading, child",
            int((~hierarchy.leaf & stated(hierarchy)).sum()),
            "nodes with children",
        )


def stated(hierarchy: Hierarchy) -> BoolArray:
    """All nodes but the root above several tops, which no file states, shape (n,)."""
    return np.array([node != SYNTHETIC_ROOT for node in hierarchy.nodes], np.bool_)


def lone_pairs(hierarchy: Hierarchy) -> tuple[IntArray, IntArray]:
    """Nodes that may not be labels themselves and have a single child, and that child."""
    below = hierarchy.child_matrix
    lone = np.flatnonzero((np.diff(below.indptr) == 1) & ~hierarchy.assignable)
    return lone, below.indices[below.indptr[lone]].astype(np.int64)


def named(hierarchy: Hierarchy, *columns: IntArray) -> tuple[tuple[str, ...], ...]:
    """Cases as ids, from the indices of their first nodes, second nodes, and so on."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(tuple(hierarchy.nodes[index] for index in row) for row in rows)


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
    return Hierarchy.build(
        edges.filter(pl.col("child") != pl.col("parent")).unique(),
        merged.rename({"first": "node"}),
        name=error.name,
    )
