"""The few numbers behind the report's pictures, suppressed like all that is shared."""

from __future__ import annotations

from typing import Any, TypeAlias

import polars as pl

from audit.disclosure import shown_count

Overview: TypeAlias = dict[str, list[dict[str, Any]]]

TREE_NODES = 150
"""How many nodes the picture of the hierarchy shows at most."""
TREE_SHARE = 0.005
"""Share of the instances below which a node is not in the picture."""
TOP = 15
"""Lines of a ranked picture."""


def overview(
    nodes: pl.DataFrame,
    edges: pl.DataFrame,
    pairs: pl.LazyFrame,
    residuals: pl.DataFrame,
    *,
    instances: int,
    min_cell: int,
) -> Overview:
    """Branches, branch pairs, the upper hierarchy, frequent pairs and residual shares.

    Args:
        nodes: The run's nodes.
        edges: The run's edges.
        pairs: The run's pairs.
        residuals: The run's residuals, all groups together.
        instances: Number of instances.
        min_cell: Smallest count that may be shown.

    Returns:
        Lists of rows by the picture they belong to; a list is empty where there is nothing to show.
    """
    return {
        "branches": _branches(nodes, instances, min_cell),
        "branch_pairs": _branch_pairs(nodes, pairs, instances, min_cell),
        "tree": _tree(nodes, edges, residuals, instances, min_cell),
        "pairs": _frequent_pairs(nodes, pairs, instances, min_cell),
        "residuals": _residual_shares(nodes, residuals, instances, min_cell),
    }


def _branches(nodes: pl.DataFrame, instances: int, min_cell: int) -> list[dict[str, Any]]:
    rows = nodes.filter((pl.col("depth") == 1) & (pl.col("support") > 0))
    rows = rows.sort(["support", "node"], descending=[True, False]).head(2 * TOP)
    return [
        {
            "node": node,
            "title": title,
            "instances": shown_count(support, [instances], min_cell),
            "share": _share(support, instances, min_cell),
        }
        for node, title, support in rows.select("node", "title", "support").iter_rows()
    ]


def _share(part: int, whole: int, min_cell: int) -> float | None:
    hidden = isinstance(shown_count(part, [whole], min_cell), str)
    return None if hidden or not whole else part / whole


def _branch_pairs(
    nodes: pl.DataFrame, pairs: pl.LazyFrame, instances: int, min_cell: int
) -> list[dict[str, Any]]:
    shown_branches = nodes.filter((pl.col("depth") == 1) & (pl.col("support") > 0))
    names = shown_branches.sort(["support", "node"], descending=[True, False]).head(TOP)["node"]
    rows = (
        pairs.filter(pl.col("a").is_in(names.implode()) & pl.col("b").is_in(names.implode()))
        .sort("a", "b")
        .collect()
    )
    return [_pair(row, instances, min_cell) for row in rows.iter_rows(named=True)]


def _pair(row: dict[str, Any], instances: int, min_cell: int) -> dict[str, Any]:
    margins = [instances, row["support_a"], row["support_b"]]
    joint = shown_count(row["joint"], margins, min_cell)
    hidden = isinstance(joint, str) or any(
        isinstance(shown_count(margin, [instances], min_cell), str) for margin in margins[1:]
    )
    return {
        "a": row["a"],
        "b": row["b"],
        "relation": row["relation"],
        "instances": joint,
        "share": None if hidden else row["joint"] / instances,
        "expected": None if hidden else row["expected"],
        "lift": None if hidden else row["lift"],
    }


def _frequent_pairs(
    nodes: pl.DataFrame, pairs: pl.LazyFrame, instances: int, min_cell: int
) -> list[dict[str, Any]]:
    direct = nodes.filter(pl.col("direct") > 0)["node"]
    rows = (
        pairs.filter(
            (pl.col("relation") != "ancestor")
            & pl.col("a").is_in(direct.implode())
            & pl.col("b").is_in(direct.implode())
            & (pl.col("joint") >= min_cell)
        )
        .sort(["joint", "a", "b"], descending=[True, False, False])
        .head(TOP)
        .collect()
    )
    titles = dict(nodes.select("node", "title").iter_rows())
    return [
        {
            **_pair(row, instances, min_cell),
            "title_a": titles[row["a"]],
            "title_b": titles[row["b"]],
        }
        for row in rows.iter_rows(named=True)
    ]


def _tree(
    nodes: pl.DataFrame,
    edges: pl.DataFrame,
    residuals: pl.DataFrame,
    instances: int,
    min_cell: int,
) -> list[dict[str, Any]]:
    """The nodes nearest the root, each under its first shown parent: a tree, even on a DAG."""
    floor = max(min_cell, TREE_SHARE * instances)
    kept = (
        nodes.filter(pl.col("support") >= floor)
        .sort(["depth", "support", "node"], descending=[False, True, False])
        .head(TREE_NODES)
    )
    parents = dict(
        edges.filter(pl.col("parent").is_in(kept["node"].implode()))
        .sort("child", "parent")
        .unique("child", keep="first", maintain_order=True)
        .iter_rows()
    )
    shares = {
        row["parent"]: row["share"]
        for row in residuals.filter(pl.col("residual") == "all").iter_rows(named=True)
        if not _hidden(row, instances, min_cell)
    }
    return [
        {
            "node": node,
            "title": title,
            "parent": parents.get(node),
            "depth": depth,
            "instances": shown_count(support, [instances], min_cell),
            "residual_share": shares.get(node),
        }
        for node, title, depth, support in kept.select(
            "node", "title", "depth", "support"
        ).iter_rows()
    ]


def _hidden(row: dict[str, Any], instances: int, min_cell: int) -> bool:
    """Whether the share of a residual row would tell a small cell, of k or of n."""
    published = (
        shown_count(row["k"], [row["n"]], min_cell),
        shown_count(row["n"], [instances], min_cell),
    )
    return any(isinstance(count, str) for count in published)


def _residual_shares(
    nodes: pl.DataFrame, residuals: pl.DataFrame, instances: int, min_cell: int
) -> list[dict[str, Any]]:
    titles = dict(nodes.select("node", "title").iter_rows())
    rows = (
        residuals.filter((pl.col("residual") == "all") & (pl.col("n") >= max(min_cell, 30)))
        .sort(["k", "parent"], descending=[True, False])
        .head(TOP)
    )
    shown_rows = []
    for row in rows.iter_rows(named=True):
        hidden = _hidden(row, instances, min_cell)
        shown_rows.append(
            {
                "node": row["parent"],
                "title": titles[row["parent"]],
                "instances": shown_count(row["k"], [row["n"]], min_cell),
                "of": shown_count(row["n"], [instances], min_cell),
                "share": None if hidden else row["share"],
                "low": None if hidden else row["low"],
                "high": None if hidden else row["high"],
            }
        )
    return shown_rows
