"""group_confined: nodes used by one site, coder or split only, though others use their parent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
from audit.base.declared import Columns, chance, count, share
from audit.checks.check import Limit, first_unmet
from audit.checks.rows import Row, Rows, check_of_rows, significant
from audit.checks.shared.carriers import carrying
from audit.engine.statistics.intervals import wilson
from audit.measure.measure import Measurements
from audit.measure.rule_book import at_or_below
from audit.results.findings import times_limit

LEAST_UNITS = 11
"""Least number of groups (or of instances, without groups) that carry a node for it to be
tested.
"""


@dataclass(frozen=True, eq=False)
class _Column:
    """One column of the instances, counted over units: each group, or instance, of each value."""

    name: str
    values: Sequence[str]
    carried: Sparse
    """Units of each value that carry each node, shape (n_nodes, n_values), int64 CSR."""

    @property
    def total(self) -> IntArray:
        """Units that carry each node, shape (n_nodes,)."""
        return np.asarray(self.carried.sum(axis=1), np.int64)

    @property
    def most(self) -> IntArray:
        """The same of the value with the most, shape (n_nodes,)."""
        return np.asarray(self.carried.max(axis=1).toarray(), np.int64).ravel()

    def of(self, node: int) -> IntArray:
        """Units of each value that carry a node, shape (n_values,)."""
        return np.asarray(self.carried[[node]].toarray(), np.int64).ravel()


def _confined(measured: Measurements) -> Rows:
    """Report nodes confined to one value of a column; of nested ones, the most general.

    A node is tested if enough units carry it, and each of its parents occurs with several values,
    one of which is frequent enough to hold all units of the node. Totals alone decide which nodes
    are tested. Beside a node stands the parent that speaks most for chance.
    """
    person = measured.policy.person
    asked = [name for name in measured.loaded.columns if not person or name not in person.columns]
    columns = [column for name in asked if (column := _counted(measured, name))]
    judged = [(column, _judged(measured, column)) for column in columns]
    family = sum(int(some.sum()) for _, some in judged)
    found = [
        (column, node, *max(_chances(measured, column, node)))
        for column, some in judged
        for node in np.flatnonzero(some & (column.most == column.total)).tolist()
    ]
    p_values = [p_value for _, _, p_value, _ in found]
    return Rows(
        family,
        "nodes judged, in each column that divides the instances",
        (
            _row(measured, *one, q_value, family)
            for one, q_value in significant(measured, found, p_values, family)
        ),
        first_unmet(
            (
                len(measured.loaded.dataset.splits) or asked[1:],
                "neither a split nor a strata column is named",
            )
        ),
    )


def _counted(measured: Measurements, name: str) -> _Column | None:
    """The column, with each group counted once in each of its values; None without two values."""
    values, value = measured.loaded.dataset.values_of(name)
    if len(values) < 2:
        return None
    known = np.flatnonzero(value >= 0)
    group = known if measured.loaded.group_of is None else measured.loaded.group_of[known]
    unit, of = np.unique(group * len(values) + value[known], return_inverse=True)
    carriers = _indicator(of, known, (len(unit), measured.n_instances)) @ measured.loaded.aggregated
    carriers.data[:] = 1
    shape = (len(unit), len(values))
    by_value = carriers.T @ _indicator(np.arange(len(unit)), unit % len(values), shape)
    return _Column(name, values, csr_array(by_value))


def _indicator(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Sparse:
    return csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=shape)


def _judged(measured: Measurements, column: _Column) -> BoolArray:
    """Nodes of the family, shape (n_nodes,): totals of node and parents alone decide.

    Of what is told of persons, nodes that a rule on persons covers are left out: the rule says why
    they are confined.
    """
    total, most, policy = column.total, column.most, measured.policy
    judged: BoolArray = total >= LEAST_UNITS
    if column.name not in ("split", *policy.coding_columns):
        named = [node for rule in policy.person_rules for node in rule.nodes_named]
        judged &= ~at_or_below(measured.hierarchy, named)
    for node in np.flatnonzero(judged).tolist():
        parents = row(measured.hierarchy.edges, node)
        judged[node] = len(parents) > 0 and bool(
            np.all((most[parents] < total[parents]) & (most[parents] >= total[node]))
        )
    return judged


def _chances(measured: Measurements, column: _Column, node: int) -> Iterator[tuple[float, int]]:
    """Beside each parent, the chance that all units with a node have one value."""
    units = int(column.of(node).sum())
    for parent in row(measured.hierarchy.edges, node).tolist():
        yield _chance(column.of(parent), units), parent


def _chance(by_value: IntArray, units: int) -> float:
    """Chance that units drawn from those of a parent all have one value, whichever it is.

    >>> round(_chance(np.array([2, 2]), 2), 4)
    0.3333
    """
    ways: FloatArray = _log_choose(by_value[by_value >= units].astype(np.float64), units)
    all_ways = _log_choose(np.array([by_value.sum()], np.float64), units)
    return min(float(np.exp(ways - all_ways).sum()), 1.0)


def _log_choose(n: FloatArray, k: int) -> FloatArray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), np.float64)


def _row(
    measured: Measurements,
    column: _Column,
    node: int,
    p_value: float,
    parent: int,
    q_value: float,
    family: int,
) -> Row:
    hierarchy, own, in_parent = measured.hierarchy, column.of(node), column.of(parent)
    place, units, of_parent = int(own.argmax()), int(own.sum()), int(in_parent.sum())
    there, value = int(in_parent[place]), column.values[place]
    unit = "instances" if measured.loaded.group_of is None else "groups"
    low = float(wilson(units, units)[0])
    # The node after those below it that the same instances carry, the most specific first.
    below = row(hierarchy.below, node)
    same = below[measured.support[below] == measured.support[node]]
    chain = same[np.lexsort((same, -hierarchy.depth[same]))].tolist()
    return Row(
        nodes=tuple(hierarchy.nodes[i] for i in chain),
        sentence=f"All[ {{units}}] {unit} with {hierarchy.describe(chain[0])} have the "
        f"{column.name} {value!r}[, which {{parent_share}} of all {{of_parent}} "
        f"with {hierarchy.describe(parent)} have].",
        evidence={
            "units": units,
            "low": low,
            "of_parent": of_parent,
            "parent_units": there,
            "parent_share": there / of_parent,
            "instances": int(measured.support[node]),
            "p_value": p_value,
            "q_value": q_value,
            "family": family,
        },
        curator=f"Find out how the annotators of this {column.name} use the node, and what the "
        "others use in its place; write one rule for all.",
        data_user=f"Do not use the node across values of {column.name}: a model may learn the "
        f"{column.name} from it.",
        beyond=times_limit(low, there / of_parent),
        key=(column.name, hierarchy.nodes[node]),
        cases=lambda: carrying(measured, hierarchy.nodes[node]),
    )


CHECK = check_of_rows(
    "group_confined",
    "Is a label used by one site, coder or split alone?",
    _confined,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    needs="instances",
    nodes="Node",
    evidence=Columns(
        count("instances", "Instances"),
        count("of_parent"),  # a group of two values counts twice among a parent's
        count("units parent_units", "With the node", of="groups", under="of_parent"),
        share("parent_share", "Parent’s share there", of="parent_units of_parent"),
        chance("low p_value q_value family"),
    ),
    denominator="untold",
)
