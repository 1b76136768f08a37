"""Nodes of a hierarchy: what a layer, and the model's answers, tell of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import stdtrit

from audit.analyses.concepts.classes import scaled
from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.node_probes import (
    Below,
    Siblings,
    apart,
    areas,
    fit_siblings,
    instances_below,
    inverse,
    membership,
)
from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
from audit.base.errors import InputError, first_cases
from audit.engine.statistics.intervals import LEVEL
from audit.engine.statistics.resampling import unit_keys
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.titles import title_of_node

MOST_INSTANCES = 50_000
"""Instances that nodes are measured on."""


def node_frame(
    hierarchy: Hierarchy,
    layers: Mapping[str, NDArray[np.floating]],
    tested: str,
    instances: pl.DataFrame,
    seeds: Sequence[int],
) -> pl.DataFrame:
    """The table ``nodes``, of nodes with enough instances below them and elsewhere.

    ``readable`` is how often a linear probe gives an instance below the node a higher score than
    another (the area under the curve: .5 is chance); ``separable`` the same against the sibling
    that is hardest to tell from it, ``sibling``. ``probed`` and ``predicted`` are balanced
    accuracies of the node against all siblings, by the probe and by the model's answers where they
    are known; ``unused`` is their difference. ``best_layer`` separates the node best from that
    sibling. ``folded_into`` is the deepest node below with the same instances.

    Args:
        layers: Representations by layer, shape (instances, features).
        tested: The layer that areas are of; others only compete for ``best_layer``.
        instances: ``id``, ``labels``, what a model ``answers`` (lists; null where it is not known)
            and the ``group`` of each (null throughout: none have one).

    Raises:
        InputError: If no label is a node.
    """
    member = membership(hierarchy, instances["labels"])
    rows = _measured(hierarchy, member, instances, seeds[0])
    own, grouped = instances[rows], instances["group"].null_count() < len(instances)
    groups = own["group"].to_list() if grouped else None
    below = instances_below(hierarchy, csr_array(member[rows]), own["id"].to_list(), groups, seeds)
    if not len(below.tested):
        return TABLES["nodes"].frame()
    z = scaled(layers[tested][rows].astype(np.float64))
    directions = [inverse(z[one])(apart(z[one], below.member[one])) for one in below.fitted]
    places, siblings = np.arange(len(below.tested)), fit_siblings(z, below)
    readable = areas(z, below, directions, np.arange(len(rows)), places)
    of_groups = [len(np.unique(below.unit[one])) if grouped else None for one in below.member.T]
    table = pl.DataFrame(readable, schema=_READABLE, orient="row").with_columns(
        pl.lit(tested).alias("best_layer"),
        pl.Series("groups", of_groups, pl.Int64),
        place=places,
        index=below.tested,
        depth=hierarchy.depth[below.tested],
        instances=below.member.sum(axis=0),
    )
    hardest = _hardest(z, below, siblings)
    table = table.join(hardest, on="place", how="left", maintain_order="left")
    table = table.with_columns(best_separable="separable")
    for name, layer in layers.items():
        if name != tested:
            table = _with_layer(table, name, scaled(layer[rows].astype(np.float64)), below)
    answered = membership(hierarchy, instances["answers"])
    known = own["answers"].is_not_null().to_numpy()
    both, use = (csr_array(member.T), csr_array(answered.T)), []
    for one in table.iter_rows(named=True):
        said = _holds(both[1], one["index"])[rows]
        use.append(_use(below, siblings, one, said, known) | _mistakes(both, below, one))
    names = pl.Series(hierarchy.nodes, dtype=pl.String)
    children, parents = (names.gather(below.tested), names.gather(table["parent_index"]))
    above = [next(iter(hierarchy.parents(node)), None) for node in children]
    sizes = [len(below.families.get(parent, [0])) - 1 for parent in table["parent_index"]]
    return (
        table.hstack(pl.DataFrame(use, schema=_USE))
        .with_columns(
            pl.Series("folded_into", _folded(table, hierarchy), pl.String),
            node=children,
            parent=parents.zip_with(parents.is_not_null(), pl.Series(above, dtype=pl.String)),
            sibling=children.gather(table["other"]),
            siblings=pl.Series(sizes),
        )
        .with_columns(pl.selectors.float().fill_nan(None), title=title_of_node(hierarchy))
        .pipe(TABLES["nodes"].cast)
    )


_FLOAT, _INTEGER = pl.Float64(), pl.Int64()
_SEPARABLE: dict[str, pl.DataType] = dict.fromkeys(
    ("separable", "separable_low", "separable_high"), _FLOAT
)
_READABLE = dict.fromkeys(("readable", "readable_low", "readable_high"), _FLOAT)
_PLACES: dict[str, pl.DataType] = dict.fromkeys(("place", "other", "parent_index"), _INTEGER)
_USE = {name: TABLES["nodes"].columns.types[name]
        for name in ("probed", "predicted", "unused", "unused_low", "unused_high",
                     "sibling_instances", "taken_for_sibling", "sibling_taken_for_it")}  # fmt: skip


def _measured(hierarchy: Hierarchy, member: Sparse, instances: pl.DataFrame, seed: int) -> IntArray:
    """The instances with a place, at most `MOST_INSTANCES`; InputError if there are none."""
    rows, labels = np.flatnonzero(np.diff(member.indptr)), instances["labels"].explode()
    if not len(rows):
        raise InputError(
            f"labels that are nodes of the hierarchy {hierarchy.name} are required",
            found=f"none among {first_cases(labels.drop_nulls().unique(maintain_order=True))}",
        )
    if len(rows) <= MOST_INSTANCES:
        return rows
    keys = unit_keys(instances["id"][rows].to_list(), seed)
    return np.sort(rows[np.argsort(keys, kind="stable")[:MOST_INSTANCES]])


def _separable(
    z: FloatArray, below: Below, fit: Siblings, parent: int, pairs: IntArray
) -> pl.DataFrame:
    """Areas of children of a parent against siblings, both by their places, where there are any."""
    own, other = pairs.T
    found = areas(z, below, fit.directions, below.rows_of[parent], own, other)
    table = pl.DataFrame(found, schema=_SEPARABLE, orient="row")
    parents = pl.lit(parent, pl.Int64)
    return table.with_columns(place=own, other=other, parent_index=parents).drop_nans("separable")


def _hardest(z: FloatArray, below: Below, siblings: Siblings) -> pl.DataFrame:
    """Of each node in a family the sibling, of any parent, that it is hardest to tell from."""
    found = [pl.DataFrame(schema=_SEPARABLE | _PLACES)]
    for parent, family in below.families.items():
        found.append(_separable(z, below, siblings, parent, siblings.closest[parent]))
        parents = pl.lit(parent, pl.Int64)
        found.append(pl.DataFrame({"place": family}).with_columns(parent_index=parents))
    every = pl.concat(found, how="diagonal")
    every = every.sort("separable", "parent_index", "other", nulls_last=True)
    return every.unique("place", keep="first", maintain_order=True)


def _with_layer(table: pl.DataFrame, name: str, z: FloatArray, below: Below) -> pl.DataFrame:
    """The layer takes the place of the best one where it separates a node better, by one split."""
    fit, found = fit_siblings(z, below, halves=2), [pl.DataFrame(schema=_SEPARABLE | _PLACES)]
    for parent in below.families:
        own = table.filter(parent_index=parent).drop_nulls("other")
        pairs = own.select("place", "other").to_numpy()
        found.append(_separable(z, below, fit, parent, pairs))
    of_layer = pl.concat(found, how="diagonal").select("place", area="separable")
    better = pl.col("area") > pl.col("best_separable")
    return table.join(of_layer, on="place", how="left", maintain_order="left").select(
        pl.exclude("area", "best_layer", "best_separable"),
        best_layer=pl.when(better).then(pl.lit(name)).otherwise("best_layer"),
        best_separable=pl.when(better).then("area").otherwise("best_separable"),
    )


def _use(
    below: Below, siblings: Siblings, told: Mapping[str, Any], said: BoolArray, known: BoolArray
) -> dict[str, float]:
    """A node against all siblings, by the probe and by the answers where there are any.

    Args:
        said: Whether the model answers the node, shape (instances,).
        known: Whether its answer is known, shape (instances,).
    """
    node, parent = told["place"], told["parent_index"]
    if told["other"] is None:
        return {}
    family, rows, best = below.families[parent], below.rows_of[parent], siblings.best[parent]
    own = below.member[rows, node]
    theirs = below.member[rows][:, family].any(axis=1) & ~own
    answered = (best == np.searchsorted(family, node)).mean(axis=1)
    probe, right = np.where(own, answered, 1 - answered), said[rows] == own
    found = {"probed": (probe[own].mean() + probe[theirs].mean()) / 2}
    sides = (own & known[rows], theirs & known[rows])
    least = min(side.sum() for side in sides)
    if least < 2:
        return found
    gaps = [(probe - right)[side] for side in sides]
    gap = sum(one.mean() for one in gaps) / 2
    # each variance is at least that of one difference of 1 among its instances
    variances = [max(one.var(ddof=1), 1 / len(one)) / len(one) for one in gaps]
    reach = float(stdtrit(least - 1, (1 + LEVEL) / 2)) * np.sqrt(sum(variances)) / 2
    predicted = sum(right[side].mean() for side in sides) / 2
    ends = {"unused_low": gap - reach, "unused_high": gap + reach}
    return found | {"predicted": predicted, "unused": gap} | ends


def _holds(by_node: Sparse, node: int) -> BoolArray:
    """Whether each instance is below a node, of a matrix with a row a node."""
    held = np.zeros(by_node.shape[1], np.bool_)
    held[row(by_node, node)] = True
    return held


def _mistakes(both: tuple[Sparse, Sparse], below: Below, told: Mapping[str, Any]) -> dict[str, int]:
    """Instances of the sibling alone that were measured; and of all instances of the one and not
    the other those that are answered as the other and not the one, by labels and by answers."""
    if told["other"] is None:
        return {}
    theirs = below.member[:, told["other"]] & ~below.member[:, told["place"]]
    found = {"sibling_instances": int(theirs.sum())}
    ends = told["index"], int(below.tested[told["other"]])
    is_own, is_other, says_own, says_other = (
        _holds(of, one) & ~_holds(of, other) for of in both for one, other in (ends, ends[::-1])
    )
    if both[1].nnz:
        found["taken_for_sibling"] = int((is_own & says_other).sum())
        found["sibling_taken_for_it"] = int((is_other & says_own).sum())
    return found


def _folded(table: pl.DataFrame, hierarchy: Hierarchy) -> list[str | None]:
    """Nodes of a chain with equal instances are named by the deepest of them."""
    instances = dict(table.select("index", "instances").iter_rows())
    deepest: dict[int, int] = {}
    for node in table.sort("depth", descending=True, maintain_order=True)["index"]:
        children = row(hierarchy.child_matrix, node).tolist()
        below = [one for one in children if instances.get(one) == instances[node]]
        if below:
            deepest[node] = deepest.get(min(below), min(below))
    return [hierarchy.nodes[deepest[node]] if node in deepest else None for node in table["index"]]
