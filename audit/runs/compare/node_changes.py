"""Changes in the use of each node that both hierarchies have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray, IntArray, row
from audit.runs.compare.counts import FALSE_DISCOVERY_RATE, Counts, q_values
from audit.runs.compare.edits import Common, Release, restated
from audit.runs.compare.folding import fold_changes


@dataclass(frozen=True, eq=False)
class NodeChanges:
    """Changes of all common nodes in use, and the number that could be tested.

    ``table`` has the columns ``node, title, depth, branch, support_old, support_new, restated_low,
    restated_high, rate_old, rate_new, difference, low, high, odds_ratio, p_value, q_value, changed,
    folded_into``. The ``restated`` columns bound the number of instances of OLD that would carry
    the node under NEW's hierarchy; ``rate_old`` is computed from it. Later columns are null if the
    two bounds differ.
    """

    table: pl.DataFrame
    family: int


def node_changes(old: Release, new: Release, common: Common, *, same_data: bool) -> NodeChanges:
    """Compare the supports of the common nodes, and fold changes that others explain.

    Args:
        old: The earlier run.
        new: The later run.
        common: The nodes that both hierarchies have.
        same_data: Whether both runs counted the same data.
    """
    table, counts = judged_nodes(old, new, common, same_data=same_data)
    into = _folded(counts, table["changed"].to_numpy(), common)
    folded = [common.nodes[into[i]] if i in into else None for i in range(len(common.nodes))]
    table = table.with_columns(pl.Series("folded_into", folded, pl.String))
    used = (pl.col("support_old") > 0) | (pl.col("support_new") > 0)
    return NodeChanges(table.filter(used), len(table) - table["q_value"].null_count())


def judged_nodes(
    old: Release, new: Release, common: Common, *, same_data: bool
) -> tuple[pl.DataFrame, Counts]:
    """Whether the support of each common node changed, whatever explains it; and what was counted.

    Arguments as in `node_changes`; the table has the columns of `NodeChanges`, without
    ``folded_into``, and a row for nodes that are not in use too.
    """
    low, high = restated(old, common)
    support_new = _column(new, common, "support")
    comparable = np.asarray(low == high)
    counts = Counts(low, old.instances, support_new, new.instances, same_data)
    tested = comparable & counts.tested
    q_value = q_values(counts.p_value, tested)
    if same_data:
        changed = comparable & counts.holds()
    else:
        changed = tested & counts.large & (np.nan_to_num(q_value, nan=1.0) <= _RATE)
    table = _table(old, new, common, (low, high), counts, comparable, q_value, tested)
    return table.with_columns(pl.Series("changed", changed)), counts


_RATE = FALSE_DISCOVERY_RATE.value


def _folded(counts: Counts, changed: BoolArray, common: Common) -> dict[int, int]:
    """Changed nodes that another changed node accounts for, with that one."""
    places = np.flatnonzero(changed).tolist()
    among = set(places)
    above = {
        node: [other for other in row(common.new, node).tolist() if other in among - {node}]
        for node in places
    }
    order = sorted(places, key=lambda node: (-len(row(common.new, node)), node))
    return fold_changes(counts, order, above)


def _table(
    old: Release,
    new: Release,
    common: Common,
    bounds: tuple[IntArray, IntArray],
    counts: Counts,
    comparable: BoolArray,
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
    return described.with_columns(
        pl.Series("support_old", _column(old, common, "support")),
        pl.Series("support_new", counts.new),
        pl.Series("restated_low", bounds[0]),
        pl.Series("restated_high", bounds[1]),
        _null_unless(comparable, "rate_old", counts.old / counts.n_old),
        pl.Series("rate_new", counts.new / counts.n_new),
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


def _column(release: Release, common: Common, name: str) -> IntArray:
    nodes = release.nodes
    return np.array([nodes[node][name] for node in common.nodes], np.int64)
