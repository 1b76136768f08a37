"""Data of the report's figures, suppressed for sharing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from audit.disclosure import (
    Cell,
    Shown,
    carried,
    in_digits,
    is_small,
    labelled_below,
    least,
    only_residual_below,
    share_left,
    together,
)
from audit.engine.statistics.association import shrunk_ratio
from audit.results.record import Record

Overview: TypeAlias = dict[str, list[dict[str, Any]]]
Published: TypeAlias = Mapping[Cell, int | str]
"""Counts as published, by cell."""
Pair: TypeAlias = tuple[str, str]
"""Two nodes or branches, in node order."""

TREE_NODES = 150
"""Largest number of nodes in the figure of the hierarchy."""
TREE_SHARE = 0.005
"""Least share of the instances for a node to be in that figure."""
TOP = 15
"""Number of lines in a ranked figure."""
DEPTHS = 8
"""Largest number of depths of which the most frequent pairs are told."""
EACH = 5
"""Number of the most frequent pairs that are told of each depth."""
CANDIDATES = 40
"""Number of the most frequent nodes of a depth whose pairs are looked at first."""


@dataclass(frozen=True, eq=False)
class Pictured:
    """Rows of the run's tables that the figures are drawn from, unsuppressed.

    Args:
        branches: The children of the root.
        branch_pairs: Pairs of the largest branches.
        branch_map: The map of branches.
        tree: The upper hierarchy.
        pairs: The strongest reported pairs, those across branches first.
        frequent: The most frequent pairs of each depth, with their ``depth``.
        residuals: Residual use below the nodes of the tree, all kinds of residual nodes together.
        ranked: The parents with the most residual instances.
        min_cell: Smallest count that may be shown.
    """

    branches: pl.DataFrame
    branch_pairs: pl.DataFrame
    branch_map: pl.DataFrame
    tree: pl.DataFrame
    pairs: pl.DataFrame
    frequent: pl.DataFrame
    residuals: pl.DataFrame
    ranked: pl.DataFrame
    min_cell: int

    def counts(self) -> Iterator[tuple[Cell, int]]:
        """Every count of instances in the figures, and those that an expectation would disclose."""
        for node, support in pl.concat(
            [frame.select("node", "support") for frame in (self.branches, self.tree)]
        ).iter_rows():
            yield carried(node), support
        names = sorted(self.branches.head(TOP)["node"])
        for a, b in combinations(names, 2):
            yield together(carried(a), carried(b)), 0
        for frame in (self.branch_pairs, self.pairs, self.frequent):
            for row in frame.iter_rows(named=True):
                yield from _pair_counts(row)
        for frame in (self.residuals, self.ranked):
            for parent, k, n in frame.select("parent", "k", "n").iter_rows():
                yield only_residual_below(parent), k
                yield labelled_below(parent), n

    def shares(self) -> Iterator[tuple[Cell, Cell]]:
        """Pairs of counts of residual use that the hierarchy's figure shows only as a share."""
        ranked = set(self.ranked["parent"])
        for parent in self.residuals["parent"]:
            if parent not in ranked:
                yield only_residual_below(parent), labelled_below(parent)


def _pair_counts(row: Mapping[str, Any]) -> Iterator[tuple[Cell, int]]:
    """Both supports and the joint of a line of the table of pairs."""
    sides = carried(row["a"]), carried(row["b"])
    yield sides[0], row["support_a"]
    yield sides[1], row["support_b"]
    yield together(*sides), row["joint"]


