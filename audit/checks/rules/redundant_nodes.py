"""redundant_nodes: pairs of nodes used as one, and nodes that rarely occur without another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from audit.base.dag import IntArray, row
from audit.checks.check import Check, Outcome, first_unmet
from audit.checks.shared.carriers import carrying_both
from audit.disclosure import Quantity, count, derived
from audit.engine.pairs.redundancy import (
    ALWAYS,
    LEAST_SUPPORT,
    Places,
    Together,
    chain_ends,
    count_disjoint_pairs,
    overlapping_pairs,
    redundant_pairs,
)
from audit.engine.pairs.rows import stored
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.measure.rule_book import associations, first_association
from audit.results.findings import NODE, Column, Finding, times_limit

_NAME = "redundant_nodes"
_UNIT = "pairs of frequent nodes"
_COUNTS = ("instances", "support_a", "support_b")


def run(measured: Measurements) -> Outcome:
    """Report pairs of nodes used as one, and nodes that rarely occur without another."""
    hierarchy, support = measured.hierarchy, measured.support
    common = overlapping_pairs(hierarchy.edges, hierarchy.closure, support, LEAST_SUPPORT)
    family = count_disjoint_pairs(common, support, LEAST_SUPPORT)
    why_not = first_unmet(
        (int(measured.direct_support.sum()) > measured.labelled, "no instance has two labels"),
        (family, f"no two such nodes are on {LEAST_SUPPORT} instances each"),
    )
    if why_not:
        return Outcome(family, _UNIT, not_applicable=why_not)
    least, places = measured.policy.redundant_jaccard.value, Places(hierarchy.closure, support)
    pairs = _pairs(measured)
    kept = ~stored(common, pairs.a, pairs.b)
    ends = chain_ends(hierarchy.edges, support)
    pairs = pairs[kept & ends[pairs.a] & ends[pairs.b]]
    known = associations(hierarchy, measured.policy)
    in_use = measured.direct_support > 0
    required = first_association(hierarchy, known, in_use, pairs.a, pairs.b) >= 0
    left_out = int((required & (pairs.as_one(least) | pairs.beside())).sum())
    found = redundant_pairs(pairs, places, least, required)
    return Outcome(
        denominator=family - left_out,
        denominator_unit=_UNIT
        + (f"; {left_out} left out that a rule requires or the policy expects" * (left_out > 0)),
        findings=(
            *_redundant(measured, pairs[found.as_one]),
            *_contained_nodes(measured, pairs[found.beside]),
        ),
    )


def _pairs(measured: Measurements) -> Together:
    """Pairs of frequent nodes that meet at least as often as a reported pair must.

    The table of pairs is read once, a part of it at a time. What is expected by weight, where there
    are groups, is brought back to instances.
    """
    joint, a, b = (pl.col(name) for name in ("joint", "support_a", "support_b"))
    length, observed = pl.col("expected_length"), pl.col("observed")
    each = (joint - pl.col("joint_entailed")) / observed
    length = pl.when(observed > 0).then(length * each).otherwise(length)
    rarer, least = pl.min_horizontal(a, b), measured.policy.redundant_jaccard.value
    met = measured.pairs.frame.filter(
        (rarer >= LEAST_SUPPORT) & ((joint >= least * (a + b - joint)) | (joint >= ALWAYS * rarer))
    ).select(
        pl.col("a", "b").cast(pl.Enum(measured.hierarchy.nodes)).to_physical().cast(pl.Int64),
        pl.col("joint", "support_a", "support_b").cast(pl.Float64),
        "relation",
        instances=pl.lit(float(measured.labelled)),
        by_length=(length * measured.labelled / (a * b)).fill_null(1.0),
    )
    table = met.collect(engine="streaming").filter(pl.col("relation") != "ancestor")
    table = table.drop("relation").sort("a", "b")
    return Together(**{name: table[name].to_numpy() for name in table.columns})


def _redundant(measured: Measurements, pairs: Together) -> Iterator[Finding]:
    """A finding for each pair of nodes that behave as one, in node order."""
    either, low, chance = pairs.either, pairs.jaccard_low, pairs.jaccard_by_chance
    for place, (a, b, joint) in enumerate(_ends(pairs)):
        first, second = (measured.hierarchy.describe(node) for node in (a, b))
        apart = not _siblings(measured.hierarchy, a, b)
        curator, data_user = _APART if apart else _AS_SIBLINGS
        within = _within(measured, a, b, joint) if apart else None
        yield Finding(
            check=_NAME,
            severity="note",
            nodes=_ids(measured, a, b),
            statement="{instances} of {of} instances {instances|has|have} both "
            f"{first} and {second}[: {{both_share}} of those with at least one of the two, where "
            f"chance would give {{chance_share}}//; how often one is without the other is withheld]"
            f"{_HARDLY.format(*within) if within else ''}.",
            evidence=_counts(measured, a, b, joint)
            | {
                "both_share": derived(joint / either[place], *_COUNTS),
                "least_share": derived(low[place], *_COUNTS),
                "chance_share": derived(chance[place], *_COUNTS),
            }
            | ({"within_share": derived(within[2], *_COUNTS)} if within else {}),
            curator=curator,
            data_user=data_user,
            touched=joint,
            strength=float(low[place]),
            beyond=times_limit(float(low[place]), measured.policy.redundant_jaccard.value),
            key=(*_ids(measured, a, b), "redundant"),
            asks=apart,
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
_HARDLY = "[; {0} hardly occurs without {1} ({{within_share}} of its instances have that too)]"
_ALONE = 0.8
"""Least share of a node's instances with another node, from which neither stands alone."""


