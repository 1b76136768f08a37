"""redundant_nodes: pairs of nodes used as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from audit.base.dag import FloatArray, IntArray, row
from audit.base.declared import Columns, chance, count, share
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.carriers import carrying_both
from audit.checks.shared.evidence import ALL
from audit.engine.pairs.redundancy import (
    LEAST_SUPPORT,
    Places,
    Together,
    chain_ends,
    count_disjoint_pairs,
    overlapping_pairs,
    redundant_pairs,
)
from audit.engine.pairs.rows import stored
from audit.engine.statistics.intervals import at_freedom, effective_n
from audit.measure.measure import Measurements
from audit.measure.rule_book import associations, first_association
from audit.results.findings import Evidence, times_limit
from audit.sharing.bins import Bins
from audit.sharing.told import two_digits

_SUPPORTS = ("support_a", "support_b")


def _redundant(measured: Measurements) -> Rows:
    """Report pairs of nodes used as one."""
    hierarchy, support = measured.hierarchy, _told(measured)
    used = np.where(support, support, np.minimum(measured.support, 1))
    common = overlapping_pairs(hierarchy.edges, hierarchy.closure, used, LEAST_SUPPORT)
    family = count_disjoint_pairs(common, support, LEAST_SUPPORT)
    least, places = measured.policy.redundant_jaccard.value, Places(hierarchy.closure, support)
    pairs = _pairs(measured)
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


def _told(measured: Measurements) -> IntArray:
    """The instances that carry each node, as told; 0 for few, and where none is told."""
    bins, support = measured.rounding.bins("instances"), measured.support
    return np.asarray(bins.all_told(support) * (bins.tells & (support > bins.width)), np.int64)


def held(pairs: Together, bins: Bins) -> Together:
    """Pairs as limits on shares read them, with what is expected by told factors."""
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


def _pairs(measured: Measurements) -> Together:
    """Pairs of frequent nodes that meet at least as often as a reported pair must, as told.

    The table of pairs is read once, a part of it at a time. What is expected by weight, where there
    are groups, is brought back to instances.
    """
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
    return Together(*(column.to_numpy() for column in table.iter_columns()))


def _worth(measured: Measurements, pairs: Together, group_of: IntArray) -> FloatArray:
    """What one instance with either node is worth, of each pair; 0 where few groups have both."""
    worth = np.zeros(len(pairs))
    for place, (a, b) in enumerate(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)):
        one, other = (row(measured.loaded.carriers, node) for node in (a, b))
        either = np.union1d(one, other)
        both = np.isin(either, np.intersect1d(one, other, assume_unique=True))
        groups, number = np.unique(group_of[either], return_inverse=True)
        n, k = (np.bincount(number, one).astype(np.float64) for one in (both | True, both))
        if np.count_nonzero(k) >= measured.policy.least_joint.value:
            effective = at_freedom(effective_n(k, n), len(either), len(groups))
            worth[place] = effective / len(either)
    return worth


def _as_one(measured: Measurements, pairs: Together) -> Iterator[Row]:
    """A row for each pair of nodes that behave as one, in node order."""
    limit, edges = measured.policy.redundant_jaccard.value, measured.hierarchy.edges
    numbers = (pairs.a, pairs.b, pairs.joint, pairs.either)
    each = (column.astype(np.int64).tolist() for column in numbers)
    ends = pairs.jaccard_low.tolist(), pairs.jaccard_by_chance.tolist()
    for a, b, joint, either, low, by_chance in zip(*each, *ends, strict=True):
        first, second = (measured.hierarchy.describe(node) for node in (a, b))
        apart = set(row(edges, a).tolist()).isdisjoint(row(edges, b).tolist())
        curator, data_user = _APART if apart else _AS_SIBLINGS
        hardly, within = _within(measured, a, b, joint) if apart else ("", {})
        nodes, evidence, cases = _counted(measured, a, b, joint)
        yield Row(
            nodes=nodes,
            sentence="{instances} of {of} instances {instances|has|have} both "
            f"{first} and {second}[: {{both_share}} of those with at least one of the two][, where "
            f"chance would give {{chance_share}}]{hardly}.",
            evidence={
                **evidence,
                "either": either,
                "both_share": joint / either,
                "least_share": low,
                "chance_share": by_chance,
                **within,
            },
            curator=curator,
            data_user=data_user,
            strength=low,
            beyond=times_limit(low, limit),
            key=(*nodes, "redundant"),
            asks=apart,
            cases=cases,
        )


_AS_SIBLINGS = (
    "Look at records with one of the two and not the other. Where both mean the same, merge them "
    "or put one below the other; where they do not, say in the labelling guide when each of them "
    "is right.",
    "Do not count the two as two observations, and do not expect a model to distinguish them.",
)
_APART = (
    "Where the two belong together (two names of one event, a disease and what is done for it, or "
    "what a rule demands), name the pair under expected in the policy; else look at records with "
    "both for a template.",
    "Count the two once.",
)
"""What a curator and what a data user is told to do, by the place of the two nodes."""
_HARDLY, _ALONE = 0.95, 0.8
"""Shares of a node's instances with another: of one that hardly stands alone at least the first, of
one that does less than the second."""


def _within(measured: Measurements, a: int, b: int, joint: int) -> tuple[str, Evidence]:
    """What is said, and counted, of a node that hardly stands without the other, while the other
    does; nothing of two of which neither does."""
    bins, support = measured.rounding.bins("instances"), _told(measured)
    rarer, other = sorted((a, b), key=lambda node: int(support[node]))
    of, back = (int(measured.support[node]) for node in (rarer, other))
    (both, every), (most, others) = bins.at_limit(joint, of), bins.at_upper_limit(joint, back)
    if both / every < _HARDLY or most / others >= _ALONE:
        return "", {}
    one, without = map(measured.hierarchy.describe, (rarer, other))
    return (
        f"[; {one} hardly occurs without {without} ({{within_share}} of its instances have that "
        "too)]",
        {"rarer": of, "within_share": joint / of},
    )


def _counted(
    measured: Measurements, a: int, b: int, joint: int
) -> tuple[tuple[str, str], Evidence, Callable[[], IntArray]]:
    """Two nodes, on how many instances each is and both are, and what finds these."""
    nodes = measured.hierarchy.nodes[a], measured.hierarchy.nodes[b]
    support_a, support_b = measured.support[[a, b]].tolist()
    evidence = {
        "instances": joint,
        "of": measured.n_instances,
        "support_a": support_a,
        "support_b": support_b,
    }
    return nodes, evidence, partial(carrying_both, measured, *nodes)


CHECK = check_of_rows(
    "redundant_nodes",
    "Are two labels used as one?",
    _redundant,
    counts_with=("redundant_jaccard", "least_joint"),
    nodes="Node|With",
    evidence=Columns(
        ALL,
        share("both_share", "Share with both", of="instances either"),
        share("within_share", of="instances rarer"),
        chance("chance_share least_share", "By chance", unit="%"),
        count("instances support_a support_b either rarer", "Instances with both"),
    ),
    denominator="untold",
)
