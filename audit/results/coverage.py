"""Coverage: how much of the hierarchy the labels use, and where that use drifts."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, TypeAlias

import polars as pl

from audit.disclosure import Told, is_small, shown_parts
from audit.policy.policy import MIN_CELL_OF_PERSONS
from audit.results.drift_lines import NODES_A_VALUE, differing
from audit.results.parts import DriftPart
from audit.results.value_cells import LABELS, WITH

Coverage: TypeAlias = dict[str, Any]

MOST_USED = 20
"""Number of nodes in the share of the most used nodes."""
BRANCHES = 20
"""Largest number of branches shown: those with the most assignable nodes."""


def coverage(
    nodes: pl.DataFrame,
    drift: DriftPart | None,
    *,
    min_cell: int,
    told: Told = MappingProxyType({}),
) -> Coverage:
    """Nodes in use by branch, depth of labels, the tail and drift, suppressed for sharing.

    Returns:
        ``branches, depths, drift`` are lists of rows, ``tail`` is one row. A count is null if it
        would disclose a small count beside it.
    """
    return {
        "branches": _branches(nodes),
        "depths": _depths(nodes, min_cell),
        "tail": _tail(nodes, min_cell),
        "drift": [] if drift is None else _drift(nodes, drift, min_cell, told),
    }


def _branches(nodes: pl.DataFrame) -> list[dict[str, Any]]:
    """Branches with several assignable nodes; a node below several counts in its first."""
    titles = dict(nodes.select("node", "title").iter_rows())
    used = pl.col("direct") > 0
    by_branch = (
        nodes.filter(pl.col("assignable") & pl.col("branch").is_not_null())
        .group_by("branch")
        .agg(pl.len().alias("assignable"), used.sum().alias("in_use"))
        .filter(pl.col("assignable") > 1)
        .sort(["assignable", "branch"], descending=[True, False])
    )
    return [
        {"node": branch, "title": titles[branch], "assignable": assignable, "in_use": in_use}
        for branch, assignable, in_use in by_branch.head(BRANCHES).iter_rows()
    ]


def _depths(nodes: pl.DataFrame, min_cell: int) -> list[dict[str, Any]]:
    """Depths of nodes that labels may be at, or are."""
    used = pl.col("direct") > 0
    rows = (
        nodes.filter(pl.col("assignable") | used)
        .group_by("depth")
        .agg(pl.len().alias("nodes"), used.sum().alias("in_use"), pl.col("direct").sum())
        .sort("depth")
    )
    total = int(rows["direct"].sum())
    shown = shown_parts(rows["direct"].to_list(), min_cell)
    return [
        {
            "depth": depth,
            "nodes": n,
            "in_use": in_use,
            "labels": labels,
            "share": labels / total if isinstance(labels, int) and total else None,
        }
        for (depth, n, in_use, _), labels in zip(rows.iter_rows(), shown, strict=True)
    ]


def _tail(nodes: pl.DataFrame, min_cell: int) -> dict[str, Any]:
    direct = nodes.filter(pl.col("direct") > 0)["direct"].sort(descending=True)
    total, most = int(direct.sum()), int(direct.head(MOST_USED).sum())
    below = max(min_cell, 2)
    return {
        "assignable": int(nodes["assignable"].sum()),
        "in_use": len(direct),
        "rare_below": below,
        "rare": int((direct < below).sum()),
        "most_used": min(MOST_USED, len(direct)),
        "most_used_share": most / total if total and not is_small(total - most, min_cell) else None,
    }


def _drift(
    nodes: pl.DataFrame, drift: DriftPart, min_cell: int, told: Told
) -> list[dict[str, Any]]:
    judged, those = drift.nodes, differing(drift, min_cell)
    titles = dict(nodes.select("node", "title").iter_rows())
    rows = list[dict[str, Any]]()
    for (column,), own in drift.values.group_by("column", maintain_order=True):
        for row in own.iter_rows(named=True):
            value = column, row["value"]
            instances, labels = told[value], told[*value, LABELS]
            there = those.filter(column=column, value=row["value"])
            there = there if isinstance(instances, int) else there.sort("node")
            compared = not judged.filter(column=column, value=row["value"]).is_empty()
            if min_cell > MIN_CELL_OF_PERSONS and not isinstance(instances, int):
                there, compared = there.clear(), False
            rows.append(
                {
                    "column": column,
                    "value": row["value"],
                    "instances": instances,
                    "labels_per_instance": labels / instances
                    if isinstance(instances, int) and isinstance(labels, int)
                    else None,
                    "differing": len(there) if compared else None,
                    "nodes": [
                        _node(line, titles, told.get((*value, WITH, line["node"])) is not None)
                        for line in there.head(NODES_A_VALUE).iter_rows(named=True)
                    ],
                }
            )
    return rows


def _node(line: dict[str, Any], titles: dict[str, str | None], known: bool) -> dict[str, Any]:
    shares = {
        "share": line["instances"] / line["of"],
        "elsewhere_share": line["elsewhere"] / line["of_elsewhere"],
        **{name: line[name] for name in ("difference", "low", "high")},
    }
    return {
        "node": line["node"],
        "title": titles[line["node"]],
        **{name: value if known else None for name, value in shares.items()},
    }
