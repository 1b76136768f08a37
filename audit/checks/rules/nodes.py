"""redundant_nodes, group_confined: nodes used as one, and nodes that one site, coder or split uses
alone, though others use their parent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.special import gammaln

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
from audit.base.declared import Columns, chance, count, share
from audit.checks.rows import ALL, Row, Rows, check_of_rows, significant
from audit.checks.shared.carriers import carrying_both
from audit.engine.pairs.redundancy import (
    LEAST_SUPPORT,
    NodePairs,
    Places,
    chain_ends,
    count_disjoint_pairs,
    overlapping_pairs,
    redundant_pairs,
)
from audit.engine.pairs.rows import stored
from audit.engine.statistics.intervals import at_freedom, effective_n, wilson
from audit.measure.measure import Measurements
from audit.measure.rule_book import associations, at_or_below, first_association
from audit.results.findings import times_limit
from audit.sharing.bins import Bins
from audit.sharing.told import two_digits

_SUPPORTS = ("support_a", "support_b")


def _redundant(measured: Measurements) -> Rows:
    """Pairs of nodes that are used as one.

    Each is on 11 instances or more, neither is above the other, and no node in use is below both.
    Of the instances with either, the share with both is [at
    least](methods/pairs.md#nodes-used-as-one) `redundant_jaccard` (0.5) by its lower Wilson bound,
    and more than the length of records explains. With groups instances count by their [effective
    number](methods/residuals.md#residual-share), and at least `least_joint` groups must have both.
    Of nodes on a chain with the same instances the most specific represents all. From the highest
    lower bound on, every other pair is measured again without the instances that follow from a
    found one. Pairs that the policy expects, or a `missing_companion` rule needs, are left out and
    counted.

    **Severity.** Note, by instances with both times the lower bound; none to act on first where no
    shared parent says much (`not_specific`). Nodes with lost zeros (`lost_zero`) come last.
    **Limits.** Things that go together look the same. [Told counts](methods/small_cells.md) decide.
    """
    hierarchy, support = measured.hierarchy, _told_support(measured)
    used = np.where(support, support, np.minimum(measured.support, 1))
    common = overlapping_pairs(hierarchy.edges, hierarchy.closure, used, LEAST_SUPPORT)
    family = count_disjoint_pairs(common, support, LEAST_SUPPORT)
    least, places = measured.policy.redundant_jaccard.value, Places(hierarchy.closure, support)
    pairs = _often_together(measured)
    kept = ~stored(common, pairs.a, pairs.b)
    ends = chain_ends(hierarchy.edges, support)
    pairs = pairs[kept & ends[pairs.a] & ends[pairs.b]]
    if measured.instances is not None and measured.instances.group_of is not None:
        pairs = replace(pairs, worth=_worth(measured, pairs, measured.instances.group_of))
    known = associations(hierarchy, measured.policy)
    in_use = measured.direct_support > 0
    required = first_association(hierarchy, known, in_use, pairs.a, pairs.b) >= 0
    told = held(pairs, measured.rounding.bins("instances"))
    left_out = int((required & told.as_one(least)).sum())
    found = redundant_pairs(told, places, least, required)
    return Rows(
        family - left_out,
        "pairs of frequent nodes",
        _as_one(measured, pairs[found]),
    )


def _told_support(measured: Measurements) -> IntArray:
    """The instances that carry each node, as told; 0 for few, and where none is told."""
    bins, support = measured.rounding.bins("instances"), measured.support
    return np.asarray(bins.all_told(support) * (bins.tells & (support > bins.width)), np.int64)


def held(pairs: NodePairs, bins: Bins) -> NodePairs:
    """Pairs as limits on shares read them, expected by told factors; the same if exact."""
    if not bins.width:
        return pairs
    ends = {name: bins.at_limit(pairs.joint, getattr(pairs, name)) for name in _SUPPORTS}
    return replace(
        pairs,
        joint=np.minimum(*(joint for joint, _ in ends.values())),
        by_length=two_digits(pairs.by_length),
        width=bins.width,
        **{name: support for name, (_, support) in ends.items()},
    )


def _often_together(measured: Measurements) -> NodePairs:
    """Pairs of frequent nodes whose told share with both is `redundant_jaccard` or more."""
    joint, a, b = (pl.col(name) for name in ("joint", *_SUPPORTS))
    length, observed = pl.col("expected_length"), pl.col("observed")
    each = (joint - pl.col("joint_entailed")) / observed
    length = pl.when(observed > 0).then(length * each).otherwise(length)
    bins, least = measured.rounding.bins("instances"), measured.policy.redundant_jaccard.value
    both, *each_end = (bins.all_told(one.cast(pl.Int64)) for one in (joint, a, b))
    rarer, either = pl.min_horizontal(each_end), pl.sum_horizontal(each_end) - both
    met = measured.pairs.frame.filter(
        bins.tells & (rarer >= LEAST_SUPPORT) & (both >= least * either)
    ).select(
        pl.col("a", "b").cast(pl.Enum(measured.hierarchy.nodes)).to_physical().cast(pl.Int64),
        pl.col("joint", *_SUPPORTS).cast(pl.Float64),
        "relation",
        instances=pl.lit(float(measured.labelled)),
        by_length=(length * measured.labelled / (a * b)).fill_null(1.0),
        worth=pl.lit(1.0),
    )
    table = met.collect(engine="streaming").filter(pl.col("relation") != "ancestor")
    table = table.drop("relation").sort("a", "b")
    return NodePairs(*(column.to_numpy() for column in table.iter_columns()))


def _worth(measured: Measurements, pairs: NodePairs, group_of: IntArray) -> FloatArray:
    """What one instance with either node is worth, of each pair; 0 where few groups have both."""
    worth = np.zeros(len(pairs))
    for place, (a, b) in enumerate(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)):
        one, other = (measured.loaded.at_nodes.carrying(node) for node in (a, b))
        either = np.union1d(one, other)
        both = np.isin(either, np.intersect1d(one, other, assume_unique=True))
        groups, number = np.unique(group_of[either], return_inverse=True)
        n, k = (np.bincount(number, one).astype(np.float64) for one in (both | True, both))
        if np.count_nonzero(k) >= measured.policy.least_joint.value:
            effective = at_freedom(effective_n(k, n), len(either), len(groups))
            worth[place] = effective / len(either)
    return worth


def _as_one(measured: Measurements, pairs: NodePairs) -> Iterator[Row]:
    """A row for each pair of nodes that behave as one, in node order."""
    limit, edges = measured.policy.redundant_jaccard.value, measured.hierarchy.edges
    vague = {*np.flatnonzero(measured.hierarchy.uninformative).tolist()}
    numbers = (pairs.a, pairs.b, pairs.joint, pairs.either)
    each = (column.astype(np.int64).tolist() for column in numbers)
    ends = pairs.jaccard_low.tolist(), pairs.jaccard_by_chance.tolist()
    for a, b, joint, either, low, by_chance in zip(*each, *ends, strict=True):
        first, second = (measured.hierarchy.describe(node) for node in (a, b))
        apart = vague.issuperset({*row(edges, a).tolist()} & {*row(edges, b).tolist()})
        curator, data_user = _APART if apart else _AS_SIBLINGS
        nodes = measured.hierarchy.nodes[a], measured.hierarchy.nodes[b]
        support_a, support_b = measured.support[[a, b]].tolist()
        yield Row(
            nodes=nodes,
            sentence="{instances} of {of} instances {instances|has|have} both "
            f"{first} and {second}[: {{both_share}} of those with at least one of the two][, where "
            "chance would give {chance_share}].",
            evidence={
                "instances": joint,
                "of": measured.n_instances,
                "support_a": support_a,
                "support_b": support_b,
                "either": either,
                "both_share": joint / either,
                "least_share": low,
                "chance_share": by_chance,
            },
            curator=curator,
            data_user=data_user,
            strength=low,
            beyond=times_limit(low, limit),
            key=(*nodes, "redundant"),
            asks=apart,
            cases=partial(carrying_both, measured, *nodes),
        )


_AS_SIBLINGS = (
    "Where both mean the same, merge them or put one below the other; where they do not, say in "
    "the labelling guide when each of them is right. Records with one of the two and not the other "
    "show which it is.",
    "Do not count the two as two observations, and do not expect a model to distinguish them.",
)
_APART = (
    "Where the two belong together (two names of one event, a disease and what is done for it, or "
    "what a rule demands), name the pair under expected in the policy; else look at records with "
    "both for a template.",
    "Count the two once.",
)
"""What a curator and what a data user is told to do, by the place of the two nodes."""
REDUNDANT_NODES = check_of_rows(
    "redundant_nodes",
    "Are two labels used as one?",
    _redundant,
    nodes="Node|With",
    evidence=Columns(
        ALL,
        share("both_share", "Share with both", of="instances either"),
        chance("chance_share least_share", "By chance", unit="%"),
        count("instances support_a support_b either", "Instances with both"),
    ),
    denominator="untold",
)


LEAST_UNITS = 11
"""Least number of groups, or instances without groups, that carry a node for it to be tested."""


def _confined(measured: Measurements) -> Rows:
    """Nodes all of whose instances have one value of a column, while those of each parent have
    several.

    Columns are the split and those of `--strata` or the policy (`strata`, `drift`; not a person's
    sex and age). A group counts once in each of its values. A node below a confined one is not told
    again. Nodes are judged on 11 units (groups or instances) or more, where every parent is in
    several values, one often enough to hold them all; those of `person_rules` over the split and
    `coding_columns` alone.

    With k units of the node and N_v of the parent in value v, N in all: p = sum over v of C(N_v, k)
    / C(N, k), of several parents the largest; Benjamini-Hochberg with p = 1 for nodes not confined.
    The effect is `parent_share`, the parent's share in that value.

    **Severity.** Note: sites differ in whom they see.
    """
    person, edges = measured.policy.person, measured.hierarchy.edges
    asked = [name for name in measured.loaded.columns if not person or name not in person.columns]
    family, found = 0, list[tuple[tuple[str, str, int, int], dict[str, float]]]()
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
            found.append(((column, values[there], node, parent), evidence))
    tested = significant(measured, found, (own["p_value"] for _, own in found), family)
    named = len(measured.loaded.dataset.splits) or asked[1:]
    return Rows(
        family,
        "nodes judged, in each column that divides the instances",
        (
            _confined_row(measured, *place, {**evidence, "q_value": q, "family": family})
            for (place, evidence), q in tested
        ),
        "" if named else "neither a split nor a strata column is named",
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
    """Whether each node is judged, by totals of node and parents alone, shape (n_nodes,)."""
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


def _confined_row(
    measured: Measurements,
    column: str,
    value: str,
    node: int,
    parent: int,
    evidence: dict[str, float],
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
        evidence=evidence,
        curator=f"Find out how the annotators of this {column} use the node, and what the "
        "others use in its place; write one rule for all.",
        data_user=f"Do not use the node across values of {column}: a model may learn the "
        f"{column} from it.",
        beyond=times_limit(evidence["low"], evidence["parent_share"]),
        key=(column, hierarchy.nodes[node]),
        cases=measured.loaded.at_nodes.carrying(node),
    )


GROUP_CONFINED = check_of_rows(
    "group_confined",
    "Is a label used by one site, coder or split alone?",
    _confined,
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
