"""Changes in how often pairs of nodes occur together, beyond what their nodes explain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.two_rates import GroupSums, share_p_value
from audit.runs.compare.counts import (
    FALSE_DISCOVERY_RATE,
    LEAST_EXPECTED,
    Counts,
    beyond_floor,
    by_group,
    q_values,
)
from audit.runs.compare.edits import Common, Release

_RATE = FALSE_DISCOVERY_RATE.value
_Number = TypeVar("_Number", np.int64, np.float64)


@dataclass(frozen=True, eq=False)
class PairChanges:
    """Changes of all tested pairs.

    ``table`` is described by `audit.Comparison.pairs`; ``family`` is their number.
    """

    table: pl.DataFrame
    family: int


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs by their place among the common nodes, sorted by ``key``: instances, and group sums."""

    key: IntArray
    joint: IntArray
    sums: FloatArray
    squares: FloatArray

    def at(self, wanted: IntArray) -> _Pairs:
        """Some pairs; 0 where one does not occur."""
        place = np.searchsorted(self.key, wanted).clip(max=max(len(self.key) - 1, 0))
        there = np.isin(wanted, self.key)

        def found(of: NDArray[_Number]) -> NDArray[_Number]:
            numbers = np.zeros(len(wanted), of.dtype)
            numbers[there] = of[place[there]]
            return numbers

        return _Pairs(wanted, found(self.joint), found(self.sums), found(self.squares))

    def of(self, release: Release) -> GroupSums:
        """How much of each group of a release carries the pairs."""
        return GroupSums(self.sums, self.squares, release.groups, release.labelled)


def pair_changes(old: Release, new: Release, common: Common, *, same_data: bool) -> PairChanges:
    """Compare the joint counts of pairs of nodes that mean the same in both hierarchies.

    A pair is changed if its rate changed, and if its joint count changed beyond what the supports
    of its two nodes account for under independence; both at the false-discovery rate within the
    family, and both by the least effect size. Ancestor pairs are left out.
    """
    kept = common.as_it_is
    before = _read(old, common, kept)
    after = _read(new, common, kept)
    grouped = old.grouped or new.grouped
    key = _candidates((old, before), (new, after), grouped=grouped, same_data=same_data)
    pairs = before.at(key), after.at(key)
    shown = Counts(pairs[0].joint, old.instances, pairs[1].joint, new.instances, same_data)
    counts = shown
    if grouped:
        counts = by_group(pairs[0].of(old), pairs[1].of(new), same_data=same_data)
    members = counts.difference != 0 if same_data else counts.tested
    some = tuple(one.at(key[members]) for one in pairs)
    return _judged(_Family(key[members], shown[members], counts[members], some, old, new, common))


def _candidates(*releases: tuple[Release, _Pairs], grouped: bool, same_data: bool) -> IntArray:
    """Keys of all pairs that may be members: half of what is needed may be in one release.

    A release of G groups counts no more than ``instances / G`` of a joint instance.
    """
    sizes = [release.instances for release, _ in releases]
    half = math.ceil(LEAST_EXPECTED.value * sum(sizes) / max(min(sizes), 1) / 2)
    some = []
    for release, pairs in releases:
        least: float = 1 if same_data else half
        if grouped:
            least *= (LEAST_EXPECTED.value - 0.5) / half * release.groups / release.labelled
        some.append(pairs.key[pairs.joint >= least])
    return np.asarray(np.union1d(*some))


def _read(release: Release, common: Common, kept: BoolArray) -> _Pairs:
    ids = pl.Enum(common.nodes)
    joint = pl.col("joint") - pl.col("joint_entailed")
    sums = pl.coalesce("group_sum", joint.cast(pl.Float64))
    squares = pl.coalesce("group_squares", sums)
    pairs = (
        release.run.pairs.filter(pl.col("relation") != "ancestor")
        .select(
            pl.col("a", "b").cast(ids, strict=False).to_physical(),
            joint.alias("joint"),
            sums.alias("sums"),
            squares.alias("squares"),
        )
        .drop_nulls()
        .collect()
    )
    a, b = (pairs[side].to_numpy().astype(np.int64) for side in ("a", "b"))
    comparable = kept[a] & kept[b]
    key = (a * len(common.nodes) + b)[comparable]
    order = np.argsort(key, kind="stable")
    kept_of = (pairs[name].to_numpy()[comparable] for name in ("joint", "sums", "squares"))
    return _Pairs(key[order], *(of[order] for of in kept_of))


@dataclass(frozen=True, eq=False)
class _Family:
    """Pairs that are tested together, with what is known of their nodes."""

    key: IntArray
    shown: Counts
    counts: Counts
    pairs: tuple[_Pairs, ...]
    old: Release
    new: Release
    common: Common

    @property
    def a(self) -> IntArray:
        return self.key // len(self.common.nodes)

    @property
    def b(self) -> IntArray:
        return self.key % len(self.common.nodes)

    @property
    def grouped(self) -> bool:
        return self.old.grouped or self.new.grouped

    @property
    def means(self) -> dict[str, FloatArray]:
        """The mean of the groups' shares in each release; NaN without groups."""
        of, none = self.counts, np.full(len(self.key), np.nan)
        means = (of.old / of.n_old, of.new / of.n_new) if self.grouped else (none, none)
        return dict(zip(("mean_old", "mean_new"), means, strict=True))

    def supports(self, release: Release) -> tuple[IntArray, IntArray]:
        """Supports of the first and second nodes."""
        of = np.array([release.support(node) for node in self.common.nodes], np.int64)
        return of[self.a], of[self.b]