def _siblings(hierarchy: Hierarchy, a: int, b: int) -> bool:
    """Whether two nodes have a parent in common."""
    return not set(row(hierarchy.edges, a).tolist()).isdisjoint(row(hierarchy.edges, b).tolist())


def _within(measured: Measurements, a: int, b: int, joint: int) -> tuple[str, str, float] | None:
    """The node that hardly stands without the other, the other, and its share; None: neither."""
    rarer, other = sorted((a, b), key=lambda node: int(measured.support[node]))
    share, back = (joint / int(measured.support[node]) for node in (rarer, other))
    if share < ALWAYS or back >= _ALONE:
        return None
    describe = measured.hierarchy.describe
    return describe(rarer), describe(other), share


def _contained_nodes(measured: Measurements, pairs: Together) -> Iterator[Finding]:
    """A finding for each node that almost never stands without another, named before it."""
    low, chance = pairs.containment_low, pairs.containment_by_chance
    for place, (a, b, joint) in enumerate(_ends(pairs)):
        rarer, other = (a, b) if measured.support[a] <= measured.support[b] else (b, a)
        first, second = (measured.hierarchy.describe(node) for node in (rarer, other))
        yield Finding(
            check=_NAME,
            severity="note",
            nodes=_ids(measured, rarer, other),
            statement=f"[{{instances}} of {{support_a}} instances with {first} also "
            f"{{instances|has|have}} {second} ({{beside_share}}), where chance would give "
            "{chance_share}//"
            f"{first} mostly occurs with {second}; the number is withheld].",
            evidence=_counts(measured, rarer, other, joint)
            | {
                "beside_share": derived(joint / int(measured.support[rarer]), *_COUNTS),
                "least_share": derived(low[place], *_COUNTS),
                "chance_share": derived(chance[place], *_COUNTS),
            },
            curator="Where the first implies the second, say so in the hierarchy; where it does "
            "not, find out whether the second is filled in by habit or by a default.",
            data_user="Do not read the second as an observation in addition to the first.",
            touched=joint,
            strength=float(pairs.jaccard_low[place]),
            beyond=times_limit(float(low[place]), ALWAYS),
            key=(*_ids(measured, rarer, other), "beside"),
            asks=True,
        )


def _ends(pairs: Together) -> list[tuple[int, int, int]]:
    """Both nodes of each pair, and the instances with both."""
    joint = pairs.joint.astype(np.int64)
    return list(zip(pairs.a.tolist(), pairs.b.tolist(), joint.tolist(), strict=True))


def _ids(measured: Measurements, *nodes: int) -> tuple[str, ...]:
    return tuple(measured.hierarchy.nodes[node] for node in nodes)


def _counts(measured: Measurements, first: int, second: int, joint: int) -> dict[str, Quantity]:
    n, (support_a, support_b) = measured.n_instances, measured.support[[first, second]].tolist()
    return {
        "instances": count(joint, n, support_a, support_b),
        "of": Quantity(n),
        "support_a": count(support_a, n),
        "support_b": count(support_b, n),
    }


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances that carry both nodes."""
    a, b = finding.nodes
    return carrying_both(measured, a, b)


CHECK = Check(
    _NAME,
    "Are two labels used as one?",
    run,
    counts_with=("redundant_jaccard",),
    cases=cases,
    columns=(
        NODE,
        Column("With", "other"),
        Column("Share with both", "beside_share both_share"),
        Column("By chance", "chance_share"),
        Column("Instances with both", "instances"),
    ),
)
