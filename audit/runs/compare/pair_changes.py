"""Changes in how often pairs of nodes occur together, beyond what their nodes explain."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.two_rates import share_p_value
from audit.runs.compare.counts import (
    FALSE_DISCOVERY_RATE,
    LEAST_EXPECTED,
    Counts,
    beyond_floor,
    q_values,
)
from audit.runs.compare.edits import Common, Release
from audit.runs.compare.folding import fold_changes, pairs_above

FOLDED_AT_MOST = 20_000
"""Largest number of changed pairs considered for folding, the largest differences first."""

_RATE = FALSE_DISCOVERY_RATE.value


@dataclass(frozen=True, eq=False)
class PairChanges:
    """Changes of all tested pairs.

    ``table`` has the columns ``a, b, relation, joint_old, joint_new, support_a_old, support_b_old,
    support_a_new, support_b_new, difference, low, high, odds_ratio, p_value, q_value, lift_change,
    nodes_p_value, nodes_q_value, ratio_old, ratio_new, changed, folded_a, folded_b``. If both runs
    have ``joint_entailed``, it is subtracted from the joint counts. ``relation`` and the
    ratios to the expectation from record length are given for changed pairs only.
    """

    table: pl.DataFrame
    family: int


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs by their place among the common nodes, with joint counts; sorted by ``key``."""

    key: IntArray
    joint: IntArray

    def at(self, wanted: IntArray) -> IntArray:
        """Joint count of each pair, 0 where it does not occur."""
        if not len(self.key):
            return np.zeros(len(wanted), np.int64)
        place = np.searchsorted(self.key, wanted).clip(max=len(self.key) - 1)
        return np.where(self.key[place] == wanted, self.joint[place], 0)


def pair_changes(old: Release, new: Release, common: Common, *, same_data: bool) -> PairChanges:
    """Compare the joint counts of pairs of nodes that mean the same in both hierarchies.

    A pair is changed if its rate changed, and if its joint count changed beyond what the supports
    of its two nodes account for under independence; both at the false-discovery rate within the
    family, and both by the least effect size. A pair that another changed pair accounts for is
    folded into that one. Ancestor pairs are left out.
    """
    entailed = all("joint_entailed" in _columns(release) for release in (old, new))
    kept = common.as_it_is
    before = _read(old, common, kept, entailed=entailed)
    after = _read(new, common, kept, entailed=entailed)
    key = _candidates(before, after, old.instances, new.instances, same_data)
    counts = Counts(before.at(key), old.instances, after.at(key), new.instances, same_data)
    members = counts.difference != 0 if same_data else counts.tested
    return _judged(_Family(key[members], counts[members], old, new, common))


def _candidates(before: _Pairs, after: _Pairs, n_old: int, n_new: int, same_data: bool) -> IntArray:
    """Keys of all pairs that may be members: half of the total needed is in one release."""
    least = LEAST_EXPECTED.value * (n_old + n_new) / max(min(n_old, n_new), 1)
    half = 1 if same_data else math.ceil(least / 2)
    return np.asarray(np.union1d(before.key[before.joint >= half], after.key[after.joint >= half]))


def _columns(release: Release) -> list[str]:
    return release.run.pairs.collect_schema().names()


def _read(release: Release, common: Common, kept: BoolArray, *, entailed: bool) -> _Pairs:
    ids = pl.Enum(common.nodes)
    joint = pl.col("joint") - pl.col("joint_entailed") if entailed else pl.col("joint")
    pairs = (
        release.run.pairs.filter(pl.col("relation") != "ancestor")
        .select(pl.col("a", "b").cast(ids, strict=False).to_physical(), joint.alias("joint"))
        .drop_nulls()
        .collect()
    )
    a, b = (pairs[side].to_numpy().astype(np.int64) for side in ("a", "b"))
    comparable = kept[a] & kept[b]
    key = (a * len(common.nodes) + b)[comparable]
    order = np.argsort(key, kind="stable")
    return _Pairs(key[order], pairs["joint"].to_numpy()[comparable][order])