def _judged(family: _Family) -> PairChanges:
    counts, shown = family.counts, family.shown
    tested = counts.tested
    q_value = q_values(counts.p_value, tested)
    lift_change, nodes_p_value = _beyond_nodes(family)
    nodes_q_value = q_values(nodes_p_value, tested)
    if counts.same_data:
        changed = np.ones(len(family.key), np.bool_)
    else:
        alike = (lift_change > 1) == (counts.difference > 0)
        changed = (
            counts.large
            & beyond_floor(lift_change)
            & alike
            & (q_value <= _RATE)
            & (nodes_q_value <= _RATE)
        )
    low, high = counts.interval
    names = np.array(family.common.nodes, dtype=object)
    old_a, old_b = family.supports(family.old)
    new_a, new_b = family.supports(family.new)
    table = pl.DataFrame(
        {
            "a": pl.Series(names[family.a].tolist(), dtype=pl.String),
            "b": pl.Series(names[family.b].tolist(), dtype=pl.String),
            "joint_old": shown.old,
            "joint_new": shown.new,
            "support_a_old": old_a,
            "support_b_old": old_b,
            "support_a_new": new_a,
            "support_b_new": new_b,
            **family.means,
            "difference": counts.difference,
            "low": low,
            "high": high,
            "odds_ratio": counts.odds_ratio,
            "p_value": counts.p_value,
            "q_value": q_value,
            "lift_change": lift_change,
            "nodes_p_value": nodes_p_value,
            "nodes_q_value": nodes_q_value,
            "changed": changed,
        }
        if len(family.key)
        else _EMPTY
    )
    return PairChanges(_described(table.fill_nan(None), family), int(tested.sum()))


_EMPTY = {
    **{name: pl.Series([], dtype=pl.String) for name in ("a", "b")},
    **{
        name: pl.Series([], dtype=pl.Int64)
        for name in ("joint_old", "joint_new", "support_a_old", "support_b_old", "support_a_new",
                     "support_b_new")
    },
    **{
        name: pl.Series([], dtype=pl.Float64)
        for name in ("mean_old", "mean_new", "difference", "low", "high", "odds_ratio", "p_value",
                     "q_value", "lift_change", "nodes_p_value", "nodes_q_value")
    },
    "changed": pl.Series([], dtype=pl.Boolean),
}  # fmt: skip


def _beyond_nodes(family: _Family) -> tuple[FloatArray, FloatArray]:
    """Lift in NEW over lift in OLD, and the chance of such a change if the lift were the same.

    Given the joint instances of both releases, those of NEW are binomial with NEW's part of what
    is expected under independence. That expectation is estimated from the same instances, which
    makes the test the more careful the more of a node's instances carry the other. With groups both
    are sums over groups, divided by the sum of squares over the sum of shares of both releases.
    """
    releases, places = (family.old, family.new), (family.a, family.b)
    joint = [family.shown.old.astype(np.float64), family.shown.new.astype(np.float64)]
    sizes = [one.instances for one in releases]
    sides: list[tuple[IntArray | FloatArray, IntArray | FloatArray]] = [
        family.supports(one) for one in releases
    ]
    scale: FloatArray | float = 1.0
    if family.grouped:
        joint = [pairs.sums for pairs in family.pairs]
        known = [one.group_sums(family.common.nodes).sums for one in releases]
        sides = [(of[places[0]], of[places[1]]) for of in known]
        sizes = [one.groups for one in releases]
        scale = sum(pairs.squares for pairs in family.pairs) / np.maximum(sum(joint), 1e-300)
    expected = [
        np.multiply(*(side.astype(np.float64) for side in own)) / n
        for own, n in zip(sides, sizes, strict=True)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        change = (joint[1] / expected[1]) / (joint[0] / expected[0])
        share = expected[1] / (expected[0] + expected[1])
    change = np.where(np.isnan(change), np.where(joint[1] > 0, np.inf, 0.0), change)
    inside = np.clip(share, 1e-300, 1 - 1e-16)
    return change, share_p_value(joint[1] / scale, joint[0] / scale, inside)


def _described(table: pl.DataFrame, family: _Family) -> pl.DataFrame:
    """The table with relations, and ratios to what was expected, of the changed pairs."""
    changed = table.filter("changed").select("a", "b")
    ratios = changed
    for release, suffix in ((family.old, "old"), (family.new, "new")):
        ratios = ratios.join(_ratios(release, changed, suffix), on=["a", "b"], how="left")
    relation = pl.coalesce("relation_new", "relation_old").alias("relation")
    ratios = ratios.select("a", "b", relation, "ratio_old", "ratio_new")
    return table.join(ratios, on=["a", "b"], how="left", maintain_order="left")


def _ratios(release: Release, pairs: pl.DataFrame, suffix: str) -> pl.DataFrame:
    return (
        release.run.pairs.filter(
            pl.col("a").is_in(pairs["a"].unique().implode())
            & pl.col("b").is_in(pairs["b"].unique().implode())
        )
        .select(
            "a",
            "b",
            pl.col("relation").alias(f"relation_{suffix}"),
            pl.col("ratio").alias(f"ratio_{suffix}"),
        )
        .join(pairs.lazy(), on=["a", "b"], how="semi")
        .collect()
    )
