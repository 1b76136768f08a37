"""Every measure of explanations by node: means over instances with a label at or below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.analyses.explanations.agreement import MAIN_K, Agreed
from audit.analyses.explanations.lists import codes
from audit.base.dag import IntArray
from audit.base.declared import schema
from audit.base.machine import cores
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.means import (
    Clusters,
    clusters,
    group_means,
    instance_means,
    node_means,
)
from audit.hierarchies.hierarchy import Hierarchy

LEAST_INSTANCES = 11
"""Instances with an example below a node, and with one elsewhere, from which it is tested."""

BRANCHES = schema(
    ("node", pl.String),
    ("depth", pl.Int64),
    ("model method measure", pl.String),
    ("examples instances", pl.Int64),
    (
        "mean low high rest difference difference_low difference_high smallest p_value q_value",
        pl.Float64,
    ),
    ("family", pl.Int64),
)
"""Columns of `by_node`."""


_SLICE = ("model", "method", "measure")


def by_node(values: pl.DataFrame, hierarchy: Hierarchy) -> pl.DataFrame:
    """Means of every measure below each node, compared with the examples elsewhere.

    An example is an instance and a target; its value is the mean over seeds, and, where ``method``
    is null, over methods too. Instances are clusters: their examples are not independent.

    Args:
        values: ``id, target, model, method, measure, value``; null values are left out, and so are
            targets that are not nodes.

    Returns:
        Columns `BRANCHES`, one row per node, model, method and measure with an example below the
        node; ``method`` is null for the mean over methods. ``p_value`` is one-sided, for the node
        being lower than the rest; it is null below `LEAST_INSTANCES` and for nodes above all
        examples. ``q_value`` is adjusted by Benjamini and Hochberg over the ``family``: all nodes
        and models tested at one depth for one measure and method, times the number of depths.
    """
    known = values.filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan()).filter(
        pl.col("target").is_in(hierarchy.nodes)
    )
    each = group_means(known, ["id", "target", *_SLICE], "value")
    pooled = group_means(each, ["id", "target", "model", "measure"], "value")
    both = pl.concat([each, pooled.with_columns(method=pl.lit(None, pl.String))], how="diagonal")
    tables, ordered = [pl.DataFrame(schema=BRANCHES)], both.sort("id", "target", *_SLICE)
    for key, rows in ordered.group_by(*_SLICE, maintain_order=True):
        of_slice = _below_nodes(rows, hierarchy)
        names = (pl.lit(one, pl.String).alias(of) for of, one in zip(_SLICE, key, strict=True))
        tables.append(of_slice.with_columns(names))
    table = pl.concat(tables, how="diagonal_relaxed").drop("q_value", "family")
    return adjusted(table).select(pl.col(name).cast(kind) for name, kind in BRANCHES.items())


def _below_nodes(rows: pl.DataFrame, hierarchy: Hierarchy) -> pl.DataFrame:
    """Means of one slice below each node that has an example."""
    place = {node: index for index, node in enumerate(hierarchy.nodes)}
    target = rows["target"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
    _, cluster = np.unique(rows["id"].to_numpy(), return_inverse=True)
    means = node_means(rows["value"].to_numpy(), cluster, csr_array(hierarchy.closure[target]))
    same = ("examples", "mean", "low", "high", "rest", "difference", "smallest")
    low, high = means.interval
    fewer = np.minimum(means.clusters, means.clusters_outside)
    table = pl.DataFrame(
        {
            "node": hierarchy.nodes,
            "depth": hierarchy.depth,
            "instances": means.clusters,
            **{name: getattr(means, name) for name in same},
            "difference_low": low,
            "difference_high": high,
            "p_value": np.where(fewer >= LEAST_INSTANCES, means.p_less, np.nan),
        }
    )
    return table.filter(pl.col("examples") > 0).with_columns(pl.selectors.float().fill_nan(None))


def adjusted(table: pl.DataFrame) -> pl.DataFrame:
    """With ``q_value`` and ``family``; a chain of nodes is tested once at each of its depths."""
    by, tested = ["measure", "method", "depth"], pl.col("p_value").is_not_null()
    depths = pl.col("depth").filter(tested).n_unique().over("measure", "method")
    return table.with_columns(
        q_value=(q_values(table, by, "p_value") * depths).clip(upper_bound=1.0),
        family=pl.when(tested).then(tested.sum().over(by)).cast(pl.Int64),
    )


def q_values(table: pl.DataFrame, by: list[str], p: str) -> pl.Expr:
    """P values adjusted by Benjamini and Hochberg within families; null where there is none."""
    p_value, family = table[p].fill_null(np.nan).to_numpy(), codes(table.select(by))
    tested, q_value = ~np.isnan(p_value), np.full(len(table), np.nan)
    for one in np.unique(family[tested]):
        own = tested & (family == one)
        q_value[own] = benjamini_hochberg(p_value[own], int(own.sum()))
    return pl.lit(pl.Series(q_value).fill_nan(None))


NODE_RESULTS = schema(
    ("node", pl.String),
    ("depth", pl.Int64),
    ("model method other measure", pl.String),
    ("value low high", pl.Float64),
    ("instances values", pl.Int64),
)
"""Columns of `node_results`."""


def node_results(
    kept: pl.DataFrame,
    node_of: Mapping[str, str],
    hierarchy: Hierarchy,
    measures: Mapping[str, pl.DataFrame],
    found: Agreed,
) -> pl.DataFrame:
    """Means of all measures below each node, by model and method, or pair of methods.

    Args:
        kept: The rows of attributions that count, with their place as ``row``.
        node_of: The node of each target; others are left out.
        measures: Frames of ``row, value`` by the name of a measure.
        found: Agreement by peaks and at the main k of each pair, and of all methods together.

    Returns:
        Columns `NODE_RESULTS`, a row for each node with a value: the mean over instances of the
        mean over an instance's values, its 95 % interval (null below two instances), the number of
        instances and of values. ``other`` is the second method of a pair, else null; ``method`` of
        all methods together is the name of their set.
    """
    node = pl.col("target").replace_strict(node_of, default=None, return_dtype=pl.String)
    own = kept.with_columns(node=node).drop_nulls("node")
    of_rows = (
        _Column(
            {"measure": name},
            own.select("row").join(values, on="row", how="left", maintain_order="left")["value"],
        )
        for name, values in measures.items()
    )
    unit = ["id", "target", "model", "seed"]
    placed = found.units.with_row_index("unit").join(
        own.select("node", *unit).unique(maintain_order=True), on=unit, maintain_order="left"
    )
    at, agreed = placed["unit"].to_numpy(), {"dynamic": found.dynamic, "fixed": found.fixed(MAIN_K)}
    of_units = (
        _Column(
            {
                "method": one["first"] or one["together"],
                "other": one["second"],
                "measure": f"agreement_{rule}",
            },
            pl.Series(values[at, place]),
        )
        for place, one in enumerate(found.sets.iter_rows(named=True))
        for rule, values in agreed.items()
    )
    tables = [
        pl.DataFrame(schema=NODE_RESULTS),
        _by_node(own, of_rows, hierarchy),
        _by_node(placed.select("id", "node", "model"), of_units, hierarchy),
    ]
    table = pl.concat(tables, how="diagonal_relaxed")
    return table.select(pl.col(name).cast(kind) for name, kind in NODE_RESULTS.items())


class _Column(NamedTuple):
    """Values of a measure, one per row of a frame; and what names them."""

    names: Mapping[str, str | None]
    values: pl.Series


def _by_node(frame: pl.DataFrame, columns: Iterator[_Column], hierarchy: Hierarchy) -> pl.DataFrame:
    """Means of columns by node, and by model and method where the frame has them."""
    names = [name for name in ("model", "method") if name in frame.columns]
    kinds = frame.select(names).unique(maintain_order=True).with_row_index("kind")
    kind = frame.join(kinds, on=names, nulls_equal=True, maintain_order="left")["kind"]
    place = {node: index for index, node in enumerate(hierarchy.nodes)}
    target = frame["node"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
    above = csr_array(hierarchy.closure[target])
    row = np.repeat(np.arange(len(frame)), np.diff(above.indptr))
    part = above.indices * np.int64(len(kinds)) + kind.to_numpy().astype(np.int64)[row]
    keys, part = np.unique(part, return_inverse=True)
    instance = frame["id"].rank("dense").to_numpy().astype(np.int64)
    grouped = clusters(part, instance[row])
    parts = _names(keys, kinds, hierarchy)
    with ThreadPoolExecutor(cores()) as threads:
        tables = list(threads.map(lambda one: _means(parts, one, row, grouped), columns))
    return pl.concat(tables, how="diagonal_relaxed") if tables else parts.clear()


def _means(parts: pl.DataFrame, column: _Column, row: IntArray, grouped: Clusters) -> pl.DataFrame:
    values = column.values.cast(pl.Float64).fill_null(np.nan).to_numpy()[row]
    means = instance_means(values[:, None], grouped)
    return parts.with_columns(
        *(pl.lit(value, pl.String).alias(name) for name, value in column.names.items()),
        **means.interval("value", "low", "high"),
        **means.counts("instances", "values"),
    ).filter(pl.col("instances") > 0)


def _names(keys: IntArray, kinds: pl.DataFrame, hierarchy: Hierarchy) -> pl.DataFrame:
    """Node and depth of each part, and the model and method that name it."""
    node, kind = keys // max(len(kinds), 1), keys % max(len(kinds), 1)
    return kinds[kind].select(
        pl.Series("node", [hierarchy.nodes[one] for one in node.tolist()], pl.String),
        pl.Series("depth", hierarchy.depth[node]),
        pl.exclude("kind"),
    )
