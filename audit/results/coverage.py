"""Coverage: how much of the hierarchy the labels use, and where that use drifts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import polars as pl

from audit.results.parts import DriftPart
from audit.results.record import Record

Coverage: TypeAlias = dict[str, Any]

MOST_USED = 20
"""Number of nodes in the share of the most used nodes."""
BRANCHES = 20
"""Largest number of branches shown: those with the most assignable nodes."""
NODES_A_VALUE = 5
"""Number of nodes shown for each value of a drift column."""


def coverage(run: Record) -> Coverage:
    """Nodes in use by branch, depth of labels, the tail and drift.

    Where counts are told in bins, a node is in use from the second class on, and sums leave the
    others out.

    Returns:
        ``branches, depths, drift`` are lists of rows, ``tail`` is one row.
    """
    nodes = run.nodes.with_columns(used=pl.col("direct") > run.rounding.width)
    drift = run.part(DriftPart)
    return {
        "branches": _branches(nodes, run.titles),
        "depths": _depths(nodes),
        "tail": _tail(nodes, run),
        "drift": [] if drift is None else _drift(drift, run),
    }


def _branches(nodes: pl.DataFrame, titles: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """Branches with several assignable nodes; a node below several counts in its first."""
    by_branch = (
        nodes.filter(pl.col("assignable") & pl.col("branch").is_not_null())
        .group_by("branch")
        .agg(pl.len().alias("assignable"), pl.col("used").sum().alias("in_use"))
        .filter(pl.col("assignable") > 1)
        .sort(["assignable", "branch"], descending=[True, False])
    )
    return [
        {"node": branch, "title": titles[branch], "assignable": assignable, "in_use": in_use}
        for branch, assignable, in_use in by_branch.head(BRANCHES).iter_rows()
    ]


def _depths(nodes: pl.DataFrame) -> list[dict[str, Any]]:
    """Depths of nodes that labels may be at, or are."""
    labels = pl.col("direct").filter("used").sum()
    rows = (
        nodes.filter(pl.col("assignable") | pl.col("used"))
        .group_by("depth")
        .agg(pl.len().alias("nodes"), pl.col("used").sum().alias("in_use"), labels.alias("labels"))
        .sort("depth")
    )
    total = int(rows["labels"].sum())
    return [{**row, "share": row["labels"] / total if total else None} for row in rows.to_dicts()]


def _tail(nodes: pl.DataFrame, run: Record) -> dict[str, Any]:
    direct = nodes.filter("used")["direct"].sort(descending=True)
    total, most = int(direct.sum()), int(direct.head(MOST_USED).sum())
    below = max(run.min_cell, 2)
    return {
        "assignable": int(nodes["assignable"].sum()),
        "in_use": len(direct),
        "rare_below": below,
        "rare": None if run.rounding.width else int((direct < below).sum()),
        "most_used": min(MOST_USED, len(direct)),
        "most_used_share": most / total if total else None,
    }


def _drift(drift: DriftPart, run: Record) -> list[dict[str, Any]]:
    """Each value with the nodes that differ there, those first whose shares differ most."""
    listed = drift.nodes.filter(pl.col("differs") & pl.col("difference").is_not_null())
    listed = listed.sort([pl.col("difference").abs(), "node"], descending=[True, False])
    return [
        _value(row, listed, drift, run)
        for (column,), own in drift.values.group_by("column", maintain_order=True)
        for row in own.iter_rows(named=True)
    ]


def _value(
    row: Mapping[str, Any], listed: pl.DataFrame, drift: DriftPart, run: Record
) -> dict[str, Any]:
    own = {"column": row["column"], "value": row["value"]}
    there, instances = listed.filter(**own), row["instances"]
    compared = not drift.nodes.filter(**own).is_empty()
    large = instances and run.rounding.lists(instances)
    return {
        **own,
        "instances": instances,
        "labels_per_instance": row["labels"] / instances if large else None,
        "differing": len(there) if compared else None,
        "nodes": [
            _node(line, run.titles) for line in there.head(NODES_A_VALUE).iter_rows(named=True)
        ],
    }


def _node(line: Mapping[str, Any], titles: Mapping[str, str | None]) -> dict[str, Any]:
    return {
        "node": line["node"],
        "title": titles[line["node"]],
        "share": line["instances"] / line["of"],
        "elsewhere_share": line["elsewhere"] / line["of_elsewhere"],
        **{name: line[name] for name in ("difference", "low", "high")},
    }
