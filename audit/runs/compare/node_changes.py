"""Changes in the use of each node that both hierarchies have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray
from audit.runs.compare.counts import FALSE_DISCOVERY_RATE, Counts, by_group, q_values
from audit.runs.compare.edits import Common, Release

_RATE = FALSE_DISCOVERY_RATE.value


@dataclass(frozen=True, eq=False)
class NodeChanges:
    """Changes of all common nodes in use, and the number that could be tested.

    ``table`` is described by `audit.Comparison.nodes`; ``family`` is that number.
    """

    table: pl.DataFrame
    family: int


def node_changes(old: Release, new: Release, common: Common, *, same_data: bool) -> NodeChanges:
    """Compare the supports of the common nodes that a release uses."""
    table = judged_nodes(old, new, common, same_data=same_data)
    family = len(table) - table["q_value"].null_count()
    used = (pl.col("support_old") > 0) | (pl.col("support_new") > 0)
    return NodeChanges(table.filter(used), family)


def judged_nodes(old: Release, new: Release, common: Common, *, same_data: bool) -> pl.DataFrame:
    """Whether the use of each common node changed.

    Arguments and columns as in `node_changes`; nodes that are not in use have a row too. The root
    never changes.
    """
    supports = [one.numbers(common.nodes, "support").astype(np.int64) for one in (old, new)]
    comparable = common.as_it_is
    counts = shown = Counts(supports[0], old.instances, supports[1], new.instances, same_data)
    grouped = old.grouped or new.grouped
    if grouped:
        sums = (release.group_sums(common.nodes) for release in (old, new))
        counts = by_group(*sums, same_data=same_data)
    tested = comparable & counts.tested
    q_value = q_values(counts.p_value, tested)
    if same_data:
        changed = comparable & (counts.difference != 0)
    else:
        changed = tested & counts.large & (np.nan_to_num(q_value, nan=1.0) <= _RATE)
    changed &= np.array([node != new.root for node in common.nodes], np.bool_)
    table = _table(new, common, shown, counts, q_value, tested)
    means = (counts.old / counts.n_old, counts.new / counts.n_new)
    for name, mean in zip(("mean_old", "mean_new"), means, strict=True):
        table = table.with_columns(_null_unless(comparable & grouped, name, mean))
    return table.with_columns(pl.Series("changed", changed))


def _table(
    new: Release,
    common: Common,
    shown: Counts,
    counts: Counts,
    q_value: FloatArray,
    tested: BoolArray,
) -> pl.DataFrame:
    described = pl.DataFrame({"node": common.nodes}, schema={"node": pl.String}).join(
        new.run.nodes.select("node", "title", "depth", "branch"),
        on="node",
        how="left",
        maintain_order="left",
    )
    low, high = counts.interval
    comparable = common.as_it_is
    return described.with_columns(
        pl.Series("support_old", shown.old),
        pl.Series("support_new", shown.new),
        pl.Series("rate_old", shown.old / shown.n_old),
        pl.Series("rate_new", shown.new / shown.n_new),
        _null_unless(comparable, "difference", counts.difference),
        _null_unless(comparable, "low", low),
        _null_unless(comparable, "high", high),
        _null_unless(comparable, "odds_ratio", counts.odds_ratio),
        _null_unless(tested, "p_value", counts.p_value),
        _null_unless(tested, "q_value", q_value),
    )


def _null_unless(known: BoolArray, name: str, values: FloatArray) -> pl.Series:
    """A column with null where a value means nothing."""
    return pl.Series(name, values).set(pl.Series(~known), None)
