"""Lint a hierarchy, or a file that may have cycles: all rules, and those on titles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.base.paths import leads_to
from audit.base.plurals import counted
from audit.hierarchies.building import CyclicError
from audit.hierarchies.catch_alls import CatchAlls
from audit.hierarchies.edge_faults import (
    LintFinding,
    lone_children,
    lone_pairs,
    members_named_alike,
    named,
    orphans,
    redundant_edges,
    said_from_one_end,
    stated,
    tops_below_others,
    without_cycles,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy
from audit.hierarchies.titles import read_own_titles, with_titles


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


def poor_titles(hierarchy: Hierarchy) -> Iterator[LintFinding]:
    """Nodes without a title, where most have one, and titles with blanks that nobody sees."""
    titles = pl.Series(hierarchy.titles, dtype=pl.String)
    own = pl.Series(stated(hierarchy))
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
    titled = int((np.array(hierarchy.titles) != "")[stated(hierarchy)].sum())
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
    headings = np.flatnonzero(~hierarchy.leaf & stated(hierarchy)).tolist()
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
        .filter(pl.Series(stated(hierarchy)))
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


RULES = (
    members_named_alike,
    redundant_edges,
    tops_below_others,
    said_from_one_end,
    orphans,
    lone_children,
    two_titles,
    poor_titles,
    same_titles,
    only_catch_alls,
)
"""Rules on a hierarchy, in report order."""


@dataclass(frozen=True, eq=False)
class LintResult:
    """What was found about a hierarchy.

    Args:
        findings: Cycles, warnings, notes, each in the order of `RULES`; empty if nothing is wrong.
    """

    hierarchy: Hierarchy
    findings: tuple[LintFinding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Sizes of the hierarchy and the findings as plain values, for JSON."""
        hierarchy = self.hierarchy
        return {
            "hierarchy": hierarchy.name,
            "nodes": len(hierarchy),
            "edges": hierarchy.edges.nnz,
            "repeated_edges": hierarchy.repeated_edges,
            "leaves": int(hierarchy.leaf.sum()),
            "depth": int(hierarchy.depth.max()),
            "readings": [reading.shown(1) for reading in hierarchy.readings],
            "findings": [finding.to_dict() for finding in self.findings],
        }


def lint(
    source: str | Path,
    *,
    titles: Sequence[Path] = (),
    **stated: Any,
) -> LintResult:
    """Find faults in a hierarchy's structure, even in one with cycles.

    Args:
        source: As in `load_hierarchy`.
        titles: Dictionaries of titles, as in `read_own_titles`.
        stated: Arguments of `load_hierarchy`.

    Raises:
        InputError: As in `load_hierarchy`, cycles excepted, and in `read_own_titles`.
    """
    cycles: tuple[LintFinding, ...] = ()
    try:
        hierarchy = load_hierarchy(source, **stated)
    except CyclicError as error:
        hierarchy, cycles = without_cycles(error)
    if titles:
        hierarchy = with_titles(hierarchy, [read_own_titles(path, hierarchy) for path in titles])
    return LintResult(hierarchy, (*cycles, *lint_hierarchy(hierarchy)))


def lint_hierarchy(hierarchy: Hierarchy) -> tuple[LintFinding, ...]:
    """Find faults in a hierarchy's structure, warnings first; a rule that finds none is silent."""
    findings = (finding for rule in RULES for finding in rule(hierarchy))
    return tuple(sorted(findings, key=lambda finding: finding.severity == "note"))
