"""Changes in the use of nodes and of pairs, siblings of which one is used for the other, and
branches that changed as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import FloatArray
from audit.base.declared import schema
from audit.engine.statistics.two_rates import share_p_value
from audit.hierarchies.relations import RELATIONS, relate
from audit.runs.compare.counts import Counts, beyond_floor, q_values, within_rate
from audit.runs.compare.releases import SIDES, Release, Releases, beside

EXCHANGED = 0.5
"""Largest part of the smaller change that a rise and a fall may differ by in an exchange, and that
their parent may change by."""
EXCHANGES = schema(
    ("parent", pl.String), ("fewer more", pl.List(pl.String)), ("moved low high", pl.Float64)
)
WHOLE = 0.8
"""Least part of the use of its children that changes by a branch's factor where it is whole."""
BRANCHES = schema(("node", pl.String), ("below", pl.List(pl.String)))


def node_changes(of: Releases) -> pl.DataFrame:
    """Compare the supports of common nodes that a release uses; the root is never ``changed``."""
    table = of.common
    counts, known = Counts.read(table, "support", of), table["alike"].to_numpy()
    tested = known & counts.tested
    told = counts.columns(known, tested)
    changed = within_rate(told["q_value"]) & beyond_floor(told["odds_ratio"].to_numpy())
    if of.same_data:
        changed = known & (counts.difference != 0)
    changed &= (table["node"] != of.new.root["node"]).to_numpy()
    rates = {
        f"rate_{side}": table[f"support_{side}"].to_numpy() / size
        for side, size in zip(SIDES, of.sizes, strict=True)
    }
    every = table.select("node", "title", "depth", "branch", "^support_.*$").hstack(told)
    used = (pl.col("support_old") > 0) | (pl.col("support_new") > 0)
    return every.with_columns(**rates, changed=changed).filter(used)


def pair_changes(of: Releases) -> pl.DataFrame:
    """Compare the joint counts of pairs of nodes that mean the same in both hierarchies.

    A pair is changed if its rate changed, and if its joint count changed beyond what the supports
    of its two nodes account for under independence; both at the false-discovery rate within the
    family, and both by the least effect size. Ancestor pairs are left out.
    """
    nodes = of.common.filter("alike")
    sides = (_joint(one, pl.Enum(nodes["node"])) for one in of)
    numbers = pl.selectors.numeric().fill_null(0)
    table = beside(sides, ["a", "b"], "full").with_columns(numbers).sort("a", "b")
    counts = Counts.read(table, "joint", of)
    table = table.filter(counts.difference != 0 if of.same_data else counts.tested)
    counts = Counts.read(table, "joint", of)
    everything = np.ones(len(table), np.bool_)
    tested = everything & (not of.same_data)
    told = counts.columns(everything, tested)
    lift_change, nodes_p_value = _beyond_nodes(table, nodes, of)
    nodes_q_value = q_values(nodes_p_value, tested)
    changed = everything
    if not of.same_data:
        along = (lift_change > 1) == (counts.difference > 0)
        beyond = within_rate(told["q_value"]) & within_rate(nodes_q_value)
        large = beyond_floor(told["odds_ratio"].to_numpy()) & beyond_floor(lift_change)
        changed = beyond & large & along
    supports = {
        f"support_{end}_{side}": _at(table[end], nodes[f"support_{side}"])
        for side in SIDES
        for end in "ab"
    }
    ends = pl.col("a", "b").cast(pl.String)
    every = table.select(ends, "joint_old", "joint_new").hstack(told)
    return _described(
        every.with_columns(
            **supports,
            lift_change=lift_change,
            nodes_p_value=nodes_p_value,
            nodes_q_value=nodes_q_value,
            changed=changed,
        ).fill_nan(None),
        of,
    )


def _joint(release: Release, nodes: pl.Enum) -> pl.DataFrame:
    """Joint counts of comparable nodes, none above the other, less those of a label below both."""
    joint = pl.col("joint") - pl.col("joint_entailed")
    sums = pl.coalesce("group_sum", joint.cast(pl.Float64))
    pairs = release.run.pairs.filter(pl.col("relation") != "ancestor").select(
        pl.col("a", "b").cast(nodes, strict=False),
        joint=joint,
        group_sum=sums,
        group_squares=pl.coalesce("group_squares", sums),
    )
    return pairs.drop_nulls().collect()


def _at(nodes: pl.Series, values: pl.Series) -> FloatArray:
    """The value of each node, from ``values`` in the order of the nodes' enumeration."""
    found: FloatArray = values.to_numpy()[nodes.to_physical().to_numpy()]
    return found


