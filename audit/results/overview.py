"""Data of the report's figures, suppressed for sharing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import polars as pl

from audit.disclosure import (
    Cell,
    carried,
    in_digits,
    labelled_below,
    least,
    only_residual_below,
    together,
)
from audit.results.pictured_pairs import (
    TOP,
    Pair,
    Published,
    frequent_pairs,
    most_frequent,
    pair_counts,
    pair_of,
    share_of,
    strong_pairs,
    strongest,
)
from audit.results.record import Record

Overview: TypeAlias = dict[str, list[dict[str, Any]]]

TREE_NODES = 150
"""Largest number of nodes in the figure of the hierarchy."""
TREE_SHARE = 0.005
"""Least share of the instances for a node to be in that figure."""


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
                yield from pair_counts(row)
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


def pictured(run: Record) -> Pictured:
    """Select the rows of a run that the figures show."""
    nodes, pairs, min_cell = run.nodes, run.pair_table, run.min_cell
    branches = nodes.filter((pl.col("depth") == 1) & (pl.col("support") > 0))
    branches = branches.sort(["support", "node"], descending=[True, False])
    floor = max(min_cell, TREE_SHARE * run.size)
    tree = nodes.filter(pl.col("support") >= floor).sort(
        ["depth", "support", "node"], descending=[False, True, False]
    )
    tree, throughout = tree.head(TREE_NODES), run.residuals.filter(pl.col("residual") == "all")
    return Pictured(
        branches=branches.head(2 * TOP),
        branch_pairs=pairs.within(branches.head(TOP)["node"]).sort("a", "b").collect(),
        branch_map=run.branch_pairs,
        tree=tree,
        pairs=strongest(pairs.frame, min_cell),
        frequent=most_frequent(pairs, nodes, min_cell),
        residuals=throughout.filter(pl.col("parent").is_in(tree["node"].implode())),
        ranked=throughout.filter(pl.col("n") >= max(min_cell, 30))
        .sort(["k", "parent"], descending=[True, False])
        .head(TOP),
        min_cell=min_cell,
    )


def overview(
    shown: Pictured, run: Record, counts: Published, explained: Set[Pair] | None
) -> Overview:
    """Data of the figures, by figure, ranked and suppressed.

    Lists are ranked by published values, so that their order discloses nothing more. The hierarchy
    and the strongest pairs omit rows that are withheld to protect another count, unless other nodes
    of the figure are below them; that a node or pair is missing discloses little.

    Args:
        counts: Counts of the rows as they may be shown, by cell.
    """
    branch_of = dict(run.nodes.select("node", "branch").iter_rows())
    between = None if explained is None else _by_branches(explained, branch_of)
    return {
        "branches": _branches(shown, run, counts, between),
        "branch_pairs": list(_branch_pairs(shown, run, counts, between)),
        "tree": _tree(shown, run.edges, counts),
        "pairs": strong_pairs(shown.pairs, run, counts, explained),
        "frequent_pairs": frequent_pairs(shown.frequent, run, counts),
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
            **share_of(run, count),
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


def _branch_pairs(
    shown: Pictured, run: Record, counts: Published, between: Counter[Pair] | None
) -> Iterator[dict[str, Any]]:
    for row in shown.branch_pairs.iter_rows(named=True):
        pair = pair_of(row, run, counts)
        hidden = pair["expected"] is None
        yield pair | _excess_between(shown, row["a"], row["b"], between, hidden=hidden)


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
