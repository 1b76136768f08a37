"""Lint a hierarchy: faults of its edges, ids and titles."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import polars as pl

from audit.base.dag import (
    SYNTHETIC_ROOT,
    BoolArray,
    IntArray,
    edge_ends,
    row,
    shortcuts,
)
from audit.base.plurals import counted, filled
from audit.hierarchies.catch_alls import CatchAlls
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy
from audit.hierarchies.titles import read_own_titles, with_titles

Severity: TypeAlias = Literal["error", "warning", "note"]
Cases: TypeAlias = tuple[tuple[str, ...], ...]

RULES: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
)
"""Rules by name, in report order: question, severity and what else is said, as strings."""


@dataclass(frozen=True)
class LintFinding:
    """What one rule found in a hierarchy.

    Args:
        rule: One of `RULES`.
        cases: The nodes of each case, in the order that ``reads`` says.
        reads: How a case reads, such as ``child, by way of, parent``; the last word is of all
            further nodes.
        of: Number of what was examined.
        unit: What that is, as a plural noun.
    """

    rule: str
    severity: Severity
    statement: str
    advice: str
    cases: Cases
    reads: str
    of: int
    unit: str

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values, for JSON."""
        said = {**vars(self), "n": len(self.cases), "cases": [list(case) for case in self.cases]}
        order = ("rule", "severity", "statement", "advice", "n", "of", "unit", "reads", "cases")
        return {name: said[name] for name in order}


@dataclass(frozen=True, eq=False)
class LintResult:
    """What was found about a hierarchy.

    Args:
        findings: Warnings, then notes, in the order of `RULES`; empty if nothing is wrong.
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
            "readings": [reading.as_dict() for reading in hierarchy.readings],
            "findings": [finding.to_dict() for finding in self.findings],
        }


def lint(source: str | Path, *, titles: Sequence[Path] = (), **stated: Any) -> LintResult:
    """Find faults in a hierarchy's structure.

    Args:
        source: As in `load_hierarchy`.
        titles: Dictionaries of titles, as in `read_own_titles`.
        stated: Arguments of `load_hierarchy`.

    Raises:
        InputError: As in `load_hierarchy` and `read_own_titles`.
    """
    hierarchy = load_hierarchy(source, **stated)
    hierarchy = with_titles(hierarchy, [read_own_titles(path, hierarchy) for path in titles])
    return LintResult(hierarchy, lint_hierarchy(hierarchy))


def lint_hierarchy(hierarchy: Hierarchy) -> tuple[LintFinding, ...]:
    """Find faults in a hierarchy's structure, warnings first; a rule that finds none is silent."""
    own = _stated(hierarchy)
    sizes = {
        "nodes": int(own.sum()),
        "nodes with children": int((own & ~hierarchy.leaf).sum()),
        "edges": hierarchy.edges.nnz,
        "titles": int((own & ~_untitled(hierarchy)).sum()),
    }
    findings = list[LintFinding]()
    for rule, finds in _FINDS.items():
        if cases := finds(hierarchy):
            said, n = RULES[rule], len(cases)
            severity, unit = cast(Severity, said["severity"]), said["unit"]
            noun = said["says"].split()[1]
            says = said["says"].replace(f"{{n}} {noun}", counted(n, noun))
            told = filled(says, {"n": n}), said["advice"], cases, said["reads"]
            findings.append(LintFinding(rule, severity, *told, sizes[unit], unit))
    return tuple(sorted(findings, key=lambda finding: finding.severity == "note"))


def _stated(hierarchy: Hierarchy) -> BoolArray:
    """Whether a node is stated: all but the root that is added above several tops, shape (n,)."""
    return np.array([node != SYNTHETIC_ROOT for node in hierarchy.nodes], np.bool_)


def _untitled(hierarchy: Hierarchy) -> BoolArray:
    return np.array([not title.strip() for title in hierarchy.titles], np.bool_)