def _beyond_nodes(
    table: pl.DataFrame, nodes: pl.DataFrame, of: Releases
) -> tuple[FloatArray, FloatArray]:
    """Lift in NEW over lift in OLD, and the chance of such a change if the lift were the same.

    Given the joint instances of both releases, those of NEW are binomial with NEW's part of what
    is expected under independence. That expectation is estimated from the same instances, which
    makes the test the more careful the more of a node's instances carry the other. With groups both
    are sums over groups, divided by the sum of squares over the sum of shares of both releases.
    """
    joint, support, scale, sizes = "joint", "support", np.ones(len(table)), of.sizes
    if of.grouped:
        joint = support = "group_sum"
        sizes = of.old.groups, of.new.groups
        sums, squares = (
            (table[f"{name}_old"] + table[f"{name}_new"]).to_numpy()
            for name in ("group_sum", "group_squares")
        )
        scale = squares / np.maximum(sums, 1e-300)
    before, after = (table[f"{joint}_{side}"].cast(pl.Float64).to_numpy() for side in SIDES)
    expected = []
    for side, n in zip(SIDES, sizes, strict=True):
        carried = nodes[f"{support}_{side}"].cast(pl.Float64)
        expected.append(_at(table["a"], carried) * _at(table["b"], carried) / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = (after / expected[1]) / (before / expected[0])
        share = expected[1] / (expected[0] + expected[1])
    change = np.where(np.isnan(change), np.where(after > 0, np.inf, 0.0), change)
    return change, share_p_value(after / scale, before / scale, np.clip(share, 1e-300, 1 - 1e-16))


def _described(table: pl.DataFrame, of: Releases) -> pl.DataFrame:
    """The table, with relation in NEW and ratios to what was expected; null if not changed."""
    changed = table.filter("changed").select("a", "b")
    either = [pl.col(end).is_in(changed[end].unique().implode()) for end in ("a", "b")]
    ratios = (
        one.run.pairs.filter(*either)
        .select("a", "b", "ratio")
        .join(changed.lazy(), on=["a", "b"], how="semi")
        .collect()
        for one in of
    )
    hierarchy = of.new.run.hierarchy
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
        changed: Those that changed, with ``low, high``.
        new: The release whose hierarchy says which are siblings; children of its root are not.

    Returns:
        Columns `EXCHANGES`, the largest first: of which nodes there are fewer, of which more, and
        the share of the instances that moved, with its interval.
    """
    differences = dict(nodes.select("node", "difference").drop_nulls().iter_rows())
    known = changed.select("node", "difference", "low", "high").drop_nulls()
    own = {node: numbers for node, *numbers in known.iter_rows()}
    inner = (pl.col("parent") != new.root["node"]) & pl.col("child").is_in([*own])
    below = new.run.edges.filter(inner).sort("parent", "child")
    taken, rows = set[str](), list[tuple[Any, ...]]()
    for parent, children in below.group_by("parent", maintain_order=True).agg("child").iter_rows():
        if parent in own or parent not in differences:
            continue
        waiting = {child: own[child][0] for child in children if child not in taken}
        for members in _cancelling(waiting, abs(differences[parent])):
            taken |= {*members}
            fewer, more = ([m for m in members if sign * own[m][0] > 0] for sign in (-1, 1))
            moved = min(_added([own[one] for one in side]) for side in (fewer, more))
            rows.append((parent, fewer, more, *moved))
    return pl.DataFrame(rows, EXCHANGES, orient="row").sort(-pl.col("moved"), "parent")


def _added(numbers: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Absolute value of the sum of rows' differences, and its interval, by their ends' squares."""
    apart, low, high = np.array(numbers).T
    down, up = np.linalg.norm(apart - low), np.linalg.norm(high - apart)
    total = float(apart.sum())
    down, up = (down, up) if total > 0 else (up, down)
    return abs(total), float(abs(total) - down), float(abs(total) + up)


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


def branches(nodes: pl.DataFrame, changed: pl.DataFrame, new: Release) -> pl.DataFrame:
    """Changed nodes that changed as a whole: two or more of their children did by one factor.

    It is the factor of the sum over all children, of which `WHOLE` must be those that changed by
    it: the interval of a difference holds what the factor makes of the share in OLD.

    Args:
        nodes: As `node_changes`, of nodes that mean the same in both hierarchies.
        changed: Those that changed.
        new: The release whose hierarchy says what is below a node.

    Returns:
        Columns `BRANCHES`: what changed ``below`` by the factor of the node; of branches within
        each other the upper one alone, where it says that the lower one changed.
    """
    shares = pl.coalesce("mean_old", "rate_old"), pl.coalesce("mean_new", "rate_new")
    known = nodes.select("node", "low", "high", *shares).drop_nulls()
    own = {node: numbers for node, *numbers in known.iter_rows()}
    names = changed.filter(pl.col("node").is_in([*own]))["node"].to_list()
    within, left, rows = new.within(names), {*names}, list[tuple[str, list[str]]]()
    children = dict(new.run.edges.sort("child").group_by("parent").agg("child").iter_rows())

    def alike(some: Iterable[str], factor: float) -> list[str]:
        def changes(low: float, high: float, old: float, _: float) -> bool:
            return low <= (factor - 1) * old <= high

        return [one for one in some if changes(*own[one])]

    for place in np.argsort(-within.sum(axis=0), kind="stable").tolist():
        every = [child for child in children.get(names[place], ()) if child in own]
        old, now = (sum(own[child][side] for child in every) for side in (2, 3))
        if names[place] not in left or not old:
            continue
        same = alike(every, now / old)
        held = sum(own[child][2] + own[child][3] for child in same)
        if len(left.intersection(same)) < 2 or held < WHOLE * (old + now):
            continue
        inside = [names[one] for one in within[:, [place]].nonzero()[0] if one != place]
        below = alike(left.intersection(inside), now / old)
        left -= {*below}
        rows.append((names[place], sorted(below)))
    return pl.DataFrame(rows, BRANCHES, orient="row")
