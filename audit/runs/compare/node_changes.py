"""Changes in the use of each node that both hierarchies have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.runs.compare.counts import FALSE_DISCOVERY_RATE, Counts, by_group, q_values
from audit.runs.compare.edits import Common, Release, nearest_common, restated
from audit.runs.compare.node_folding import Changed, Folded, Labels, fold_nodes

_RATE = FALSE_DISCOVERY_RATE.value


@dataclass(frozen=True, eq=False)
class NodeChanges:
    """Changes of all common nodes in use, and the number that could be tested.

    ``table`` is described by `audit.Comparison.nodes`; ``family`` is that number.
    """

    table: pl.DataFrame
    family: int


def node_changes(old: Release, new: Release, common: Common, *, same_data: bool) -> NodeChanges:
    """Compare the supports of the common nodes, and fold changes that others explain.

    Those that stand are corrected for multiple testing once more: nodes that are folded are true
    with those they are folded into, and would make room for others by chance.
    """
    table, counts = judged_nodes(old, new, common, same_data=same_data)
    family = len(table) - table["q_value"].null_count()
    folded = fold_nodes(_changed(table, counts, old, new, common))
    standing = _standing(table, folded, family)
    into = {node: end for node, end in folded.into.items() if end in standing}
    names = [*common.nodes]
    rates = (table["rate_new"] - table["rate_old"]).to_list()
    parents, moved = dict[int, str](), dict[int, float]()
    for node, one in folded.exchanges.items():
        parents[node] = names[one.parent]
        moved[node] = min(
            sum(max(sign * rates[member], 0.0) for member in one.members) for sign in (1, -1)
        )
    kinds = {
        node: "exchange"
        if node in folded.exchanges
        else "branch"
        if node in folded.branches
        else "node"
        for node in standing
    }
    everything = range(len(names))
    members = {m for node, one in folded.exchanges.items() if node in standing for m in one.members}
    told = table.with_columns(
        pl.Series("q_value", [standing.get(i, q) for i, q in enumerate(table["q_value"])]),
        pl.Series("changed", [i in standing or i in into for i in everything], pl.Boolean),
        pl.Series("folded_into", [names[into[i]] if i in into else None for i in everything]),
        pl.Series("exchanged", [i in members for i in everything], pl.Boolean),
        pl.Series("kind", [kinds.get(i) for i in everything], pl.String),
        pl.Series(
            "parent", [parents.get(i) if i in kinds else None for i in everything], pl.String
        ),
        pl.Series("moved", [moved.get(i) if i in kinds else None for i in everything], pl.Float64),
    ).cast({"folded_into": pl.String, "q_value": pl.Float64})
    used = (pl.col("support_old") > 0) | (pl.col("support_new") > 0)
    return NodeChanges(told.filter(used), family)


def _standing(table: pl.DataFrame, folded: Folded, family: int) -> dict[int, float | None]:
    """Changes that stand after the second correction, with their q value.

    That of an exchange is by the larger p value of its members.
    """
    changed = np.flatnonzero(table["changed"].to_numpy()).tolist()
    alone = [node for node in changed if node not in folded.into]
    p_value = table["p_value"].to_list()
    largest = {
        node: max(p_value[member] for member in folded.exchanges[node].members)
        if node in folded.exchanges
        else p_value[node]
        for node in alone
        if p_value[node] is not None
    }
    if not largest:
        return dict.fromkeys(alone)
    p_values = np.array(list(largest.values()), np.float64)
    again = benjamini_hochberg(p_values, family).tolist()
    return {n: q for n, q in zip(largest, again, strict=True) if q <= _RATE}


def _changed(
    table: pl.DataFrame, counts: Counts, old: Release, new: Release, common: Common
) -> Changed:
    place = {node: i for i, node in enumerate(common.nodes)}
    children: dict[int, list[int]] = {i: [] for i in place.values()}
    for node, i in place.items():
        for parent in nearest_common(new, node, place.keys()):
            children[place[parent]].append(i)
    children.pop(place.get(new.root, -1), None)
    unknown = table["difference"].is_null().to_numpy()
    return Changed(
        changed=table["changed"].to_numpy(),
        difference=np.where(unknown, np.nan, counts.difference),
        labels=_labels(old, new, common, same_data=counts.same_data),
        known=common.as_it_is,
        above=common.new,
        children=children,
    )


def _labels(old: Release, new: Release, common: Common, *, same_data: bool) -> Labels:
    grouped = old.grouped or new.grouped
    means, variances = [], []
    for release in (old, new):
        n = float(release.groups if grouped else release.instances)
        sums, squares = (
            release.numbers(common.nodes, name) for name in ("label_sum", "label_squares")
        )
        means.append(sums / n)
        variances.append(np.maximum(squares - sums**2 / n, 0.0) / (n * max(n - 1, 1.0)))
    if same_data:
        variances = [np.zeros_like(one) for one in variances]
    return Labels(*means, *variances)


def judged_nodes(
    old: Release, new: Release, common: Common, *, same_data: bool
) -> tuple[pl.DataFrame, Counts]:
    """Whether the use of each common node changed, whatever explains it; and what was compared.

    Arguments as in `node_changes`; the table has the columns of `NodeChanges` up to ``changed``,
    and a row for nodes that are not in use too. The root never changes.
    """
    low, high = restated(old, common)
    support_new = new.numbers(common.nodes, "support").astype(np.int64)
    comparable = np.asarray(low == high)
    counts = shown = Counts(low, old.instances, support_new, new.instances, same_data)
    grouped = old.grouped or new.grouped
    if grouped:
        comparable &= common.as_it_is
        sums = (release.group_sums(common.nodes) for release in (old, new))
        counts = by_group(*sums, same_data=same_data)
    tested = comparable & counts.tested
    q_value = q_values(counts.p_value, tested)
    if same_data:
        changed = comparable & counts.holds()
    else:
        changed = tested & counts.large & (np.nan_to_num(q_value, nan=1.0) <= _RATE)
    changed &= np.array([node != new.root for node in common.nodes], np.bool_)
    table = _table(old, new, common, (low, high), shown, counts, comparable, q_value, tested)
    means = (counts.old / counts.n_old, counts.new / counts.n_new)
    for name, mean in zip(("mean_old", "mean_new"), means, strict=True):
        table = table.with_columns(_null_unless(comparable & grouped, name, mean))
    return table.with_columns(pl.Series("changed", changed)), counts


def _table(
    old: Release,
    new: Release,
    common: Common,
    bounds: tuple[IntArray, IntArray],
    shown: Counts,
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
        pl.Series("support_old", old.numbers(common.nodes, "support").astype(np.int64)),
        pl.Series("support_new", shown.new),
        pl.Series("restated_low", bounds[0]),
        pl.Series("restated_high", bounds[1]),
        _null_unless(comparable, "rate_old", shown.old / shown.n_old),
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
