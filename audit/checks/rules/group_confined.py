"""group_confined: nodes used by one site, coder or split only, though others use their parent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
from audit.base.declared import Columns, chance, count, share
from audit.checks.check import Check, Limit, Outcome, first_unmet
from audit.checks.shared.carriers import carrying
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import wilson
from audit.measure.measure import Measurements
from audit.measure.rule_book import at_or_below
from audit.results.findings import Finding, times_limit

_NAME = "group_confined"
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


@dataclass(frozen=True)
class _Confined:
    """A node all of whose units have one value, beside the parent that speaks most for chance."""

    column: _Column
    value: int
    node: int
    parent: int
    p_value: float


def run(measured: Measurements) -> Outcome:
    """Report nodes confined to one value of a column; of nested ones, the most general.

    A node is tested if enough units carry it, and each of its parents occurs with several values,
    one of which is frequent enough to hold all units of the node. Totals alone decide which nodes
    are tested.
    """
    person = measured.policy.person
    asked = [name for name in measured.loaded.columns if not person or name not in person.columns]
    columns = [column for name in asked if (column := _counted(measured, name))]
    judged = sum(int(_judged(measured, column).sum()) for column in columns)
    confined = [found for column in columns for found in _confined(measured, column)]
    q_values = benjamini_hochberg(np.array([found.p_value for found in confined]), judged)
    rate = measured.policy.false_discovery_rate.value
    return Outcome(
        denominator=judged,
        denominator_unit="nodes judged, in each column that divides the instances",
        findings=tuple(
            _finding(measured, found, float(q), judged)
            for found, q in zip(confined, q_values, strict=True)
            if q <= rate
        ),
        not_applicable=first_unmet(
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


def _confined(measured: Measurements, column: _Column) -> Iterator[_Confined]:
    total = column.total
    for node in np.flatnonzero(_judged(measured, column) & (column.most == total)).tolist():
        chances = [
            (_chance(column.of(parent), int(total[node])), parent)
            for parent in row(measured.hierarchy.edges, node).tolist()
        ]
        p_value, parent = max(chances)
        value = int(column.of(node).argmax())
        yield _Confined(column, value, node, parent, p_value)


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


def _finding(measured: Measurements, found: _Confined, q_value: float, family: int) -> Finding:
    hierarchy, column = measured.hierarchy, found.column
    in_parent = column.of(found.parent)
    units, there = int(column.of(found.node).sum()), int(in_parent[found.value])
    of_parent = int(in_parent.sum())
    value, unit = column.values[found.value], _unit(measured)
    low = float(wilson(units, units)[0])
    chain = _chain(measured, found.node)
    touched = int(measured.support[found.node])
    return Finding(
        check=_NAME,
        severity="note",
        nodes=tuple(hierarchy.nodes[i] for i in chain),
        statement=f"All[ {{units}}] {unit} with {hierarchy.describe(chain[0])} have the "
        f"{column.name} {value!r}[, which {{parent_share}} of all {{of_parent}} "
        f"with {hierarchy.describe(found.parent)} have].",
        evidence={
            "units": units,
            "low": low,
            "of_parent": of_parent,
            "parent_units": there,
            "parent_share": there / of_parent,
            "instances": touched,
            "p_value": found.p_value,
            "q_value": q_value,
            "family": family,
        },
        curator=f"Find out how the annotators of this {column.name} use the node, and what the "
        "others use in its place; write one rule for all.",
        data_user=f"Do not use the node across values of {column.name}: a model may learn the "
        f"{column.name} from it.",
        touched=touched,
        beyond=times_limit(low, there / of_parent),
        key=(column.name, hierarchy.nodes[found.node]),
    )


def _unit(measured: Measurements) -> str:
    return "instances" if measured.loaded.group_of is None else "groups"


def _chain(measured: Measurements, node: int) -> list[int]:
    """The node after those below it that the same instances carry, the most specific first."""
    below = row(measured.hierarchy.below, node)
    same = below[measured.support[below] == measured.support[node]]
    return sorted(same.tolist(), key=lambda i: (-measured.hierarchy.depth[i], i))


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances that carry the confined node."""
    _, node = finding.key
    return carrying(measured, node)


CHECK = Check(
    _NAME,
    "Is a label used by one site, coder or split alone?",
    run,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    needs="instances",
    cases=cases,
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
