"""Nodes of a hierarchy whose concept a layer lacks, mixes with a sibling's, or holds unused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr, stdtr, stdtrit

from audit.base import dag
from audit.base.dag import FloatArray, IntArray
from audit.concepts.measurements import NODES
from audit.concepts.node_probes import NodeAccuracies, fit_node_probes, instances_of_one
from audit.concepts.nodes_below import Below, dense
from audit.concepts.verdicts import LIMIT
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import LEVEL, newcombe
from audit.engine.statistics.resampling import unit_keys
from audit.hierarchies.hierarchy import Hierarchy

RATE = 0.05
"""False discovery rate of the states of nodes."""


def node_frame(
    below: Below, layers: Mapping[str, FloatArray], tested: str, ids: Sequence[str], seeds: range
) -> pl.DataFrame:
    """Columns `audit.concepts.measurements.NODES`.

    Args:
        below: The nodes.
        layers: Representations by layer, shape (instances, features).
        tested: The layer that the states are about; others only compete for ``best_layer``.
        ids: Ids of the instances.
        seeds: Seeds of splits.
    """
    keys = [unit_keys(ids, seed) for seed in seeds]
    accuracies = {
        name: fit_node_probes(layer, below, keys if name == tested else keys[:1])
        for name, layer in layers.items()
    }
    rows = [_node(below, accuracies[tested], number) for number in range(len(below.tested))]
    for one in rows:
        _add_best_layer(one, below, accuracies)
    table = pl.DataFrame(rows, schema={**NODES, "index": pl.Int64, "parent_index": pl.Int64})
    table = _adjusted(table.with_columns(pl.selectors.float().fill_nan(None)))
    table = table.with_columns(state=_state())
    return _folded(table, below.hierarchy).select(
        pl.col(name).cast(kind) for name, kind in NODES.items()
    )


def _node(below: Below, accuracies: NodeAccuracies, number: int) -> dict[str, Any]:
    hierarchy, node = below.hierarchy, int(below.tested[number])
    instances = below.member.shape[0]
    support = len(below.rows_below(node))
    readable = _balanced(
        accuracies.own[number], support, accuracies.rest[number], instances - support
    )
    known: dict[str, Any] = {
        "node": hierarchy.nodes[node],
        "index": node,
        "depth": int(hierarchy.depth[node]),
        "instances": support,
        "readable": readable.value,
        "readable_low": readable.low,
        "readable_high": readable.high,
        "absent_p": readable.p_at_limit,
    }
    parents = [parent for parent, children in below.families.items() if node in children]
    if not parents:
        above = next(iter(hierarchy.parents(known["node"])), None)
        return known | {"siblings": 0, "parent": above}
    return known | min(
        (_against_siblings(below, accuracies, node, parent) for parent in parents),
        key=lambda case: case.get("separable", np.inf),
    )


def _against_siblings(
    below: Below, accuracies: NodeAccuracies, node: int, parent: int
) -> dict[str, Any]:
    children = below.families[parent]
    place = int(np.searchsorted(children, node))
    rows = below.rows_below(parent)
    only = instances_of_one(below, rows, parent)
    found: dict[str, Any] = {
        "parent": below.hierarchy.nodes[parent],
        "parent_index": parent,
        "siblings": len(children) - 1,
    }
    usable = np.flatnonzero((only[place] > 0) & (only[:, place] > 0))
    if not len(usable):
        return found
    pairs = accuracies.pairs[parent]
    other = min(usable.tolist(), key=lambda one: pairs[place, one] + pairs[one, place])
    pair = _balanced(
        pairs[place, other], only[place, other], pairs[other, place], only[other, place]
    )
    return (
        found
        | _use(below, accuracies, rows, node, parent)
        | {
            "sibling": below.hierarchy.nodes[int(children[other])],
            "sibling_instances": int(only[other, place]),
            "separable": pair.value,
            "separable_low": pair.low,
            "separable_high": pair.high,
            "entangled_p": pair.p_at_limit,
        }
    )


def _use(
    below: Below, accuracies: NodeAccuracies, rows: IntArray, node: int, parent: int
) -> dict[str, Any]:
    """The node against all siblings, by the probe and by the predictions where there are any."""
    children = below.families[parent]
    place = int(np.searchsorted(children, node))
    member = dense(below.member, rows, children)
    own = member[:, place]
    theirs = member.any(axis=1) & ~own
    answered = (accuracies.best[parent] == place).mean(axis=1)
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


@dataclass(frozen=True)
class Balanced:
    """A balanced accuracy with its 95 % interval, and the p value of `LIMIT` or more."""

    value: float
    low: float
    high: float
    p_at_limit: float


def _balanced(own: float, n: int, other: float, n_other: int) -> Balanced:
    """The mean of two shares of right answers, of n instances each."""
    low, high = newcombe(own, n, 1 - other, n_other)
    smooth = (own * n + 1) / (n + 2), (other * n_other + 1) / (n_other + 2)
    error = math.sqrt(smooth[0] * (1 - smooth[0]) / n + smooth[1] * (1 - smooth[1]) / n_other)
    at_limit = float(ndtr((sum(smooth) - 2 * LIMIT) / error))
    return Balanced(float(own + other) / 2, (1 + low) / 2, (1 + high) / 2, at_limit)


def _mean_gap(own: FloatArray, other: FloatArray) -> tuple[float, float, float, float]:
    """The mean of two means of differences, its interval, and the p value of 0 or less.

    Each variance is at least that of one difference of 1 among its instances.
    """
    mean = (own.mean() + other.mean()) / 2
    variances = [max(one.var(ddof=1), 1 / len(one)) / len(one) for one in (own, other)]
    error, freedom = np.sqrt(sum(variances)) / 2, min(len(own), len(other)) - 1
    reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return mean, mean - reach, mean + reach, float(stdtr(freedom, -mean / error))


def _add_best_layer(
    row: dict[str, Any], below: Below, accuracies: Mapping[str, NodeAccuracies]
) -> None:
    if row.get("sibling") is None:
        return
    ends = [row["index"], below.hierarchy.index(row["sibling"])]
    place, other = np.searchsorted(below.families[row["parent_index"]], ends).tolist()
    pairs = {name: one.pairs[row["parent_index"]] for name, one in accuracies.items()}
    values = {name: (one[place, other] + one[other, place]) / 2 for name, one in pairs.items()}
    row["best_layer"] = max(values, key=lambda name: values[name])
    row["best_separable"] = float(values[row["best_layer"]])


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
    return (
        pl.when(pl.col("absent_q") <= RATE)
        .then(pl.lit("absent"))
        .when(pl.col("entangled_q") <= RATE)
        .then(pl.lit("entangled"))
        .when(held & unused.fill_null(False))
        .then(pl.lit("unused"))
        .when(held)
        .then(pl.lit("present"))
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