def pictured(run: Record) -> Pictured:
    """Select the rows of a run that the figures show."""
    nodes, pairs, min_cell = run.nodes, run.pairs, run.min_cell
    branches = nodes.filter((pl.col("depth") == 1) & (pl.col("support") > 0))
    branches = branches.sort(["support", "node"], descending=[True, False])
    floor = max(min_cell, TREE_SHARE * run.size)
    tree = nodes.filter(pl.col("support") >= floor).sort(
        ["depth", "support", "node"], descending=[False, True, False]
    )
    tree, throughout = tree.head(TREE_NODES), run.residuals.filter(pl.col("residual") == "all")
    return Pictured(
        branches=branches.head(2 * TOP),
        branch_pairs=_within(pairs, branches.head(TOP)).sort("a", "b").collect(),
        branch_map=run.branch_pairs,
        tree=tree,
        pairs=_strongest(pairs, min_cell),
        frequent=_most_frequent(pairs, nodes, min_cell),
        residuals=throughout.filter(pl.col("parent").is_in(tree["node"].implode())),
        ranked=throughout.filter(pl.col("n") >= max(min_cell, 30))
        .sort(["k", "parent"], descending=[True, False])
        .head(TOP),
        min_cell=min_cell,
    )


def _within(pairs: pl.LazyFrame, nodes: pl.DataFrame) -> pl.LazyFrame:
    """Pairs of some nodes, sought by their supports first: numbers are compared faster than ids."""
    ids, supports = nodes["node"].implode(), nodes["support"].unique().implode()
    near = pairs.filter(pl.all_horizontal(pl.col("support_a", "support_b").is_in(supports)))
    return near.filter(pl.all_horizontal(pl.col("a", "b").is_in(ids)))


def _strongest(pairs: pl.LazyFrame, min_cell: int) -> pl.DataFrame:
    return (
        pairs.filter(pl.col("found_rank").is_not_null() & (pl.col("joint") >= min_cell))
        .sort(pl.col("relation") != "cross_branch", "found_rank")
        .head(TOP)
        .collect()
    )


def _most_frequent(pairs: pl.LazyFrame, nodes: pl.DataFrame, min_cell: int) -> pl.DataFrame:
    """The pairs of two nodes of one depth on most instances, the most frequent of each depth first.

    Pairs of the most frequent nodes are looked at, and of more until no other node is on as many
    instances as the last pair of its depth.
    """
    below = (pl.col("depth") > 0) & (pl.col("depth") <= DEPTHS) & (pl.col("support") > 0)
    used = nodes.filter(below).sort(["support", "node"], descending=[True, False])
    used = used.select("node", "depth", "support")
    depth_of, most = used.select("node", "depth"), CANDIDATES
    while True:
        some = used.group_by("depth", maintain_order=True).head(most)
        found = (
            _within(pairs.filter(pl.col("joint") >= min_cell), some)
            .join(depth_of.lazy(), left_on="a", right_on="node")
            .join(depth_of.lazy(), left_on="b", right_on="node", suffix="_b")
            .filter(pl.col("depth") == pl.col("depth_b"))
            .drop("depth_b")
            .sort(["depth", "joint", "a", "b"], descending=[False, True, False, False])
            .group_by("depth", maintain_order=True)
            .head(EACH)
            .collect()
        )
        last = found.group_by("depth").agg(last=pl.col("joint").min(), rows=pl.len())
        others = used.join(some, on="node", how="anti").join(last, on="depth", how="left")
        enough = (pl.col("rows") == EACH) & (pl.col("support") <= pl.col("last"))
        rare = pl.col("support") < min_cell
        if others.select((enough | rare).fill_null(False).all()).item():
            return found
        most *= 4


def overview(
    shown: Pictured, run: Record, counts: Published, explained: Set[Pair] | None
) -> Overview:
    """Data of the figures, by figure, ranked and suppressed.

    Lists are ranked by published values, so that their order discloses nothing more. The hierarchy
    and the strongest pairs omit rows that are withheld to protect another count, unless other nodes
    of the figure are below them; that a node or pair is missing discloses little.

    Args:
        shown: The rows that the figures show.
        run: The run that they are of.
        counts: Their counts as they may be shown, by cell.
        explained: Reported pairs whose explanation by other finds may be shown; None for all.

    Returns:
        Lists of rows by figure; a list is empty if there is nothing to show.
    """
    branch_of = dict(run.nodes.select("node", "branch").iter_rows())
    between = None if explained is None else _by_branches(explained, branch_of)
    return {
        "branches": _branches(shown, run, counts, between),
        "branch_pairs": list(_branch_pairs(shown, run, counts, between)),
        "tree": _tree(shown, run.edges, counts),
        "pairs": _withheld_last(_strong_pairs(shown.pairs, run, counts, explained)),
        "frequent_pairs": _frequent_pairs(shown.frequent, run, counts),
        "residuals": _ranked(
            _residual_row(row, run.titles, counts, run.min_cell)
            for row in shown.ranked.iter_rows(named=True)
        ),
    }


