"""The published counts of a result as cells, so that they can be protected together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from audit.disclosure import (
    Cell,
    Release,
    carried,
    differing,
    labelled,
    labelled_below,
    labels_at,
    only_residual_below,
    only_uninformative,
    seen_whole,
    together,
)
from audit.results.findings import SUSPECTS
from audit.results.pictured_pairs import Published
from audit.results.record import Record

_FROM_REFERENCE = ("reference", "")
"""Rest of the key, after the parent, of a residual share that differs from the reference."""
UNINFORMATIVE = "not_specific", ("uninformative",)
"""Check and key of the finding on instances with uninformative labels only."""
UNEXPECTED_PAIR = "unexpected_pair"
_PAIRS = ("cross_branch",)
"""Checks whose findings count the instances of two nodes, unless they have a key."""
_KEYED_PAIRS = ("redundant_nodes", UNEXPECTED_PAIR)
"""Checks whose findings always count the instances of two nodes, with or without a key."""


def evidence_cells(
    release: Release, check: str, nodes: tuple[str, ...], key: tuple[str, ...]
) -> dict[str, Cell]:
    """Cells of a finding's evidence, by name; counts that are not cells of nodes are left out."""
    if check == "residual_overuse" and not key:
        (parent,) = nodes
        return {
            "instances": only_residual_below(parent),
            "of": labelled_below(parent),
            "labelled_at_parent": labelled(parent),
        }
    if check == "residual_overuse" and key[1:] == _FROM_REFERENCE:
        (parent,) = nodes
        return {"instances": only_residual_below(parent), "of": labelled_below(parent)}
    if (check, key) == UNINFORMATIVE and release.root is not None:
        return {"instances": only_uninformative(release.root)}
    if check == SUSPECTS:
        return {"labelled": labelled(nodes[0])}
    if check not in _KEYED_PAIRS and (check not in _PAIRS or key):
        return {}
    return pair_cells(release, *nodes[-2:])


def pair_cells(release: Release, first: str, second: str) -> dict[str, Cell]:
    """Cells of a pair by name of the count: of each node, and of both."""
    return {
        "support_a": carried(first),
        "support_b": carried(second),
        "instances": _met(release, first, second),
    }


def whole_cells(check: str, part: tuple[str, ...]) -> tuple[Cell, ...]:
    """Cells that hold all instances of a line of a breakdown that is no cell itself."""
    return (labelled(part[0]), carried(part[0])) if check == "duplicate_label" else ()


def reference_cells(check: str, key: tuple[str, ...]) -> dict[str, Cell]:
    """Cells of a finding's evidence that are counts of the reference, by name."""
    if check != "residual_overuse" or key[1:] != _FROM_REFERENCE:
        return {}
    return {"elsewhere": only_residual_below(key[0]), "of_elsewhere": labelled_below(key[0])}


def part_cells(
    release: Release,
    check: str,
    nodes: tuple[str, ...],
    key: tuple[str, ...],
    part: tuple[str, ...],
) -> dict[str, Cell]:
    """Cells of the evidence of a line of a finding's breakdown, by name."""
    if check == "residual_overuse" or (check, key) == UNINFORMATIVE:
        return {"labelled": labelled(part[0])}
    if check in ("parent_and_child", "sibling_exclusive", "excludes1"):
        both = together(labelled(part[0]), labelled(part[1]))
        return {"instances": both, "of": labelled(part[0])}
    if check == UNEXPECTED_PAIR:
        return {"instances": _met(release, part[0], part[1])}
    if check != "cross_branch" or key:
        return {}
    if len(part) == 2:
        return {"instances": together(labelled(part[0]), labelled(part[1]))}
    return {"instances": _met(release, part[0], nodes[1])}


def known_counts(run: Record) -> Iterator[tuple[Cell, int]]:
    """All counts of a run that readers might infer, by cell.

    These are the counts of every node in use, those below every parent with residual nodes and, if
    the programs distinguish all labels, those of every pair of nodes in use.
    """
    for node, support, direct in run.nodes.select("node", "support", "direct").iter_rows():
        if support:
            yield carried(node), support
            yield labelled(node), direct
    throughout = run.residuals.filter(pl.col("residual") == "all")
    for parent, k, n in throughout.select("parent", "k", "n").iter_rows():
        yield only_residual_below(parent), k
        yield labelled_below(parent), n
    if not seen_whole(run.release):
        return
    joints = {(a, b): n for a, b, n in run.pairs.select("a", "b", "joint").collect().iter_rows()}
    for a, b in combinations(run.release.supports, 2):
        yield (
            together(carried(a), carried(b)),
            joints.get((a, b), joints.get((b, a), 0)),
        )


def _met(release: Release, first: str, second: str) -> Cell:
    """What checks count of two nodes: what carries both, unless one label is below both."""
    shared = release.members(("below", first)) & release.members(("below", second))
    return differing(first, second) if np.any(shared) else together(carried(first), carried(second))


def depth_counts(nodes: pl.DataFrame) -> Iterator[tuple[Cell, int]]:
    """Number of labels at each depth, by cell."""
    by_depth = nodes.group_by("depth", maintain_order=True).agg(pl.col("direct").sum())
    for depth, labels in by_depth.iter_rows():
        yield labels_at(depth), labels


def depths_shown(rows: list[dict[str, Any]], counts: Published) -> list[dict[str, Any]]:
    """Rows of depths without the counts and bounds that other counts make unsafe."""
    return [
        {**row, "labels": None, "share": None}
        if str(own := counts[labels_at(row["depth"])]).startswith(">") and own != row["labels"]
        else row
        for row in rows
    ]


def scope_counts(run: Record) -> Iterator[tuple[Cell, int]]:
    """Instances that carry each node that a model is measured in, by cell."""
    scopes = () if run.model is None else sorted(run.model.scopes)
    within = run.nodes.filter(pl.col("node").is_in(scopes) & (pl.col("support") > 0))
    for node, support in within.select("node", "support").iter_rows():
        yield carried(node), support


def analysis_counts(run: Record) -> Iterator[tuple[Cell, int]]:
    """Instances that carry each node that an analysis counts, where small ones are withheld."""
    supports = run.release.supports if run.min_cell > 1 else {}
    for node in sorted({node for part in run.analyses for node in part.nodes} & supports.keys()):
        yield carried(node), supports[node]


def uninformative_counts(run: Record) -> Iterator[tuple[Cell, int]]:
    """How many instances have uninformative labels only; that no finding says so tells a 0.

    Where labels are normalised, the check may read lists of codes instead, and tell nothing.
    """
    root = run.release.root
    if root is not None and run.identity["normaliser"] is None:
        for check in run.checks:
            if check.name == UNINFORMATIVE[0] and not check.crashed:
                found = (f for f in check.standing if f.key == UNINFORMATIVE[1])
                yield only_uninformative(root), sum(f.touched for f in found)