def _named(hierarchy: Hierarchy, *columns: IntArray) -> Cases:
    """Cases as ids, from the indices of their first nodes, second nodes, and so on."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(tuple(hierarchy.nodes[index] for index in row) for row in rows)


def _redundant_edges(hierarchy: Hierarchy) -> Cases:
    """Child, parent between and parent of each edge to a parent above another parent."""
    child, parent = edge_ends(hierarchy.edges)
    through = shortcuts(hierarchy.edges)
    met = through >= 0
    return _named(hierarchy, child[met], through[met], parent[met])


def _orphans(hierarchy: Hierarchy) -> Cases:
    """Nodes with nothing above and nothing below them, where others have."""
    child, parent = edge_ends(hierarchy.edges)
    own = _stated(hierarchy)
    placed = np.zeros(len(hierarchy), np.bool_)
    placed[child[own[parent]]] = placed[parent[own[parent]]] = True
    return _named(hierarchy, np.flatnonzero(own & ~placed)) if placed.any() else ()


def _missing_parents(hierarchy: Hierarchy) -> Cases:
    """Tops that have children and no title, where several tops have children."""
    tops = np.flatnonzero((hierarchy.depth == 1) & ~hierarchy.leaf)
    several = SYNTHETIC_ROOT in hierarchy and len(tops) > 1
    return _named(hierarchy, tops[_untitled(hierarchy)[tops]]) if several else ()


def _lone_pairs(hierarchy: Hierarchy) -> tuple[IntArray, IntArray]:
    """Nodes that may not be labels themselves and have a single child, and that child."""
    below = hierarchy.child_matrix
    lone = np.flatnonzero((np.diff(below.indptr) == 1) & ~hierarchy.assignable)
    return lone, below.indices[below.indptr[lone]].astype(np.int64)


def _missing_titles(hierarchy: Hierarchy) -> Cases:
    """Stated nodes without a title, if more than half of the stated ones have one."""
    own = _stated(hierarchy)
    missing = _untitled(hierarchy) & own
    return _named(hierarchy, np.flatnonzero(missing)) if 2 * missing.sum() < own.sum() else ()


def _marred_titles(hierarchy: Hierarchy) -> Cases:
    """Nodes whose titles have blanks around them or doubled, or characters that do not show."""
    titles = pl.Series(hierarchy.titles, dtype=pl.String)
    seen = titles.str.contains(r"^\s|\s$|\s\s|[\p{Cc}\p{Zl}\p{Zp}\u{200B}\u{FEFF}]").to_numpy()
    return _named(hierarchy, np.flatnonzero(seen & ~_untitled(hierarchy) & _stated(hierarchy)))


@lru_cache(maxsize=1)
def _same_titles(hierarchy: Hierarchy) -> tuple[Cases, Cases]:
    """Groups of like titles: not all below one of them; all below one, but for `_lone_pairs`."""
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
        pl.DataFrame({"title": key, "depth": hierarchy.depth, "own": _stated(hierarchy)})
        .with_row_index("node")
        .filter(pl.col("own"), pl.col("title") != "")
        .filter(pl.col("title").is_duplicated())
        .sort("depth", "node")
        .group_by("title", maintain_order=True)
        .agg("node")
    )
    lone = dict(zip(*(column.tolist() for column in _lone_pairs(hierarchy)), strict=True))
    clashing, repeated = list[list[int]](), list[list[int]]()
    for top, *others in groups["node"].to_list():
        if not {*row(hierarchy.below, top).tolist()}.issuperset(others):
            clashing.append(sorted([top, *others]))
        elif lone.get(top) not in others:
            repeated.append([top, *others])
    ids = hierarchy.nodes
    clashes, repeats = (
        tuple(tuple(ids[i] for i in one) for one in sorted(own)) for own in (clashing, repeated)
    )
    return clashes, repeats


def _case_clashes(hierarchy: Hierarchy) -> Cases:
    """Groups of ids that differ in case alone, without the first groups of `_same_titles`."""
    folded = pl.Series("letters", [*map(str.casefold, hierarchy.nodes)], pl.String)
    alike = pl.DataFrame([folded, pl.Series("node", hierarchy.nodes, pl.String)])
    several = alike.filter(folded.is_duplicated()).group_by("letters", maintain_order=True)
    clashing = {*map(tuple, several.agg("node")["node"])}
    return tuple(sorted(clashing.difference(_same_titles(hierarchy)[0])))


def _only_catch_alls(hierarchy: Hierarchy) -> Cases:
    """Titled headings whose children all are catch-alls and name nothing beyond the heading."""
    catch_alls = CatchAlls(hierarchy)
    headings = np.flatnonzero(~hierarchy.leaf & _stated(hierarchy)).tolist()
    alone = [hierarchy.nodes[one] for one in headings if catch_alls.alone_below(one)]
    return tuple((heading, *hierarchy.children(heading)) for heading in alone)


_FINDS: dict[str, Callable[[Hierarchy], Cases]] = {
    "redundant_edge": _redundant_edges,
    "orphan": _orphans,
    "missing_parent": _missing_parents,
    "lone_child": lambda hierarchy: _named(hierarchy, *_lone_pairs(hierarchy)),
    "case_clash": _case_clashes,
    "two_titles": lambda hierarchy: tuple((c, *all_) for c, all_ in hierarchy.two_titles.items()),
    "missing_title": _missing_titles,
    "title_blanks": _marred_titles,
    "title_clash": lambda hierarchy: _same_titles(hierarchy)[0],
    "title_repeated": lambda hierarchy: _same_titles(hierarchy)[1],
    "only_catch_alls": _only_catch_alls,
}
"""What finds the cases of each rule."""