@dataclass(frozen=True, eq=False)
class _Family:
    """Pairs that are tested together, with what is known of their nodes."""

    key: IntArray
    counts: Counts
    old: Release
    new: Release
    common: Common

    @property
    def a(self) -> IntArray:
        return self.key // len(self.common.nodes)

    @property
    def b(self) -> IntArray:
        return self.key % len(self.common.nodes)

    def supports(self, release: Release) -> tuple[IntArray, IntArray]:
        """Supports of the first and second nodes."""
        of = np.array([release.support(node) for node in self.common.nodes], np.int64)
        return of[self.a], of[self.b]


def _judged(family: _Family) -> PairChanges:
    counts = family.counts
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
    folded = _folded(family, changed)
    low, high = counts.interval
    names = np.array([*family.common.nodes, None], dtype=object)
    old_a, old_b = family.supports(family.old)
    new_a, new_b = family.supports(family.new)
    table = pl.DataFrame(
        {
            "a": pl.Series(names[family.a].tolist(), dtype=pl.String),
            "b": pl.Series(names[family.b].tolist(), dtype=pl.String),
            "joint_old": counts.old,
            "joint_new": counts.new,
            "support_a_old": old_a,
            "support_b_old": old_b,
            "support_a_new": new_a,
            "support_b_new": new_b,
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
            "folded_a": pl.Series(names[family.a[folded]].tolist(), dtype=pl.String).set(
                pl.Series(folded < 0), None
            ),
            "folded_b": pl.Series(names[family.b[folded]].tolist(), dtype=pl.String).set(
                pl.Series(folded < 0), None
            ),
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
        for name in ("difference", "low", "high", "odds_ratio", "p_value", "q_value",
                     "lift_change", "nodes_p_value", "nodes_q_value")
    },
    "changed": pl.Series([], dtype=pl.Boolean),
    **{name: pl.Series([], dtype=pl.String) for name in ("folded_a", "folded_b")},
}  # fmt: skip


def _beyond_nodes(family: _Family) -> tuple[FloatArray, FloatArray]:
    """Lift in NEW over lift in OLD, and the chance of such a change if the lift were the same.

    Given the joint instances of both releases, those of NEW are binomial with NEW's part of what
    is expected under independence. That expectation is estimated from the same instances, which
    makes the test the more careful the more of a node's instances carry the other.
    """
    counts = family.counts
    expected = [
        np.multiply(*(side.astype(np.float64) for side in family.supports(release)))
        / release.instances
        for release in (family.old, family.new)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        change = (counts.new / expected[1]) / (counts.old / expected[0])
        share = expected[1] / (expected[0] + expected[1])
    change = np.where(np.isnan(change), np.where(counts.new > 0, np.inf, 0.0), change)
    inside = np.clip(share, 1e-300, 1 - 1e-16)
    return change, share_p_value(counts.new, counts.old, inside)


def _folded(family: _Family, changed: BoolArray) -> IntArray:
    """For each pair the changed pair that accounts for it, by place; -1 where none does."""
    into = np.full(len(family.key), -1, np.int64)
    places = np.flatnonzero(changed)
    largest = np.argsort(-np.abs(family.counts.difference[places]), kind="stable")
    places = places[largest[:FOLDED_AT_MOST]]
    if len(places) < 2:
        return into
    a, b = family.a[places], family.b[places]
    above = pairs_above(a, b, family.common.new)
    depth = np.diff(family.common.new.indptr)
    order = np.lexsort((family.key[places], -(depth[a] + depth[b])))
    found = fold_changes(family.counts[places], order.tolist(), dict(enumerate(above)))
    for pair, end in found.items():
        into[places[pair]] = places[end]
    return into


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
    ratio = pl.col("ratio") if "ratio" in _columns(release) else pl.lit(None, pl.Float64)
    return (
        release.run.pairs.filter(
            pl.col("a").is_in(pairs["a"].unique().implode())
            & pl.col("b").is_in(pairs["b"].unique().implode())
        )
        .select(
            "a",
            "b",
            pl.col("relation").alias(f"relation_{suffix}"),
            ratio.alias(f"ratio_{suffix}"),
        )
        .join(pairs.lazy(), on=["a", "b"], how="semi")
        .collect()
    )
