"""Pairs of nodes behind the figures: the strongest, and the most frequent of each depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from audit.counting.pair_table import PairTable
from audit.disclosure import Cell, Shown, carried, is_small, least, share_left, together
from audit.engine.statistics.association import shrunk_ratio
from audit.results.record import Record

Published: TypeAlias = Mapping[Cell, int | str]
"""Counts as published, by cell."""
Pair: TypeAlias = tuple[str, str]
"""Two nodes or branches, in node order."""

TOP = 15
"""Number of lines in a ranked figure."""
DEPTHS = 8
"""Largest number of depths of which the most frequent pairs are told."""
EACH = 3
"""Number of the most frequent pairs that are told of each depth."""
CANDIDATES = 40
"""Number of the most frequent nodes of a depth whose pairs are looked at first."""


def pair_counts(row: Mapping[str, Any]) -> Iterator[tuple[Cell, int]]:
    """Both supports and the joint of a line of the table of pairs."""
    sides = carried(row["a"]), carried(row["b"])
    yield sides[0], row["support_a"]
    yield sides[1], row["support_b"]
    yield together(*sides), row["joint"]


def strongest(pairs: pl.LazyFrame, min_cell: int) -> pl.DataFrame:
    """The strongest reported pairs, those across branches first."""
    return (
        pairs.filter(pl.col("found_rank").is_not_null() & (pl.col("joint") >= min_cell))
        .sort(pl.col("relation") != "cross_branch", "found_rank")
        .head(TOP)
        .collect()
    )


def most_frequent(pairs: PairTable, nodes: pl.DataFrame, min_cell: int) -> pl.DataFrame:
    """The pairs of two nodes of one depth on most instances, the most frequent of each depth first.

    Pairs of the most frequent nodes of a depth are looked at, and of more of them until each other
    node is on fewer instances than the last of the pairs.
    """
    below = (pl.col("depth") > 0) & (pl.col("depth") <= DEPTHS) & (pl.col("support") > 0)
    used = nodes.filter(below).sort(["support", "node"], descending=[True, False])
    used = used.select("node", "depth", "support")
    open_, most, settled = used, CANDIDATES, list[pl.DataFrame]()
    while len(open_) or not settled:
        some = open_.group_by("depth", maintain_order=True).head(most)
        near = pairs.within(some["node"]).filter(pl.col("joint") >= min_cell)
        best = _most_of_each(near.select("a", "b", "joint"), some.select("node", "depth"))
        last = best.group_by("depth").agg(last=pl.col("joint").min(), rows=pl.len())
        others = open_.join(some, on="node", how="anti").join(last, on="depth", how="left")
        enough = (pl.col("rows") == EACH) & (pl.col("support") < pl.col("last"))
        rare = pl.col("support") < min_cell
        left = others.filter(~(enough | rare).fill_null(False))["depth"].unique()
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


def _ends(row: Mapping[str, Any]) -> Pair:
    return row["a"], row["b"]


def share_of(run: Record, count: Shown, *wholes: Shown) -> dict[str, float | None]:
    """A count as a share of all instances, or what is left of it by what is shown."""
    return share_left(count, run.size, run.release.labelled, run.min_cell, *wholes)


def pair_of(row: Mapping[str, Any], run: Record, counts: Published) -> dict[str, Any]:
    """What is shown of any pair."""
    own = [counts[cell] for cell, _ in pair_counts(row)]
    hidden = any(isinstance(count, str) for count in own)
    *sides, together = own
    return {
        **{name: row[name] for name in ("a", "b", "relation")},
        "instances": together,
        **share_of(run, together, *sides),
        **{name: None if hidden else row[name] for name in ("expected", "lift")},
    }


def strong_pairs(
    pairs: pl.DataFrame, run: Record, counts: Published, explained: Set[Pair] | None
) -> list[dict[str, Any]]:
    """Pairs of nodes whose number of instances may be shown, beside what is expected of them.

    By their strength, those across branches first; where it is withheld, by instances.
    """

    def place(row: dict[str, Any]) -> tuple[bool, bool, int, Pair]:
        withheld = row["explained"] is None
        size, ends = (-int(row["instances"]), _ends(row)) if withheld else (0, ("", ""))
        return row["relation"] != "cross_branch", withheld, size, ends

    return sorted(_strong_rows(pairs, run, counts, explained), key=place)


def _strong_rows(
    pairs: pl.DataFrame, run: Record, counts: Published, explained: Set[Pair] | None
) -> Iterator[dict[str, Any]]:
    for row in pairs.iter_rows(named=True):
        pair = pair_of(row, run, counts)
        if isinstance(pair["instances"], int):
            few = is_small(row["groups"] or 0, run.min_cell)
            yield {**pair, **_titles(run, row), **_judged(row, pair, explained, few_groups=few)}


def _titles(run: Record, row: Mapping[str, Any]) -> dict[str, str | None]:
    return {f"title_{end}": run.titles[row[end]] for end in ("a", "b")}


def frequent_pairs(pairs: pl.DataFrame, run: Record, counts: Published) -> list[dict[str, Any]]:
    """The most frequent pairs of each depth, beside what length lets expect of them."""
    rows = [
        {"depth": row["depth"], **pair, **_titles(run, row), **_times(row, pair, run)}
        for row in pairs.iter_rows(named=True)
        if least((pair := pair_of(row, run, counts))["instances"]) >= run.min_cell
    ]
    return sorted(rows, key=lambda row: (row["depth"], -least(row["instances"]), _ends(row)))


_OF_LENGTH = ("expected_length", "shrunk_ratio", "ratio_low", "ratio_high")


def _times(row: Mapping[str, Any], pair: Mapping[str, Any], run: Record) -> dict[str, float | None]:
    """What length lets expect, in instances, and how many times as many there are, with bounds.

    Nothing where the pair was not judged or a count of it is withheld, where one label can carry
    both and small cells are withheld (as for the strongest pairs), and where the groups that it is
    in may be few. Each group counts once for the bounds, which are rather wide than narrow.
    """
    apart, ratio = row["joint"] - row["joint_entailed"], row["ratio"]
    hidden = pair["expected"] is None or (row["joint_entailed"] and run.min_cell > 1)
    worth = apart if row["group_sum"] is None else row["group_sum"]
    if not ratio or hidden or worth < run.min_cell:
        return dict.fromkeys(_OF_LENGTH)
    times = (float(one[0]) for one in shrunk_ratio(np.array([worth]), np.array([worth / ratio])))
    return dict(zip(_OF_LENGTH, (apart / ratio, *times), strict=True))


_JUDGED = ("explained", "observed", "effective", "shrunk_ratio", "ratio_low", "ratio_high")


def _judged(
    row: Mapping[str, Any],
    pair: Mapping[str, Any],
    explained: Set[Pair] | None,
    *,
    few_groups: bool,
) -> dict[str, float | None]:
    """A pair beside what is expected of it; null where that is withheld.

    Where one label can carry both nodes, the ratio would tell how many instances have no other:
    a count that stands nowhere else. What other finds explain of it tells their counts. What the
    instances of few groups weigh tells how many groups they are in.
    """
    hidden = pair["expected"] is None or (row["joint_entailed"] and explained is not None)
    hidden = hidden or few_groups
    alone = row["explained"] == row["expected_length"]
    open_ = not hidden and (alone or explained is None or (row["a"], row["b"]) in explained)
    return {
        "expected_length": None if hidden else row["expected_length"],
        **{name: row[name] if open_ else None for name in _JUDGED},
    }
