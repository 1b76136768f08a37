"""Nodes of a hierarchy whose concept a layer lacks, mixes with a sibling's, or holds unused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from audit.base import dag
from audit.base.dag import FloatArray, IntArray
from audit.concepts.classes import scaling_of
from audit.concepts.halves import Area, Half, Units
from audit.concepts.measurements import NODES
from audit.concepts.node_controls import (
    ENOUGH,
    LARGEST,
    LEAST_KNOWN,
    Control,
    cut_down,
    dealt_anew,
    made_up,
    on_grid,
)
from audit.concepts.node_probes import (
    Pair,
    Siblings,
    fit_siblings,
    node_areas,
    pair_areas,
    unexplained,
)
from audit.concepts.nodes_below import Below, dense
from audit.concepts.verdicts import LIMIT
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import LEVEL
from audit.hierarchies.hierarchy import Hierarchy

RATE = 0.05
"""False discovery rate of the states of nodes."""


def node_frame(
    below: Below,
    layers: Mapping[str, FloatArray],
    tested: str,
    ids: Sequence[str],
    seeds: range,
    groups: Sequence[str | None] | None = None,
) -> pl.DataFrame:
    """Columns `audit.concepts.measurements.NODES`.

    Args:
        layers: Representations by layer, shape (instances, features).
        tested: The layer that the states are about; others only compete for ``best_layer``.
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
    of = _Measured(below, z, units, halves, siblings, pairs, seeds[0], grouped=groups is not None)
    rows = [_node(of, one, int(node)) for one, node in zip(areas, below.tested, strict=True)]
    for row in rows:
        row["best_layer"], row["best_separable"] = tested, row.get("separable")
    for name in layers:
        if name != tested:
            _add_layer(rows, name, layers[name], below, units)
    table = pl.DataFrame(rows, schema={**NODES, "index": pl.Int64, "parent_index": pl.Int64})
    table = _controlled(of, _adjusted(table.with_columns(pl.selectors.float().fill_nan(None))))
    table = table.with_columns(state=_state())
    return _folded(table, below.hierarchy).select(
        pl.col(name).cast(kind) for name, kind in NODES.items()
    )


@dataclass(frozen=True, eq=False)
class _Measured:
    """What was fitted on the tested layer."""

    below: Below
    z: FloatArray
    units: Units
    halves: Sequence[Half]
    siblings: Siblings
    pairs: Mapping[int, Mapping[Pair, Area]]
    seed: int
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
            "absent_p": found.p_at_limit,
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
            "entangled_p": against[other].p_at_limit,
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
    gap, low, high, p_value = _mean_gap((probe - right)[own], (probe - right)[theirs])
    return found | {
        "predicted": (right[own].mean() + right[theirs].mean()) / 2,
        "unused": gap,
        "unused_low": low,
        "unused_high": high,
        "unused_p": p_value,
    }


def _mean_gap(own: FloatArray, other: FloatArray) -> tuple[float, float, float, float]:
    """The mean of two means of differences, its interval, and the p value of 0 or less.

    Each variance is at least that of one difference of 1 among its instances.
    """
    mean = (own.mean() + other.mean()) / 2
    variances = [max(one.var(ddof=1), 1 / len(one)) / len(one) for one in (own, other)]
    error, freedom = np.sqrt(sum(variances)) / 2, min(len(own), len(other)) - 1
    reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return mean, mean - reach, mean + reach, float(stdtr(freedom, -mean / error))


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


def _controlled(of: _Measured, table: pl.DataFrame) -> pl.DataFrame:
    """With the controls of the nodes that are not read, and of those that may be too few."""
    rows = {row["index"]: row for row in table.iter_rows(named=True)}
    for row in rows.values():
        row["size"] = on_grid(row["groups"] if of.grouped else row["instances"])
    candidates = [row for row in rows.values() if _is_low(row, "readable", "absent")]
    others = [
        row for row in rows.values() if not _is_low(row, "readable", "absent") and not _is_held(row)
    ]
    even = made_up(of.z, of.halves, of.units, _sizes(candidates), of.seed)
    unmoved = made_up(of.z, of.halves, of.units, _sizes(others), of.seed, moved=False)
    least = 0
    for row in sorted(candidates, key=lambda one: (-one["size"], one["index"])):
        control = even[row["size"]]
        row |= {"made_up": control.read, "needed": control.needed}
        if control.read < ENOUGH and row["size"] >= least:
            own = _own(of, row, rows)
            row["cut_down"] = None if own is None else own.read
            least = row["size"] if own is not None and own.read < ENOUGH else least
    for row in others:
        row["tellable"] = unmoved[row["size"]].told
    mixed = [
        row
        for row in rows.values()
        if _is_low(row, "separable", "entangled") and (row["readable_low"] or 0) >= LIMIT
    ]
    if mixed:
        residuals = unexplained(of.z, dense(of.below.member, slice(None), of.below.tested))
        halves = [
            replace(half, mean=residuals[half.fitted].mean(axis=0)) for half in of.siblings.halves
        ]
        for row in mixed:
            row["pair_made_up"] = _dealt_anew(of, residuals, halves, row).read
    return table.with_columns(
        pl.Series(name, [row[name] for row in rows.values()], pl.Int64)
        for name in ("made_up", "cut_down", "needed", "tellable", "pair_made_up")
    )


