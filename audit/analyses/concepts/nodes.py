"""Nodes of a hierarchy: how well a layer tells them from others, and from their siblings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from audit.analyses.concepts.classes import scaling_of
from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.halves import Area, Half, Units
from audit.analyses.concepts.node_probes import (
    Pair,
    Siblings,
    fit_siblings,
    node_areas,
    pair_areas,
)
from audit.analyses.concepts.nodes_below import MISTAKES, Below, dense
from audit.base import dag
from audit.base.dag import FloatArray, IntArray
from audit.engine.statistics.intervals import LEVEL
from audit.hierarchies.hierarchy import Hierarchy

NODES = {
    name: kind
    for name, kind in TABLES["nodes"].columns.types.items()
    if name not in ("title", *MISTAKES)
}
"""Nodes with instances below them. ``readable``: how often a linear probe gives an instance below
the node a higher score than another (the area under the curve: .5 is chance). ``separable``:
against the sibling that is hardest to tell from it, ``sibling``. ``probed`` and ``predicted``:
balanced accuracies of the node against all siblings, by the probe and by the model's answers where
they are known; ``unused`` is their difference. ``best_layer`` separates the node best from that
sibling. ``folded_into`` is the deepest node below with the same instances; null if there is none.
"""


def node_frame(
    below: Below,
    layers: Mapping[str, FloatArray],
    tested: str,
    ids: Sequence[str],
    seeds: range,
    groups: Sequence[str | None] | None = None,
) -> pl.DataFrame:
    """Columns `NODES`.

    Args:
        layers: Representations by layer, shape (instances, features).
        tested: The layer that areas are of; others only compete for ``best_layer``.
        groups: Groups of the instances, such as patients; None without any.
    """
    if not len(below.tested):
        return pl.DataFrame(schema=NODES)
    units = Units.of(ids, groups, seeds)
    z = scaling_of(layers[tested])(layers[tested])
    halves = [Half.of(z, fitted) for fitted in units.fitted]
    siblings = fit_siblings(z, below, units)
    areas = node_areas(z, below, halves, units)
    pairs = {
        parent: pair_areas(z, below, siblings, units, _closest(siblings, parent), parent)
        for parent in below.families
    }
    of = _Measured(below, units, siblings, pairs, grouped=groups is not None)
    rows = [_node(of, one, int(node)) for one, node in zip(areas, below.tested, strict=True)]
    for row in rows:
        row["best_layer"], row["best_separable"] = tested, row.get("separable")
    for name in layers:
        if name != tested:
            _add_layer(rows, name, layers[name], below, units)
    table = pl.DataFrame(rows, schema={**NODES, "index": pl.Int64, "parent_index": pl.Int64})
    table = table.with_columns(pl.selectors.float().fill_nan(None))
    return _folded(table, below.hierarchy).select(
        pl.col(name).cast(kind) for name, kind in NODES.items()
    )


@dataclass(frozen=True, eq=False)
class _Measured:
    """What was fitted on the tested layer."""

    below: Below
    units: Units
    siblings: Siblings
    pairs: Mapping[int, Mapping[Pair, Area]]
    grouped: bool


def _closest(siblings: Siblings, parent: int) -> list[Pair]:
    return [
        (node, int(other))
        for (node, above), others in siblings.closest.items()
        if above == parent
        for other in others
        if other != node
    ]


def _node(of: _Measured, found: Area | None, node: int) -> dict[str, Any]:
    below, hierarchy = of.below, of.below.hierarchy
    inside = dense(below.member, slice(None), [node])[:, 0]
    known: dict[str, Any] = {
        "node": hierarchy.nodes[node],
        "index": node,
        "depth": int(hierarchy.depth[node]),
        "instances": int(inside.sum()),
        "groups": of.units.count(inside) if of.grouped else None,
    }
    if found is not None:
        known |= {
            "readable": found.value,
            "readable_low": found.low,
            "readable_high": found.high,
        }
    parents = [parent for parent, children in below.families.items() if node in children]
    if not parents:
        above = next(iter(hierarchy.parents(known["node"])), None)
        return known | {"siblings": 0, "parent": above}
    return known | min(
        (_against_siblings(of, node, parent) for parent in parents),
        key=lambda case: case.get("separable", np.inf),
    )


def _against_siblings(of: _Measured, node: int, parent: int) -> dict[str, Any]:
    below = of.below
    children, rows = below.families[parent], below.rows_below(parent)
    found: dict[str, Any] = {
        "parent": below.hierarchy.nodes[parent],
        "parent_index": parent,
        "siblings": len(children) - 1,
    }
    against = {other: one for (own, other), one in of.pairs[parent].items() if own == node}
    if not against:
        return found
    other = min(against, key=lambda one: (against[one].value, one))
    own, theirs = dense(below.member, rows, [node, other]).T
    return (
        found
        | _use(below, of.siblings.best[parent], rows, node, parent)
        | {
            "sibling": below.hierarchy.nodes[other],
            "sibling_instances": int((theirs & ~own).sum()),
            "separable": against[other].value,
            "separable_low": against[other].low,
            "separable_high": against[other].high,
        }
    )


def _use(below: Below, best: IntArray, rows: IntArray, node: int, parent: int) -> dict[str, Any]:
    """The node against all siblings, by the probe and by the predictions where there are any."""
    children = below.families[parent]
    place = int(np.searchsorted(children, node))
    member = dense(below.member, rows, children)
    own = member[:, place]
    theirs = member.any(axis=1) & ~own
    answered = (best == place).mean(axis=1)
    probe = np.where(own, answered, 1 - answered)
    found = {"probed": (probe[own].mean() + probe[theirs].mean()) / 2}
    answered = below.answered[rows]
    own, theirs = own & answered, theirs & answered
    if below.predicted is None or min(own.sum(), theirs.sum()) < 2:
        return found
    right = dense(below.predicted, rows, [node])[:, 0] == member[:, place]
    gap, low, high = _mean_gap((probe - right)[own], (probe - right)[theirs])
    return found | {
        "predicted": (right[own].mean() + right[theirs].mean()) / 2,
        "unused": gap,
        "unused_low": low,
        "unused_high": high,
    }


def _mean_gap(own: FloatArray, other: FloatArray) -> tuple[float, float, float]:
    """The mean of two means of differences, and its interval.

    Each variance is at least that of one difference of 1 among its instances.
    """
    mean = (own.mean() + other.mean()) / 2
    variances = [max(one.var(ddof=1), 1 / len(one)) / len(one) for one in (own, other)]
    error, freedom = np.sqrt(sum(variances)) / 2, min(len(own), len(other)) - 1
    reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return mean, mean - reach, mean + reach


def _add_layer(
    rows: Sequence[dict[str, Any]], name: str, layer: FloatArray, below: Below, units: Units
) -> None:
    """The layer takes the place of the best one where it separates a node better, by one split."""
    z = scaling_of(layer)(layer)
    fit = fit_siblings(z, below, units, halves=2)
    for parent in below.families:
        own = [row for row in rows if row.get("sibling") and row["parent_index"] == parent]
        pairs = [(row["index"], below.hierarchy.index(row["sibling"])) for row in own]
        areas = pair_areas(z, below, fit, units, pairs, parent)
        for row, pair in zip(own, pairs, strict=True):
            if pair in areas and areas[pair].value > row["best_separable"]:
                row["best_layer"], row["best_separable"] = name, areas[pair].value


def _folded(table: pl.DataFrame, hierarchy: Hierarchy) -> pl.DataFrame:
    """Nodes of a chain with equal instances are named by the deepest of them."""
    known = {row["index"]: row for row in table.iter_rows(named=True)}
    deepest: dict[int, int] = {}
    for node in sorted(known, key=lambda index: -known[index]["depth"]):
        below = [
            child
            for child in dag.row(hierarchy.child_matrix, node).tolist()
            if child in known and known[child]["instances"] == known[node]["instances"]
        ]
        if below:
            deepest[node] = deepest.get(min(below), min(below))
    names = [hierarchy.nodes[deepest[node]] if node in deepest else None for node in table["index"]]
    return table.with_columns(pl.Series("folded_into", names, pl.String))
