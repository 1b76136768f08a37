"""Results of explanations by node of the hierarchy: the labels at and below each node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, IntArray
from audit.base.schemas import schema
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.means import NodeMeans, group_means, node_means
from audit.hierarchies.hierarchy import Hierarchy

LEAST_INSTANCES = 10
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
        hierarchy: The hierarchy of the targets.

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
    tables = list(_tables(both.sort("id", "target", *_SLICE), hierarchy))
    table = pl.concat(tables) if tables else pl.DataFrame(schema=BRANCHES)
    return adjusted(table).select(pl.col(name).cast(kind) for name, kind in BRANCHES.items())


def _tables(each: pl.DataFrame, hierarchy: Hierarchy) -> Iterator[pl.DataFrame]:
    place = {node: index for index, node in enumerate(hierarchy.nodes)}
    for key, rows in each.group_by(*_SLICE, maintain_order=True):
        target = rows["target"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        _, cluster = np.unique(rows["id"].to_numpy(), return_inverse=True)
        means = node_means(rows["value"].to_numpy(), cluster, csr_array(hierarchy.closure[target]))
        yield _table(means, hierarchy, key)


def _table(means: NodeMeans, hierarchy: Hierarchy, key: Sequence[object]) -> pl.DataFrame:
    there = np.flatnonzero(means.examples)
    low, high = means.interval
    fewer = np.minimum(means.clusters, means.clusters_outside)
    p_value = np.where(fewer >= LEAST_INSTANCES, means.p_less, np.nan)
    columns: dict[str, FloatArray | IntArray] = {
        "depth": hierarchy.depth,
        "examples": means.examples,
        "instances": means.clusters,
        "mean": means.mean,
        "low": means.low,
        "high": means.high,
        "rest": means.rest,
        "difference": means.difference,
        "difference_low": low,
        "difference_high": high,
        "smallest": means.smallest,
        "p_value": p_value,
    }
    names = pl.Series("node", [hierarchy.nodes[index] for index in there.tolist()], pl.String)
    table = pl.DataFrame([names, *(pl.Series(n, c[there]) for n, c in columns.items())])
    labels = dict(zip(_SLICE, key, strict=True))
    return table.with_columns(
        *(pl.lit(value, pl.String).alias(name) for name, value in labels.items()),
        pl.selectors.float().fill_nan(None),
    )


def adjusted(table: pl.DataFrame) -> pl.DataFrame:
    """With ``q_value`` and ``family``; a chain of nodes is tested once at each of its depths.

    Args:
        table: ``node, depth, model, method, measure, p_value``.
    """
    tested = table.filter(pl.col("p_value").is_not_null())
    depths = tested.group_by("measure", "method").agg(pl.col("depth").n_unique().alias("depths"))
    families = [
        rows.with_columns(
            pl.Series("q_value", benjamini_hochberg(rows["p_value"].to_numpy(), len(rows))),
            pl.lit(len(rows)).alias("family"),
        )
        for _, rows in tested.group_by("measure", "method", "depth", maintain_order=True)
    ]
    keys = ("node", *_SLICE)
    if not families:
        return table.with_columns(
            pl.lit(None, pl.Float64).alias("q_value"), pl.lit(None, pl.Int64).alias("family")
        )
    adjusted = (
        pl.concat(families)
        .join(depths, on=["measure", "method"], nulls_equal=True)
        .select(
            *keys,
            (pl.col("q_value") * pl.col("depths")).clip(upper_bound=1.0),
            pl.col("family").cast(pl.Int64),
        )
    )
    return table.join(adjusted, on=keys, how="left", nulls_equal=True, maintain_order="left")