def _sizes(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    return sorted({row["size"] for row in rows})


def _is_low(row: Mapping[str, Any], value: str, test: str) -> bool:
    q_value = row[f"{test}_q"]
    return q_value is not None and q_value <= RATE and row[value] < LIMIT


def _is_held(row: Mapping[str, Any]) -> bool:
    return row["readable"] is None or row["readable_low"] > LIMIT


def _own(
    of: _Measured, row: Mapping[str, Any], rows: Mapping[int, Mapping[str, Any]]
) -> Control | None:
    """Other nodes that are read, the smallest first, cut down to the size of this one.

    None with fewer than five.
    """
    hierarchy = of.below.hierarchy
    related = {row["node"], *hierarchy.ancestors(row["node"]), *hierarchy.descendants(row["node"])}
    known = [
        dense(of.below.member, slice(None), [one["index"]])[:, 0]
        for one in sorted(rows.values(), key=lambda one: (one["instances"], one["index"]))
        if (one["readable_low"] or 0) >= LIMIT
        and one["size"] >= row["size"]
        and one["instances"] <= LARGEST
        and one["node"] not in related
    ]
    if len(known) < LEAST_KNOWN:
        return None
    return cut_down(of.z, of.halves, of.units, row["size"], of.seed, known)


def _dealt_anew(
    of: _Measured, residuals: FloatArray, halves: Sequence[Half], row: Mapping[str, Any]
) -> Control:
    pair = [row["index"], of.below.hierarchy.index(row["sibling"])]
    own, other = dense(of.below.member, slice(None), pair).T
    rows, size = np.flatnonzero(own != other), of.units.count(own & ~other)
    return dealt_anew(residuals, halves, of.units, rows, size, of.seed)


def _adjusted(table: pl.DataFrame) -> pl.DataFrame:
    """With q values and the family: a chain of nodes is tested once at each of its depths."""
    depths = table["depth"].n_unique()
    families = []
    for _, rows in table.group_by("depth", maintain_order=True):
        q_values = [
            _q_values(rows[f"{name}_p"], depths).alias(f"{name}_q")
            for name in ("absent", "entangled", "unused")
        ]
        families.append(rows.with_columns(*q_values, pl.lit(len(rows), pl.Int64).alias("family")))
    return pl.concat(families).sort("index") if families else table


def _q_values(p_values: pl.Series, depths: int) -> pl.Series:
    there = p_values.is_not_null()
    adjusted = np.full(len(p_values), np.nan)
    known = p_values.filter(there).to_numpy()
    adjusted[there.to_numpy()] = np.minimum(benjamini_hochberg(known, len(known)) * depths, 1)
    return pl.Series(adjusted, dtype=pl.Float64).fill_nan(None)


def _state() -> pl.Expr:
    unused = (pl.col("unused_q") <= RATE) & (pl.col("predicted") <= LIMIT)
    held = (pl.col("readable_low") > LIMIT) & (pl.col("separable_low").fill_null(1.0) > LIMIT)
    absent = (pl.col("made_up") >= ENOUGH) | (pl.col("cut_down").fill_null(0) >= ENOUGH)
    return (
        pl.when(absent)
        .then(pl.lit("absent"))
        .when(pl.col("pair_made_up") >= ENOUGH)
        .then(pl.lit("entangled"))
        .when(pl.col("made_up").is_not_null() | pl.col("pair_made_up").is_not_null())
        .then(pl.lit("no_power"))
        .when(held & unused.fill_null(False))
        .then(pl.lit("unused"))
        .when(held)
        .then(pl.lit("present"))
        .when(pl.col("tellable") < ENOUGH)
        .then(pl.lit("too_few"))
        .otherwise(pl.lit("undecided"))
    )


def _folded(table: pl.DataFrame, hierarchy: Hierarchy) -> pl.DataFrame:
    """Nodes of a chain with equal instances and one state are named by the deepest of them."""
    known = {row["index"]: row for row in table.iter_rows(named=True)}
    deepest: dict[int, int] = {}
    for node in sorted(known, key=lambda index: -known[index]["depth"]):
        below = [
            child
            for child in dag.row(hierarchy.child_matrix, node).tolist()
            if child in known
            and known[child]["instances"] == known[node]["instances"]
            and known[child]["state"] == known[node]["state"]
        ]
        if below:
            deepest[node] = deepest.get(min(below), min(below))
    names = [hierarchy.nodes[deepest[node]] if node in deepest else None for node in table["index"]]
    return table.with_columns(pl.Series("folded_into", names, pl.String))
