"""Changes in the use of nodes and of pairs, and siblings of which one is used for the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import FloatArray
from audit.base.declared import schema
from audit.engine.statistics.two_rates import share_p_value
from audit.hierarchies.relations import RELATIONS, relate
from audit.runs.compare.counts import (
    Changes,
    beside,
    beyond_floor,
    counted,
    q_values,
    within_rate,
)
from audit.runs.compare.edits import Common, Release

_COUNTED = ("support", "group_sum", "group_squares")
EXCHANGED = 0.5
"""Largest part of the smaller change that a rise and a fall may differ by in an exchange, and that
their parent may change by."""
EXCHANGES = schema(("parent", pl.String), ("fewer more", pl.List(pl.String)), ("moved", pl.Float64))


def node_changes(old: Release, new: Release, common: Common, *, same_data: bool) -> Changes:
    """Compare the supports of the common nodes that a release uses; the root never changes."""
    sides = (one.run.nodes.select("node", *_COUNTED) for one in (old, new))
    table = beside(sides, ["node"], "inner")
    described = new.at(common.nodes).select("node", "title", "depth", "branch")
    shown, counts = counted(table, "support", old, new, same_data=same_data)
    known = common.as_it_is
    tested = known & counts.tested
    told = counts.columns(known, tested, grouped=old.grouped or new.grouped)
    changed = tested & counts.large & within_rate(told["q_value"].fill_null(1.0).to_numpy())
    if same_data:
        changed = known & (counts.difference != 0)
    changed &= (described["node"] != new.root["node"]).to_numpy()
    rates = dict(zip(("rate_old", "rate_new"), shown.means, strict=True))
    every = described.with_columns(
        table["support_old"], table["support_new"], *told, **rates, changed=changed
    )
    used = (pl.col("support_old") > 0) | (pl.col("support_new") > 0)
    return Changes(every.filter(used), int(tested.sum()))


def pair_changes(old: Release, new: Release, common: Common, *, same_data: bool) -> Changes:
    """Compare the joint counts of pairs of nodes that mean the same in both hierarchies.

    A pair is changed if its rate changed, and if its joint count changed beyond what the supports
    of its two nodes account for under independence; both at the false-discovery rate within the
    family, and both by the least effect size. Ancestor pairs are left out.
    """
    sides = (_joint(one, common) for one in (old, new))
    numbers = pl.selectors.numeric().fill_null(0)
    table = beside(sides, ["a", "b"], "full").with_columns(numbers).sort("a", "b")
    _, counts = counted(table, "joint", old, new, same_data=same_data)
    table = table.filter(counts.difference != 0 if same_data else counts.tested)
    _, counts = counted(table, "joint", old, new, same_data=same_data)
    everything = np.ones(len(table), np.bool_)
    tested = everything & (not same_data)
    told = counts.columns(everything, tested, grouped=old.grouped or new.grouped)
    supports = {
        f"support_{end}_{side}": at
        for side, one in (("old", old), ("new", new))
        for end, at in zip("ab", _at_ends(table, one, common, "support"), strict=True)
    }
    lift_change, nodes_p_value = _beyond_nodes(table, old, new, common)
    nodes_q_value = q_values(nodes_p_value, tested)
    changed = everything
    if not same_data:
        along = (lift_change > 1) == (counts.difference > 0)
        beyond = within_rate(q_values(counts.p_value, tested)) & within_rate(nodes_q_value)
        changed = beyond & counts.large & beyond_floor(lift_change) & along
    beyond_nodes = {
        "lift_change": lift_change,
        "nodes_p_value": nodes_p_value,
        "nodes_q_value": nodes_q_value,
    }
    every = table.select(
        pl.col("a", "b").cast(pl.String),
        "joint_old",
        "joint_new",
        *told,
        **supports,
        **beyond_nodes,
        changed=changed,
    ).fill_nan(None)
    return Changes(_described(every, old, new), int(tested.sum()))


def _joint(release: Release, common: Common) -> pl.DataFrame:
    """Pairs that are not in line, of comparable nodes, without what one label entails."""
    nodes, joint = pl.Enum(common.comparable), pl.col("joint") - pl.col("joint_entailed")
    sums = pl.coalesce("group_sum", joint.cast(pl.Float64))
    pairs = release.run.pairs.filter(pl.col("relation") != "ancestor").select(
        pl.col("a", "b").cast(nodes, strict=False),
        joint=joint,
        group_sum=sums,
        group_squares=pl.coalesce("group_squares", sums),
    )
    return pairs.drop_nulls().collect()


def _at_ends(
    pairs: pl.DataFrame, release: Release, common: Common, name: str
) -> tuple[FloatArray, FloatArray]:
    """A number of both nodes of pairs."""
    of = release.at(common.comparable)[name].to_numpy()
    first, second = (of[pairs[end].to_physical().to_numpy()] for end in ("a", "b"))
    return first, second


def _beyond_nodes(
    table: pl.DataFrame, old: Release, new: Release, common: Common
) -> tuple[FloatArray, FloatArray]:
    """Lift in NEW over lift in OLD, and the chance of such a change if the lift were the same.

    Given the joint instances of both releases, those of NEW are binomial with NEW's part of what
    is expected under independence. That expectation is estimated from the same instances, which
    makes the test the more careful the more of a node's instances carry the other. With groups both
    are sums over groups, divided by the sum of squares over the sum of shares of both releases.
    """
    of = {name: table[name].cast(pl.Float64).to_numpy() for name in table.columns[2:]}
    joint, support, scale = "joint", "support", np.ones(len(table))
    sizes = old.instances, new.instances
    if old.grouped or new.grouped:
        joint = support = "group_sum"
        sizes = old.groups, new.groups
        sums = of["group_sum_old"] + of["group_sum_new"]
        squares = of["group_squares_old"] + of["group_squares_new"]
        scale = squares / np.maximum(sums, 1e-300)
    before, after = of[f"{joint}_old"], of[f"{joint}_new"]
    at_ends = (_at_ends(table, one, common, support) for one in (old, new))
    expected = [
        np.multiply(a.astype(np.float64), b.astype(np.float64)) / n
        for (a, b), n in zip(at_ends, sizes, strict=True)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        change = (after / expected[1]) / (before / expected[0])
        share = expected[1] / (expected[0] + expected[1])
    change = np.where(np.isnan(change), np.where(after > 0, np.inf, 0.0), change)
    return change, share_p_value(after / scale, before / scale, np.clip(share, 1e-300, 1 - 1e-16))


def _described(table: pl.DataFrame, old: Release, new: Release) -> pl.DataFrame:
    """The table with relations in NEW, and ratios to what was expected, of the changed pairs."""
    changed = table.filter("changed").select("a", "b")
    either = [pl.col(end).is_in(changed[end].unique().implode()) for end in ("a", "b")]
    ratios = (
        one.run.pairs.filter(*either)
        .select("a", "b", "ratio")
        .join(changed.lazy(), on=["a", "b"], how="semi")
        .collect()
        for one in (old, new)
    )
    hierarchy = new.run.hierarchy
    a, b = (np.array([*map(hierarchy.index, changed[end])], np.int64) for end in ("a", "b"))
    related = [RELATIONS[relation] for relation in relate(hierarchy, a, b)[0]]
    known = changed.with_columns(relation=pl.Series(related, dtype=pl.String))
    known = known.join(beside(ratios, ["a", "b"], "full"), on=["a", "b"], how="left")
    return table.join(known, on=["a", "b"], how="left", maintain_order="left")


def exchanges(nodes: pl.DataFrame, changed: pl.DataFrame, new: Release) -> pl.DataFrame:
    """Siblings of which some lost what others gained, while their parent did not change.

    Below a parent, the child that changed most and the nearest of the other direction are one, if
    they differ by at most `EXCHANGED` of the smaller and the parent changed by at most as much; all
    that are left are one if there are more than two and their rises and falls cancel likewise. Two
    changes of one size that have nothing to do with each other look the same.

    Args:
        nodes: ``node, difference`` of nodes that mean the same in both hierarchies.
        changed: Those that changed.
        new: The release whose hierarchy says which are siblings; children of its root are not.

    Returns:
        Columns `EXCHANGES`, the largest first: of which nodes there are fewer, of which more, and
        the share of the instances that moved.
    """
    differences = dict(nodes.select("node", "difference").drop_nulls().iter_rows())
    own = dict(changed.select("node", "difference").drop_nulls().iter_rows())
    inner = (pl.col("parent") != new.root["node"]) & pl.col("child").is_in([*own])
    below = new.run.edges.filter(inner).sort("parent", "child")
    taken, rows = set[str](), list[tuple[Any, ...]]()
    for parent, children in below.group_by("parent", maintain_order=True).agg("child").iter_rows():
        if parent in own or parent not in differences:
            continue
        waiting = {child: own[child] for child in children if child not in taken}
        for members in _cancelling(waiting, abs(differences[parent])):
            taken |= {*members}
            fewer, more = ([m for m in members if sign * own[m] > 0] for sign in (-1, 1))
            moved = min(abs(sum(own[m] for m in side)) for side in (fewer, more))
            rows.append((parent, fewer, more, moved))
    return pl.DataFrame(rows, EXCHANGES, orient="row").sort(-pl.col("moved"), "parent")


def _cancelling(by: Mapping[str, float], of_parent: float) -> Iterator[Sequence[str]]:
    """Siblings whose rises and falls cancel: in twos, then all that are left together."""
    waiting, left = sorted(by, key=lambda one: (-abs(by[one]), one)), list[str]()
    while waiting:
        first = waiting.pop(0)
        fitting = [
            (abs(by[first] + by[other]), other)
            for other in waiting
            if by[first] * by[other] < 0
            and abs(by[first] + by[other]) <= EXCHANGED * abs(by[other])
        ]
        _, second = min(fitting, default=(0.0, first))
        if second != first and of_parent <= EXCHANGED * abs(by[second]):
            waiting.remove(second)
            yield first, second
        else:
            left.append(first)
    rises, falls = (sum(max(sign * by[one], 0.0) for one in left) for sign in (1, -1))
    if len(left) > 2 and max(abs(rises - falls), of_parent) <= EXCHANGED * min(rises, falls):
        yield left
