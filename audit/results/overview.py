"""Tables of the view: parts of the hierarchy in use, catch-alls, pairs, and those of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from audit.counting.pair_table import PairTable
from audit.engine.statistics.association import shrunk_ratio
from audit.results.findings import OF_MODEL, SEVERITIES
from audit.results.parts import DriftPart
from audit.results.record import Record
from audit.results.shared_tables import shared_rows
from audit.results.tables import MODEL

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = list[dict[str, Any]]

TREE_NODES = 150
"""Largest number of nodes in the figure of the hierarchy."""
TREE_SHARE = 0.005
"""Least share of the instances for a node to be in that figure."""
LEAST_RANKED = 30
"""Least number of instances below a parent for its catch-alls to be ranked."""
TOP = 15
"""Number of lines in a ranked figure."""
BRANCHES = 20
"""Largest number of branches shown: those with the most assignable nodes."""
DEPTHS = 8
"""Largest number of depths of which the most frequent pairs are told."""
EACH = 3
"""Number of the most frequent pairs that are told of each depth."""
CANDIDATES = 40
"""Number of the most frequent nodes of a depth whose pairs are looked at first."""
MOST_CONFUSED = 15
"""Number of most confused pairs that get an interval and are shown in reports."""
_PAIR = ("a", "b", "title_a", "title_b", "relation")


def overview(run: Record, checks: Sequence[Row]) -> dict[str, Any]:
    """Tables by name, ranked by the numbers that they show; those of a model are empty without one.

    ``checks`` of the view colour the tree. Where counts are told in bins, a node is in use from the
    second class on, and sums leave the others out.
    """
    nodes = run.nodes.with_columns(used=pl.col("direct") > run.rounding.width)
    frames = {} if run.model is None else run.model.frames
    of_model = {
        name: shared_rows(frames[name], MODEL[name], run.rounding) if frames else []
        for name in MODEL
    }
    return {
        "tree": _with_found(_tree(run), checks, run.edges),
        "pairs": _strong_pairs(run),
        "frequent_pairs": _frequent_pairs(run),
        "residuals": _residuals(run),
        "coverage": {
            "branches": _branches(nodes),
            "depths": _depths(nodes),
            "drift": [*_drift(run)],
        },
        **of_model,
        "data_beside_model": _confused(run),
    }


def _titled(rows: pl.DataFrame, run: Record, **columns: str) -> pl.DataFrame:
    """Rows with titles of nodes: ``columns`` name each new column, and that with the ids."""
    for title, node in columns.items():
        titles = run.nodes.select(pl.col("node").alias(node), pl.col("title").alias(title))
        rows = rows.join(titles, on=node, how="left", maintain_order="left")
    return rows


def _rate(k: int | None, n: int | None, run: Record) -> float | None:
    """A count as a share of instances; None where it may be none or all of them, or n is 0."""
    bins = run.rounding.bins("instances")
    return None if k is None or not n or bins.few(k) or bins.all_but_few(k) else k / n


def _tree(run: Record) -> Rows:
    """Up to `TREE_NODES` nodes on enough instances, from the root, each under a shown parent."""
    floor = max(run.min_cell, TREE_SHARE * run.size)
    order, falling = ["depth", "support", "node"], [False, True, False]
    tree = run.nodes.filter(pl.col("support") >= floor).sort(order, descending=falling)
    tree = tree.head(TREE_NODES)
    nodes = tree["node"].implode()
    within = run.edges.filter(pl.col("parent").is_in(nodes) & pl.col("child").is_in(nodes))
    firsts = within.sort("child", "parent").unique("child", keep="first")
    shares = run.residuals.filter(residual="all").select("parent", residual_share="share")
    return (
        tree.join(firsts, left_on="node", right_on="child", how="left", maintain_order="left")
        .join(shares, left_on="node", right_on="parent", how="left", maintain_order="left")
        .select("node", "title", "parent", "depth", "residual_share", instances="support")
        .to_dicts()
    )


def _with_found(tree: Rows, checks: Sequence[Row], edges: pl.DataFrame) -> Rows:
    """The tree, each node with the worst severity of the data's findings it is part of.

    A finding is found at its first node and at all above it; ``found`` is null where none is. Those
    of a model, and waived ones, do not count.
    """
    worst: dict[str, str] = {}
    for severity in reversed(SEVERITIES):
        level = {
            one["nodes"][0]["id"]
            for check in checks
            if check["name"] not in OF_MODEL
            for one in check["findings"]
            if one["nodes"] and one["waiver"] is None and one["severity"] == severity
        }
        while level:
            worst |= dict.fromkeys(level, severity)
            above = edges.filter(pl.col("child").is_in([*level]))["parent"]
            level = {node for node in above if worst.get(node) != severity}
    return [{**row, "found": worst.get(row["node"])} for row in tree]


def _residuals(run: Record) -> Rows:
    """Parents by instances with catch-alls alone below, without those with a child of same k, n."""
    least = max(LEAST_RANKED, run.min_cell)
    ranked = run.residuals.filter(
        pl.col("residual") == "all", pl.col("n") >= least, pl.col("k") > (run.rounding.width or -1)
    )
    below = run.edges.join(ranked.select("k", "n", child="parent"), on="child")
    ranked = ranked.join(below, on=["parent", "k", "n"], how="anti")
    ranked = ranked.sort(["k", "parent"], descending=[True, False]).head(TOP)
    rows = ranked.select("share", "low", "high", node="parent", instances="k", of="n")
    return _titled(rows, run, title="node").to_dicts()


def _branches(nodes: pl.DataFrame) -> Rows:
    """Branches with several assignable nodes; a node below several counts in its first."""
    titles = nodes.select("title", branch="node")
    return (
        nodes.filter(pl.col("assignable") & pl.col("branch").is_not_null())
        .group_by("branch")
        .agg(assignable=pl.len(), in_use=pl.col("used").sum())
        .filter(pl.col("assignable") > 1)
        .sort(["assignable", "branch"], descending=[True, False])
        .head(BRANCHES)
        .join(titles, on="branch", how="left", maintain_order="left")
        .rename({"branch": "node"})
        .to_dicts()
    )


def _depths(nodes: pl.DataFrame) -> Rows:
    """By depth the nodes that labels may be at, or are; those in use; and their labels."""
    labels, total = pl.col("direct").filter("used").sum(), pl.col("labels").sum()
    return (
        nodes.filter(pl.col("assignable") | pl.col("used"))
        .group_by("depth")
        .agg(nodes=pl.len(), in_use=pl.col("used").sum(), labels=labels)
        .sort("depth")
        .with_columns(share=pl.when(total > 0).then(pl.col("labels") / total))
        .to_dicts()
    )


def _drift(run: Record) -> Iterator[dict[str, Any]]:
    """Each value of a drift column with the number of nodes that differ there."""
    if (drift := run.part(DriftPart)) is None:
        return
    differs = pl.col("differs") & pl.col("difference").is_not_null()
    by_value = drift.nodes.group_by("column", "value").agg(differing=differs.sum())
    rows = drift.values.join(by_value, on=["column", "value"], how="left", maintain_order="left")
    for row in rows.iter_rows(named=True):
        labels, instances = row.pop("labels"), row["instances"]
        large = instances and run.rounding.lists(instances)
        yield {**row, "labels_per_instance": labels / instances if large else None}


_JUDGED = ("expected_length", "explained", "observed", "effective", "shrunk_ratio", "ratio_low",
           "ratio_high")  # fmt: skip


def _strong_pairs(run: Record) -> Rows:
    """The strongest reported pairs, by excess or rank, those across branches first."""
    width = run.rounding.width
    excess = pl.col("joint") - pl.col("explained")
    strength = -excess.fill_null(0.0) if width else pl.col("found_rank")
    order = [pl.col("relation") != "cross_branch", strength, "a", "b"]
    strongest = (
        run.pair_table.reported().filter(pl.col("joint") > width).sort(order).head(TOP).collect()
    )
    if strongest.is_empty():  # where none was judged there is nothing beside it
        return []
    rows = _titled(strongest, run, title_a="a", title_b="b")
    if width:
        rows = rows.with_columns(observed="joint", effective=None)
    return rows.select(*_PAIR, *_JUDGED, instances="joint").to_dicts()


def most_frequent(pairs: PairTable, nodes: pl.DataFrame, few: int) -> pl.DataFrame:
    """The `EACH` pairs of nodes of one depth on most instances, of each depth, the most first.

    None is on ``few`` instances or fewer. Pairs of the most frequent nodes of a depth are looked
    at, and of more of them until each other node is on fewer instances than the last of the pairs.
    """
    below = (pl.col("depth") > 0) & (pl.col("depth") <= DEPTHS) & (pl.col("support") > few)
    used = nodes.filter(below).sort(["support", "node"], descending=[True, False])
    used = used.select("node", "depth", "support")
    open_, most, settled = used, CANDIDATES, list[pl.DataFrame]()
    while len(open_) or not settled:
        some = open_.group_by("depth", maintain_order=True).head(most)
        near = pairs.within(some["node"]).filter(pl.col("joint") > few)
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


def _frequent_pairs(run: Record) -> Rows:
    """The most frequent pairs of each depth, beside what length lets expect of them."""
    rows = most_frequent(run.pair_table, run.nodes, run.rounding.width)
    named = _titled(rows, run, title_a="a", title_b="b")
    return [
        {**{name: row[name] for name in ("depth", *_PAIR)}, "instances": row["joint"],
         "share": _rate(row["joint"], run.size, run), **_times(row, run)}
        for row in named.iter_rows(named=True)
    ]  # fmt: skip


_OF_LENGTH = ("expected_length", "shrunk_ratio", "ratio_low", "ratio_high")


def _times(row: Row, run: Record) -> dict[str, float | None]:
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


def _confused(run: Record) -> Rows:
    """The unrelated pairs of labels that the model confuses most, in the data and as predicted."""
    if run.model is None:
        return []
    predicted = run.ledger["predictions"]["instances_matched"]
    labelled = run.nodes.filter(pl.col("direct") > run.rounding.width)["node"]
    top = most_confused(run.model.pairs, labelled).collect().drop("joint")
    there = run.pair_table.within(pl.concat([top["a"], top["b"]])).select("a", "b", "joint")
    joined = top.join(there.collect(), on=["a", "b"], how="left", maintain_order="left")
    joint = pl.col("joint").fill_null(pl.lit(run.rounding.count(0), pl.Int64))
    named = _titled(joined.with_columns(joint), run, title_a="a", title_b="b")
    told = (*_PAIR, "joint", "co_predicted", "confusion", "confusion_low", "confusion_high")
    return [
        {**{name: row[name] for name in told}, "rate": _rate(row["joint"], run.size, run),
         "co_predicted_rate": _rate(row["co_predicted"], predicted, run)}
        for row in named.iter_rows(named=True)
    ]  # fmt: skip


def most_confused(pairs: pl.LazyFrame, labelled: pl.Series) -> pl.LazyFrame:
    """The `MOST_CONFUSED` unrelated pairs of labels, of highest confusion first, then by nodes."""
    return (
        pairs.filter(
            ~pl.col("relation").is_in(["ancestor", "overlap"])
            & pl.col("a").is_in(labelled.implode())
            & pl.col("b").is_in(labelled.implode())
        )
        .sort(["confusion", "a", "b"], descending=[True, False, False], nulls_last=True)
        .head(MOST_CONFUSED)
    )
