"""Lint a hierarchy: all rules on one, or on a file that may have cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.hierarchies.building import CyclicError
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.lint.faults import (
    dangling_edges,
    lone_children,
    members_named_alike,
    orphans,
    redundant_edges,
    said_from_one_end,
    tops_below_others,
    without_cycles,
)
from audit.hierarchies.lint.finding import LintFinding
from audit.hierarchies.lint.titles import only_catch_alls, poor_titles, same_titles, two_titles
from audit.hierarchies.reading import load_hierarchy
from audit.hierarchies.titles import read_own_titles, with_titles

RULES = (
    dangling_edges,
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
        hierarchy: The hierarchy, in which nodes that are below each other are one.
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
        stated: Arguments of `load_hierarchy`; a finding reports the edges that are dropped.

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