def _ranked(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows by what they show, the largest first; equal ones stay in order of their nodes."""
    return sorted(
        rows, key=lambda row: (-least(row["instances"]), row.get("node") or (row["a"], row["b"]))
    )


def _withheld_last(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pairs by their strength, those across branches first; where it is withheld, by instances."""

    def place(row: dict[str, Any]) -> tuple[bool, bool, int, Pair]:
        withheld = row["explained"] is None
        size, ends = (-int(row["instances"]), _ends(row)) if withheld else (0, ("", ""))
        return row["relation"] != "cross_branch", withheld, size, ends

    return sorted(rows, key=place)


def _ends(row: Mapping[str, Any]) -> Pair:
    return row["a"], row["b"]


def _by_branches(pairs: Set[Pair], branch_of: Mapping[str, str | None]) -> Counter[Pair]:
    """How many of the pairs lie between each two branches, these in node order."""
    ends = ((branch_of[a] or "", branch_of[b] or "") for a, b in pairs)
    return Counter((min(pair), max(pair)) for pair in ends)


def _branches(
    shown: Pictured, run: Record, counts: Published, between: Counter[Pair] | None
) -> list[dict[str, Any]]:
    rows = shown.branches.select("node", "title").iter_rows(named=True)
    counted = ((row, row["node"], counts[carried(row["node"])]) for row in rows)
    return _ranked(
        {
            **row,
            "instances": count,
            **_share(run, count),
            **_excess_between(shown, node, node, between, hidden=isinstance(count, str)),
        }
        for row, node, count in counted
    )


def _excess_between(
    shown: Pictured, a: str, b: str, between: Counter[Pair] | None, *, hidden: bool
) -> dict[str, Any]:
    """What the scan of pairs found between two branches, or within one.

    How many pairs were reported says no more than that they were. Their instances in excess are
    shown where the numbers of each of them may be. The ratio of label pairs is withheld beside a
    withheld count, and where its digits would tell ``min_cell`` pairs of labels more or fewer.
    """
    ends = pl.col("a").is_in([a, b]) & pl.col("b").is_in([a, b])
    within = pl.col("a") == pl.col("b") if a == b else pl.col("a") != pl.col("b")
    found, excess, observed, expected = next(
        shown.branch_map.filter(ends & within).drop("a", "b").iter_rows(), (0, 0.0, None, None)
    )
    open_ = between is None or between[min(a, b), max(a, b)] == found
    few = 0 if between is None else shown.min_cell * (2 if a == b else 1)
    return {
        "found": found,
        "excess": round(excess) if open_ else None,
        "label_pairs_ratio": None if hidden else _steady_ratio(observed, expected, few),
    }


def _steady_ratio(observed: float | None, expected: float | None, few: int) -> float | None:
    """Label pairs over those expected, where a few more or fewer leave its digits as they are."""
    if observed is None or not expected or observed < few:
        return None
    ratios = {float(f"{(observed + change) / expected:.2g}") for change in (-few, 0, few)}
    return ratios.pop() if len(ratios) == 1 else None


def _share(run: Record, count: Shown, *wholes: Shown) -> dict[str, float | None]:
    """A count as a share of all instances, or what is left of it by what is shown."""
    return share_left(count, run.size, run.release.labelled, run.min_cell, *wholes)


def _branch_pairs(
    shown: Pictured, run: Record, counts: Published, between: Counter[Pair] | None
) -> Iterator[dict[str, Any]]:
    for row in shown.branch_pairs.iter_rows(named=True):
        pair = _pair(row, run, counts)
        hidden = pair["expected"] is None
        yield pair | _excess_between(shown, row["a"], row["b"], between, hidden=hidden)


def _pair(row: Mapping[str, Any], run: Record, counts: Published) -> dict[str, Any]:
    own = [counts[cell] for cell, _ in _pair_counts(row)]
    hidden = any(isinstance(count, str) for count in own)
    *sides, together = own
    return {
        **{name: row[name] for name in ("a", "b", "relation")},
        "instances": together,
        **_share(run, together, *sides),
        **{name: None if hidden else row[name] for name in ("expected", "lift")},
    }


def _strong_pairs(
    pairs: pl.DataFrame, run: Record, counts: Published, explained: Set[Pair] | None
) -> Iterator[dict[str, Any]]:
    """Pairs of nodes whose number of instances may be shown, beside what is expected of them."""
    for row in pairs.iter_rows(named=True):
        pair = _pair(row, run, counts)
        if isinstance(pair["instances"], int):
            few = is_small(row["groups"] or 0, run.min_cell)
            yield {**pair, **_titles(run, row), **_judged(row, pair, explained, few_groups=few)}


def _titles(run: Record, row: Mapping[str, Any]) -> dict[str, str | None]:
    return {f"title_{end}": run.titles[row[end]] for end in ("a", "b")}


def _frequent_pairs(pairs: pl.DataFrame, run: Record, counts: Published) -> list[dict[str, Any]]:
    """The most frequent pairs of each depth, beside what length lets expect of them."""
    rows = [
        {"depth": row["depth"], **pair, **_titles(run, row), **_times(row, pair, run)}
        for row in pairs.iter_rows(named=True)
        if least((pair := _pair(row, run, counts))["instances"]) >= run.min_cell
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


def _tree(shown: Pictured, edges: pl.DataFrame, counts: Published) -> list[dict[str, Any]]:
    """The nodes nearest the root, each under its first shown parent: a tree, even on a DAG."""
    above = _parents(shown.tree, edges)
    holding = set(above.values())
    residuals = shown.residuals.iter_rows(named=True)
    shares = {row["parent"]: _shares(row, counts, shown.min_cell)["share"] for row in residuals}
    rows = [
        {
            "node": node,
            "title": title,
            "parent": above.get(node),
            "depth": depth,
            "instances": counts[carried(node)],
            "residual_share": shares.get(node),
        }
        for node, title, depth in shown.tree.select("node", "title", "depth").iter_rows()
    ]
    kept = [row for row in rows if isinstance(row["instances"], int) or row["node"] in holding]
    return sorted(kept, key=lambda row: (row["depth"], -least(row["instances"]), row["node"]))


def _parents(tree: pl.DataFrame, edges: pl.DataFrame) -> dict[str, str]:
    """The first shown parent of each node of the picture."""
    nodes = tree["node"].implode()
    within = edges.filter(pl.col("parent").is_in(nodes) & pl.col("child").is_in(nodes))
    firsts = within.sort("child", "parent").unique("child", keep="first", maintain_order=True)
    return dict(firsts.select("child", "parent").iter_rows())


def _shares(row: Mapping[str, Any], counts: Published, min_cell: int) -> dict[str, Any]:
    """Residual share and its bounds, null where k or n is not shown.

    What other parents draw it to tells their counts, which are not all shown: in digits.
    """
    own = counts[only_residual_below(row["parent"])], counts[labelled_below(row["parent"])]
    if any(isinstance(count, str) for count in own):
        return dict.fromkeys(("share", "shrunk", "low", "high"))
    drawn = {name: row[name] for name in ("shrunk", "low", "high")}
    return {"share": row["share"], **in_digits(drawn, [(row["n"], row["n"])], min_cell)}


def _residual_row(
    row: Mapping[str, Any], titles: Mapping[str, str | None], counts: Published, min_cell: int
) -> dict[str, Any]:
    return {
        "node": row["parent"],
        "title": titles[row["parent"]],
        "instances": counts[only_residual_below(row["parent"])],
        "of": counts[labelled_below(row["parent"])],
        **_shares(row, counts, min_cell),
    }
