"""Data of the report's figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import polars as pl

from audit.results.pictured_pairs import TOP, frequent_pairs, strong_pairs
from audit.results.record import Record

Overview: TypeAlias = dict[str, list[dict[str, Any]]]

TREE_NODES = 150
"""Largest number of nodes in the figure of the hierarchy."""
TREE_SHARE = 0.005
"""Least share of the instances for a node to be in that figure."""
LEAST_RANKED = 30
"""Least number of instances below a parent for its catch-alls to be ranked."""


def overview(run: Record) -> Overview:
    """Data of the figures on the data, by figure, ranked by the numbers that they show.

    Of parents with the same catch-alls, one right below the other, the lowest is ranked.
    """
    ranked = _residuals(run).filter(pl.col("n") >= max(LEAST_RANKED, run.min_cell))
    ranked = ranked.filter(pl.col("k") > run.rounding.width if run.rounding.width else True)
    below = run.edges.join(ranked.select("k", "n", child="parent"), on="child")
    ranked = ranked.join(below, on=["parent", "k", "n"], how="anti")
    ranked = ranked.sort(["k", "parent"], descending=[True, False]).head(TOP)
    return {
        "tree": _tree(run),
        "pairs": strong_pairs(run),
        "frequent_pairs": frequent_pairs(run),
        "residuals": _ranked(_residual_row(row, run) for row in ranked.iter_rows(named=True)),
    }


def _residuals(run: Record) -> pl.DataFrame:
    return run.residuals.filter(pl.col("residual") == "all")


def _ranked(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows by what they show, the largest first; equal ones in the order of their nodes."""
    return sorted(rows, key=lambda row: (-row["instances"], row["node"]))


def _tree(run: Record) -> list[dict[str, Any]]:
    """The nodes nearest the root, each under its first shown parent: a tree, even on a DAG."""
    floor = max(run.min_cell, TREE_SHARE * run.size)
    order, falling = ["depth", "support", "node"], [False, True, False]
    tree = run.nodes.filter(pl.col("support") >= floor).sort(order, descending=falling)
    tree = tree.head(TREE_NODES)
    above = _parents(tree, run.edges)
    below = _residuals(run).filter(pl.col("parent").is_in(tree["node"].implode()))
    shares = dict(below.select("parent", "share").iter_rows())
    return [
        {
            "node": node,
            "title": title,
            "parent": above.get(node),
            "depth": depth,
            "instances": support,
            "residual_share": shares.get(node),
        }
        for node, title, depth, support in tree.select(
            "node", "title", "depth", "support"
        ).iter_rows()
    ]


def _parents(tree: pl.DataFrame, edges: pl.DataFrame) -> dict[str, str]:
    """The first shown parent of each node of the picture."""
    nodes = tree["node"].implode()
    within = edges.filter(pl.col("parent").is_in(nodes) & pl.col("child").is_in(nodes))
    firsts = within.sort("child", "parent").unique("child", keep="first", maintain_order=True)
    return dict(firsts.select("child", "parent").iter_rows())


def _residual_row(row: Mapping[str, Any], run: Record) -> dict[str, Any]:
    return {
        "node": row["parent"],
        "title": run.titles[row["parent"]],
        "instances": row["k"],
        "of": row["n"],
        **{name: row[name] for name in ("share", "low", "high")},
    }
