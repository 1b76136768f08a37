"""group_confined: nodes used by one site, coder or split only, though others use their parent."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from audit.base.dag import BoolArray, IntArray, Sparse, row
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


def _confined(measured: Measurements) -> Rows:
    """Nodes confined to one value of a column, each beside the parent likeliest by chance."""
    person, edges = measured.policy.person, measured.hierarchy.edges
    asked = [name for name in measured.loaded.columns if not person or name not in person.columns]
    family, found = 0, list[dict[str, Any]]()
    for column in asked:
        values, value_of = measured.loaded.dataset.values_of(column)
        if len(values) < 2:
            continue
        carried = _units(measured, value_of, len(values))
        total, most = carried.sum(axis=1), carried.max(axis=1).toarray().ravel()
        judged = _judged(measured, column, total, most)
        family += int(judged.sum())
        for node in np.flatnonzero(judged & (most == total)).tolist():
            there, units = carried[[node]].toarray().argmax(), int(total[node])
            above = {i: carried[[i]].toarray()[0] for i in row(edges, node).tolist()}
            p_value, parent = max((_chance(own, units), i) for i, own in above.items())
            of_parent, parent_units = int(total[parent]), int(above[parent][there])
            evidence = {
                "units": units,
                "low": float(wilson(units, units)[0]),
                "of_parent": of_parent,
                "parent_units": parent_units,
                "parent_share": parent_units / of_parent,
                "instances": int(measured.support[node]),
                "p_value": p_value,
            }
            place = {"column": column, "value": values[there], "node": node, "parent": parent}
            found.append({**place, "evidence": evidence})
    p_values = [one["evidence"]["p_value"] for one in found]
    return Rows(
        family,
        "nodes judged, in each column that divides the instances",
        (
            _row(measured, **one, tested={"q_value": q_value, "family": family})
            for one, q_value in significant(measured, found, p_values, family)
        ),
        first_unmet(
            (
                len(measured.loaded.dataset.splits) or asked[1:],
                "neither a split nor a strata column is named",
            )
        ),
    )


def _units(measured: Measurements, value_of: IntArray, n_values: int) -> Sparse:
    """Groups, or instances, of each value that carry each node, shape (n_nodes, n_values)."""
    known = np.flatnonzero(value_of >= 0)
    group = known if measured.loaded.group_of is None else measured.loaded.group_of[known]
    unit, place = np.unique(group * n_values + value_of[known], return_inverse=True)
    ones = np.ones(measured.n_instances, np.int64)
    members = csr_array((ones[known], (place, known)), shape=(len(unit), len(ones)))
    carried = csr_array(members @ measured.loaded.aggregated)
    carried.data[:] = 1
    of_value = csr_array((ones[: len(unit)], (np.arange(len(unit)), unit % n_values)))
    return csr_array(carried.T @ of_value)


def _judged(measured: Measurements, column: str, total: IntArray, most: IntArray) -> BoolArray:
    """Nodes of the family, by totals of node and parents alone, shape (n_nodes,)."""
    policy, (node, parent) = measured.policy, measured.hierarchy.edges.tocoo().coords
    fits = (most[parent] < total[parent]) & (most[parent] >= total[node])
    below, fitting = (np.bincount(node[some], minlength=len(total)) for some in (fits >= 0, fits))
    judged: BoolArray = (total >= LEAST_UNITS) & (below > 0) & (below == fitting)
    if column not in ("split", *policy.coding_columns):
        named = [node for rule in policy.person_rules for node in rule.nodes_named]
        judged &= ~at_or_below(measured.hierarchy, named)
    return judged


def _chance(by_value: IntArray, units: int) -> float:
    """Chance that units drawn from those of a parent all have one value, whichever it is.

    >>> round(_chance(np.array([2, 2]), 2), 4)
    0.3333
    """
    n = np.append(by_value[by_value >= units], by_value.sum()).astype(np.float64)
    ways = gammaln(n + 1) - gammaln(units + 1) - gammaln(n - units + 1)
    return min(float(np.exp(ways[:-1] - ways[-1]).sum()), 1.0)


def _row(
    measured: Measurements,
    *,
    column: str,
    value: str,
    node: int,
    parent: int,
    evidence: dict[str, float],
    tested: dict[str, float],
) -> Row:
    hierarchy = measured.hierarchy
    unit = "instances" if measured.loaded.group_of is None else "groups"
    # The node after those below it that the same instances carry, the most specific first.
    below = row(hierarchy.below, node)
    same = below[measured.support[below] == measured.support[node]]
    chain = same[np.lexsort((same, -hierarchy.depth[same]))].tolist()
    return Row(
        nodes=tuple(hierarchy.nodes[i] for i in chain),
        sentence=f"All[ {{units}}] {unit} with {hierarchy.describe(chain[0])} have the "
        f"{column} {value!r}[, which {{parent_share}} of all {{of_parent}} "
        f"with {hierarchy.describe(parent)} have].",
        evidence={**evidence, **tested},
        curator=f"Find out how the annotators of this {column} use the node, and what the "
        "others use in its place; write one rule for all.",
        data_user=f"Do not use the node across values of {column}: a model may learn the "
        f"{column} from it.",
        beyond=times_limit(evidence["low"], evidence["parent_share"]),
        key=(column, hierarchy.nodes[node]),
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
