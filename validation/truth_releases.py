"""The releases that findings are held against: over real classifications, with room for faults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import polars as pl

from audit.base import dag
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy
from audit.policy.reading import built_in_policy
from fixtures.labelled import rows_mapped
from fixtures.synthetic import Release, Usage
from fixtures.synthetic.usage import (
    DIAGNOSES,
    bottom_nodes,
    moderate,
    residual_nodes,
    shuffled,
    tables_of,
)

RESIDUAL_SHARE = 0.33
"""What residual nodes hold of a parent at most."""
DISEASES = "001-999"


@dataclass(frozen=True)
class Sites:
    """Nodes kept free for faults, so that no two faults meet; each below a category of its own.

    Args:
        residual: A parent with residual and specific labels below.
        confined: A label and a sibling.
        beside: A label that a habit puts another beside.
        always: A label that another always stands beside.
        exchanged: Two labels below one parent that no record has together.
        heading: A heading with labels below.
    """

    residual: str
    confined: tuple[str, str]
    beside: str
    always: str
    exchanged: tuple[str, str]
    heading: str


@cache
def icd9cm() -> Hierarchy:
    """ICD-9-CM."""
    return load_hierarchy("icd9cm")


def icd9cm_with_sites(
    *, seed: int, nodes: int = 2_000, exponent: float = 1.0
) -> tuple[Usage, Sites]:
    """A usage of diseases with a Zipf tail, and the nodes that faults are planted at.

    Nothing calls for another, and but for ``exchanged`` nothing excludes another: hypertension and
    diabetes, which have kinds that exclude each other, and manifestations, which never stand
    first, are not in use.
    """
    hierarchy, rng = icd9cm(), np.random.default_rng(seed)
    members = _free_diseases()
    sites, weights = _draw_sites(rng, members)
    tail = _tail(rng, members & ~_below_sites(weights), nodes, exponent)
    weights += (1 - weights.sum()) * tail
    weights = moderate(hierarchy, weights, members, RESIDUAL_SHARE)
    family = np.arange(len(hierarchy))
    one, other = (hierarchy.index(node) for node in sites.exchanged)
    family[other] = family[one]
    return _uncut(tables_of([(DIAGNOSES, weights)], family=family)), sites


def as_read(release: Release, columns: Iterable[pl.DataFrame]) -> LabelDataset:
    """The dataset that a loader would make of a release: codes without dots, order and tables kept.

    ``columns``: further columns of the instances, ``split`` or a stratum each, by instance.
    """
    rows = release.rows.select(
        "instance",
        pl.col("label").str.replace_all(".", "", literal=True),
        "position",
        "table",
        refused=pl.lit(None, pl.String),
    )
    instances = release.instances
    for column in columns:
        instances = instances.join(column, on="instance", how="left", maintain_order="left")
    return rows_mapped(rows, instances, release.hierarchy, persons=False)


def _uncut(usage: Usage) -> Usage:
    """The usage with records of any length."""
    return Usage(tuple(replace(table, most=1_000) for table in usage.tables))


@cache
def _free_diseases() -> BoolArray:
    hierarchy = icd9cm()
    members = _free_of_rules(hierarchy)
    diseases = np.zeros(len(hierarchy), np.bool_)
    diseases[dag.row(hierarchy.below, hierarchy.index(DISEASES))] = True
    for category in ("401", "250"):
        diseases[dag.row(hierarchy.below, hierarchy.index(category))] = False
    return np.asarray(members & diseases)


def _free_of_rules(hierarchy: Hierarchy) -> BoolArray:
    """Bottom nodes that no rule speaks of and that are plainly residual or not, shape (n_nodes,).

    They may stand first, ask for no companion and exclude nothing. Below a parent all of whose
    labels say "other" or "unspecified" nothing is plain; titles of burns say "not otherwise
    specified" of their degree, whatever the site.
    """
    assert hierarchy.coding is not None
    assert hierarchy.coding.integrity is not None
    ask = hierarchy.coding.integrity.never_first
    assert ask is not None
    free = [
        ask(node, title) is None and "not otherwise specified" not in title
        for node, title in zip(hierarchy.nodes, hierarchy.titles, strict=True)
    ]
    unruled = np.array(free, np.bool_) & ~_ruled(hierarchy) & ~_vague_altogether(hierarchy)
    return np.asarray(bottom_nodes(hierarchy) & unruled)


def _ruled(hierarchy: Hierarchy) -> BoolArray:
    """Nodes at and below those that ask for a companion or exclude others, shape (n_nodes,)."""
    policy, notes = built_in_policy(hierarchy.name), hierarchy.companions
    rules = (*policy.companions, *(notes.rules if notes else ()))
    named = [node for rule in rules for node in rule.asking]
    named += [node for group in policy.exclusive for side in group.sides for node in side]
    ruled = np.zeros(len(hierarchy), np.bool_)
    for node in named:
        ruled[dag.row(hierarchy.below, hierarchy.index(node))] = True
    return ruled


def _vague_altogether(hierarchy: Hierarchy) -> BoolArray:
    """Nodes below a parent without a label that is plainly specific, shape (n_nodes,)."""
    bottom, clear = bottom_nodes(hierarchy), bottom_nodes(hierarchy) & ~residual_nodes(hierarchy)
    vague = np.zeros(len(hierarchy), np.bool_)
    for parent in np.flatnonzero(~hierarchy.leaf).tolist():
        below = dag.row(hierarchy.below, parent)
        vague[below] |= bottom[below].any() and not clear[below].any()
    return vague


def _draw_sites(rng: np.random.Generator, members: BoolArray) -> tuple[Sites, FloatArray]:
    """Sites, and the weights of the labels below them, shape (n_nodes,)."""
    hierarchy, weights = icd9cm(), np.zeros(len(members))
    specific = members & ~residual_nodes(hierarchy)
    taken: set[str] = set()

    def site(children: int, *, residual: bool = False) -> tuple[int, IntArray]:
        """A parent below a fresh category and chapter, and its specific children."""
        for parent in rng.permutation(_parents(residual)).tolist():
            below = dag.row(hierarchy.child_matrix, parent)
            clear = below[specific[below]]
            place = hierarchy.ancestors(hierarchy.nodes[parent], with_self=True)
            chapter = next(node for node in place if hierarchy.depth[hierarchy.index(node)] == 2)
            if len(clear) >= children and chapter not in taken:
                taken.add(chapter)
                return parent, clear
        raise ValueError(f"no parent with {children} specific labels is left")

    def name(node: int) -> str:
        return hierarchy.nodes[node]

    residual, clear = site(2, residual=True)
    below = dag.row(hierarchy.child_matrix, residual)
    vague = below[members[below] & ~specific[below]]
    weights[clear], weights[vague] = 0.014 / len(clear), 0.006 / len(vague)
    _, confined = site(3)
    weights[confined[:3]] = 0.008
    _, beside = site(2)
    weights[beside[:2]] = 0.010
    _, always = site(2)
    weights[always[:2]] = 0.010
    _, exchanged = site(3)
    weights[exchanged[:3]] = 0.005
    heading, clear = site(2)
    weights[clear] = 0.010 / len(clear)
    return Sites(
        residual=name(residual),
        confined=(name(confined[0]), name(confined[1])),
        beside=name(beside[0]),
        always=name(always[0]),
        exchanged=(name(exchanged[0]), name(exchanged[1])),
        heading=name(heading),
    ), weights


@cache
def _parents(residual: bool) -> tuple[int, ...]:
    """Headings all of whose children are labels; with ``residual`` one of them a catch-all.

    Then the heading is a category whose catch-alls end in 8 or 9, as ICD-9-CM has them: the last of
    five digits may say the site or course of a disease that is named, and "other lesion of median
    nerve" names the nerve.
    """
    hierarchy, members = icd9cm(), _free_diseases()
    vague = residual_nodes(hierarchy)
    found = []
    for parent in np.flatnonzero(~hierarchy.assignable & (hierarchy.depth > 2)).tolist():
        below = dag.row(hierarchy.child_matrix, parent)
        labels = len(below) > 0 and members[below].all() and "-" not in hierarchy.nodes[parent]
        catch_alls = [hierarchy.nodes[child] for child in below[vague[below]]]
        by_custom = catch_alls and all(code[3:] in (".8", ".9") for code in catch_alls)
        if labels and (by_custom or not residual):
            found.append(parent)
    return tuple(found)


def _below_sites(weights: FloatArray) -> BoolArray:
    """Nodes that share a parent with a node of a site, shape (n_nodes,)."""
    hierarchy = icd9cm()
    parents = hierarchy.edges[np.flatnonzero(weights)].sum(axis=0) > 0
    return np.asarray(hierarchy.edges @ parents.astype(np.int64) > 0)


def _tail(rng: np.random.Generator, members: BoolArray, nodes: int, exponent: float) -> FloatArray:
    ranked = shuffled(rng, np.flatnonzero(members))[:nodes]
    return _tail_of(len(members), ranked, exponent)


def _tail_of(size: int, ranked: IntArray, exponent: float) -> FloatArray:
    """Weights that sum to one and fall with the rank, shape (size,)."""
    weights = np.zeros(size)
    weights[ranked] = np.arange(1, len(ranked) + 1) ** -exponent
    return np.asarray(weights / weights.sum())
