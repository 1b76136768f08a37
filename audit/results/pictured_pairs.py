"""Pairs of nodes behind the figures: the strongest, and the most frequent of each depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from audit.counting.pair_table import PairTable
from audit.engine.statistics.association import shrunk_ratio
from audit.results.record import Record

TOP = 15
"""Number of lines in a ranked figure."""
DEPTHS = 8
"""Largest number of depths of which the most frequent pairs are told."""
EACH = 3
"""Number of the most frequent pairs that are told of each depth."""
CANDIDATES = 40
"""Number of the most frequent nodes of a depth whose pairs are looked at first."""


def strong_pairs(run: Record) -> list[dict[str, Any]]:
    """The strongest reported pairs, those across branches first, beside what is expected of them.

    They are those with the most instances in excess; of exact counts those first in rank.
    """
    width = run.rounding.width
    found = pl.col("found_rank").is_not_null() & (pl.col("joint") > width)
    excess = pl.col("joint") - pl.col("explained")
    strength = -excess.fill_null(0.0) if width else pl.col("found_rank")
    rows = (
        run.pairs.filter(found)
        .sort(pl.col("relation") != "cross_branch", strength, "a", "b")
        .head(TOP)
        .collect()
    )
    return [
        {**pair_of(row, run), **_titles(run, row), **_judged(row, run)}
        for row in rows.iter_rows(named=True)
    ]


def most_frequent(pairs: PairTable, nodes: pl.DataFrame, width: int) -> pl.DataFrame:
    """The pairs of two nodes of one depth on most instances, the most frequent of each depth first.

    Pairs of the most frequent nodes of a depth are looked at, and of more of them until each other
    node is on fewer instances than the last of the pairs.
    """
    below = (pl.col("depth") > 0) & (pl.col("depth") <= DEPTHS) & (pl.col("support") > width)
    used = nodes.filter(below).sort(["support", "node"], descending=[True, False])
    used = used.select("node", "depth", "support")
    open_, most, settled = used, CANDIDATES, list[pl.DataFrame]()
    while len(open_) or not settled:
        some = open_.group_by("depth", maintain_order=True).head(most)
        near = pairs.within(some["node"]).filter(pl.col("joint") > width)
        best = _most_of_each(near.select("a", "b", "joint"), some.select("node", "depth"))
        last = best.group_by("depth").agg(last=pl.col("joint").min(), rows=pl.len())
        others = open_.join(some, on="node", how="anti").join(last, on="depth", how="left")
        enough = (pl.col("rows") == EACH) & (pl.col("support") < pl.col("last"))
        left = others.filter(~enough.fill_null(False))["depth"].unique()
        settled.append(best.filter(~pl.col("depth").is_in(left.implode())))
        open_ = open_.filter(pl.col("depth").is_in(left.implode()))
        most *= 4
    found = pl.concat(settled).sort("depth", maintain_order=True)
    rows, places = pairs.within(pl.concat([found["a"], found["b"]])), found.drop("joint")
    return places.join(rows.collect(), on=["a", "b"], maintain_order="left")


def _most_of_each(pairs: pl.LazyFrame, depth_of: pl.DataFrame) -> pl.DataFrame:
    """The `EACH` pairs of two nodes of one depth on most instances, of which few are held."""
    found = pl.DataFrame(schema={**depth_of.schema, **pairs.collect_schema()}).drop("node")
    for some in pairs.collect_batches():
        both = some.join(depth_of, left_on="a", right_on="node")
        alike = both.join(depth_of, left_on=["b", "depth"], right_on=["node", "depth"])
        found = (
            pl.concat([found, alike.select(found.columns)])
            .sort(["depth", "joint", "a", "b"], descending=[False, True, False, False])
            .group_by("depth", maintain_order=True)
            .head(EACH)
        )
    return found


def share_of(run: Record, told: int | None) -> float | None:
    """A count as a share of all instances; None where it may be none or all."""
    bins = run.rounding.bins("instances")
    if told is None or not run.size or bins.few(told) or bins.all_but_few(told):
        return None
    return told / run.size


def pair_of(row: Mapping[str, Any], run: Record) -> dict[str, Any]:
    """What is shared of any pair."""
    return {
        **{name: row[name] for name in ("a", "b", "relation")},
        "instances": row["joint"],
        "share": share_of(run, row["joint"]),
        **{name: row[name] for name in ("expected", "lift")},
    }


def _titles(run: Record, row: Mapping[str, Any]) -> dict[str, str | None]:
    return {f"title_{end}": run.titles[row[end]] for end in ("a", "b")}


def frequent_pairs(run: Record) -> list[dict[str, Any]]:
    """The most frequent pairs of each depth, beside what length lets expect of them."""
    rows = most_frequent(run.pair_table, run.nodes, run.rounding.width)
    return [
        {"depth": row["depth"], **pair_of(row, run), **_titles(run, row), **_times(row, run)}
        for row in rows.iter_rows(named=True)
    ]


_OF_LENGTH = ("expected_length", "shrunk_ratio", "ratio_low", "ratio_high")


def _times(row: Mapping[str, Any], run: Record) -> dict[str, float | None]:
    """What length lets expect, in instances, and how many times as many there are, with bounds.

    Nothing where the pair was not judged. Each group counts once for the bounds of exact numbers,
    which are rather wide than narrow.
    """
    if not row["ratio"] or row["ratio"] <= 0:
        return dict.fromkeys(_OF_LENGTH)
    if run.rounding.width:
        return {name: row[name] for name in _OF_LENGTH} | {"shrunk_ratio": row["ratio"]}
    apart = row["joint"] - row["joint_entailed"]
    worth = apart if row["group_sum"] is None else row["group_sum"]
    ratio = row["ratio"]
    times = (float(one[0]) for one in shrunk_ratio(np.array([worth]), np.array([worth / ratio])))
    return dict(zip(_OF_LENGTH, (apart / ratio, *times), strict=True))


_JUDGED = ("expected_length", "explained", "observed", "effective", "shrunk_ratio", "ratio_low",
           "ratio_high")  # fmt: skip


def _judged(row: Mapping[str, Any], run: Record) -> dict[str, float | None]:
    """A pair beside what is expected of it."""
    told = {name: row[name] for name in _JUDGED}
    return told | ({"observed": row["joint"], "effective": None} if run.rounding.width else {})
