"""Faults of edges and of titles: cycles, dangling edges, lone children, titles that clash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from audit.base.dag import SYNTHETIC_ROOT, BoolArray, IntArray, Sparse, edge_matrix
from audit.base.paths import (
    CycleSearch,
    edge_ends,
    leads_to,
    on_cycle,
    shortcuts,
    strong_components,
)
from audit.base.plurals import counted
from audit.hierarchies.building import EDGE_SCHEMA, CyclicError, arrows, dropped_sentence
from audit.hierarchies.catch_alls import CatchAlls
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.lint.finding import LintFinding


def dangling_edges(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Edges that the hierarchy was built without, since an end of each is not a node."""
    dropped = hierarchy.dropped
    if dropped.edges:
        yield LintFinding(
            "dangling_edge",
            "warning",
            dropped_sentence(**dropped.to_dict()),
            "Add the ids that are missing as nodes, let the edge lead to the successor of an "
            "obsolete one, or remove the edge.",
            dropped.edges,
            "child, parent",
            hierarchy.edges.nnz + len(dropped.edges),
            "edges",
        )


def two_titles(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Codes for which one dictionary has several titles."""
    if hierarchy.two_titles:
        yield LintFinding(
            "two_titles",
            "warning",
            f"A dictionary has several titles for {counted(len(hierarchy.two_titles), 'codes')}.",
            "Give each code one title; where codes lost their zeros, export them as text.",
            tuple((code, *titles) for code, titles in hierarchy.two_titles.items()),
            "code, its titles",
            len(hierarchy),
            "nodes",
        )


def members_named_alike(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Groups that the file names like a member of theirs: both are one node."""
    members = hierarchy.dropped.members
    if members:
        n = len(members)
        yield LintFinding(
            "member_named_alike",
            "note",
            f"{counted(n, 'groups')} {'is' if n == 1 else 'are'} named like a member: the edge "
            "from the member to itself was left out, and a label of that name may mean either.",
            "Give the group another name; or keep both apart by --hierarchy-ids paths.",
            tuple((member,) for member in members),
            "group and member",
            int((~hierarchy.leaf & _stated(hierarchy)).sum()),
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
    placed, own = np.zeros(len(hierarchy), np.bool_), _stated(hierarchy)
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


def poor_titles(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Nodes without a title, where most have one, and titles with blanks that nobody sees."""
    titles = pl.Series(hierarchy.titles, dtype=pl.String)
    own = pl.Series(_stated(hierarchy))
    missing = (titles.str.strip_chars() == "") & own
    marred = (
        titles.str.contains(r"^\s|\s$|\s\s|[\p{Cc}\p{Zl}\p{Zp}\u{200B}\u{FEFF}]") & ~missing & own
    )
    if missing.any() and 2 * missing.sum() < own.sum():
        n = int(missing.sum())
        yield LintFinding(
            "missing_title",
            "note",
            f"{counted(n, 'nodes')} {'has' if n == 1 else 'have'} no title; most have one.",
            "Give each node a title; --titles reads further ones.",
            named(hierarchy, missing.arg_true().to_numpy()),
            "node",
            int(own.sum()),
            "nodes",
        )
    if marred.any():
        n = int(marred.sum())
        yield LintFinding(
            "title_blanks",
            "note",
            f"{counted(n, 'titles')} {'begins or ends' if n == 1 else 'begin or end'} with a "
            "blank, or have two side by side, a line end, or a character that cannot be seen.",
            "Write each title with single blanks between its words.",
            named(hierarchy, marred.arg_true().to_numpy()),
            "node",
            int((own & ~missing).sum()),
            "titles",
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
            int((~hierarchy.leaf & _stated(hierarchy)).sum()),
            "nodes with children",
        )


def _stated(hierarchy: Hierarchy) -> BoolArray:
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
    built = Hierarchy.build(
        edges.filter(pl.col("child") != pl.col("parent")).unique(),
        merged.rename({"first": "node"}),
        name=error.name,
    )
    return replace(built, dropped=error.dropped)


def same_titles(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Nodes whose titles differ in case, spaces and punctuation at most; signs as in C++ are none.

    Where all but the uppermost are below that one, the title is repeated below; else it clashes. A
    heading and its single child are left to `lone_children`.
    """
    groups = _groups(hierarchy)
    on_line = pl.col("below").all().over("title")
    lone = pl.col("lone").any().over("title")
    clashing = _cases(hierarchy, groups.filter(~on_line).sort("node"))
    repeated = _cases(hierarchy, groups.filter(on_line & ~lone))
    titled = int((np.array(hierarchy.titles) != "")[_stated(hierarchy)].sum())
    if clashing:
        yield LintFinding(
            "title_clash",
            "warning",
            f"{counted(len(clashing), 'titles')} {'stands' if len(clashing) == 1 else 'stand'} "
            "for several nodes that are not all below one of them: their titles do not "
            "distinguish them.",
            "Say in each title what distinguishes the node, or merge the nodes.",
            clashing,
            "nodes of one title",
            titled,
            "titles",
        )
    if repeated:
        yield LintFinding(
            "title_repeated",
            "note",
            f"{counted(len(repeated), 'titles')} of a node "
            f"{'is' if len(repeated) == 1 else 'are'} repeated below it: the title does not say "
            "whether the wider or the narrower node is meant.",
            "Say in the title of the lower node what it leaves out.",
            repeated,
            "node, nodes below it",
            titled,
            "titles",
        )


def only_catch_alls(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Titled headings whose children all are catch-alls and name nothing beyond the heading."""
    catch_alls = CatchAlls(hierarchy)
    headings = np.flatnonzero(~hierarchy.leaf & _stated(hierarchy)).tolist()
    alone = [heading for heading in headings if catch_alls.alone_below(heading)]
    cases = tuple(
        (hierarchy.nodes[heading], *hierarchy.children(hierarchy.nodes[heading]))
        for heading in alone
    )
    if cases:
        yield LintFinding(
            "only_catch_alls",
            "note",
            f"{counted(len(cases), 'headings')} {'has' if len(cases) == 1 else 'have'} nothing but "
            "catch-alls below: “other” and “unspecified” with nothing specific beside them say no "
            "more than the heading.",
            "Add the specific nodes from which the catch-alls differ, or use the heading itself "
            "as the label.",
            cases,
            "heading, its children",
            len(headings),
            "nodes with children",
        )


def _groups(hierarchy: Hierarchy) -> pl.DataFrame:
    """``node, title, below, lone`` of nodes that share a title, the uppermost of each first.

    ``below``: it is the uppermost node of its title or is below that. ``lone``: it is the single
    child of it.
    """
    titles = pl.Series("title", hierarchy.titles, pl.String)
    key = (
        titles.str.normalize("NFKC")
        .str.to_lowercase()
        .str.replace_all(r"(\w)[-–](\s|[,;:)\]]|$)", "${1}−$2")  # Rh- is not Rh
        .str.replace_all(r"(^|[\s(<>=])[-–](\d)", "${1}−$2")  # nor is -5 the same as 5
        .str.replace_all(r"[^\p{L}\p{M}\p{N}\p{Sm}\p{Sc}#%°‰]+", " ")
        .str.strip_chars()
    )
    groups = (
        pl.DataFrame({"title": key, "depth": hierarchy.depth})
        .with_row_index("node")
        .filter(pl.Series(_stated(hierarchy)))
        .filter((pl.col("title") != "") & pl.col("title").is_duplicated())
        .sort("depth", "node")
        .with_columns(top=pl.col("node").first().over("title"))
    )
    low, top = (groups[name].cast(pl.Int64).to_numpy() for name in ("node", "top"))
    heading, child = lone_pairs(hierarchy)
    lone = np.full(len(hierarchy), -1, np.int64)
    lone[heading] = child
    return groups.with_columns(
        below=pl.Series(leads_to(hierarchy.edges, low, top)), lone=pl.Series(lone[top] == low)
    )


def _cases(hierarchy: Hierarchy, groups: pl.DataFrame) -> tuple[tuple[str, ...], ...]:
    """The nodes of each title, by the order of the first ones."""
    nodes = groups.group_by("title", maintain_order=True).agg("node")["node"].to_list()
    return tuple(tuple(hierarchy.nodes[i] for i in group) for group in sorted(nodes))
