"""The policy that a hierarchy is judged by, and a built-in one placed in a hierarchy of a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, product
from math import prod
from typing import TypeVar

import numpy as np
import polars as pl
from pydantic import ValidationError

from audit.base.dag import IntArray, row
from audit.base.errors import PolicyError
from audit.base.readings import Reading
from audit.base.settings import WITH_POLICY
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.built_in import HOLDING, code_sets
from audit.hierarchies.reading import built_in_named
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from audit.policy.rules import Exclusive, Expected, Frozen, listed
from audit.policy.statements import ANY_BRANCH, BranchRule

_OF_NODES = ("alone_or_first", "nodes", "still", "if", "needs", "unless")
"""Keys of a policy's rules that name nodes."""
_PROCEDURE = re.compile(r"\d\d(?:\.|$)")
"""Codes of ICD-9-CM of procedures, some of which are those of diagnoses without the dots."""

_MOSTLY = 0.5
"""Share of the labels above which they are codes of a classification."""

_Rule = TypeVar("_Rule", bound=Frozen)
_Places = Mapping[str, tuple[str, ...]]


def policy_for(hierarchy: Hierarchy, stated: Policy | None = None) -> Policy:
    """What the user's policy states over the built-in one: that of its `base`, or the hierarchy's.

    Rules of a `base` on nodes that the hierarchy lacks are left out.
    """
    if stated is None:
        return built_in_policy(hierarchy.name)
    return stated.over(_placed_policy(hierarchy, stated.base or hierarchy.name)[0])


def policy_readings(hierarchy: Hierarchy, policy: Policy, support: IntArray) -> Iterable[Reading]:
    """How many rules were left out, or which policy could be named and is not.

    ``support`` is the number of instances that are labelled with each node, shape (n_nodes,).
    """
    if policy.base is None:
        yield from _proposed(hierarchy, support)
        return
    left_out, rules = _placed_policy(hierarchy, policy.base)[1:]
    why = f"{hierarchy.name} lacks nodes that they name"
    if undotted := len(_undotted(hierarchy, policy.base)):
        yield Reading(
            f"codes that {policy.base}'s rules name are matched without their dots",
            f"the leaves of {hierarchy.name} are such codes",
            undotted,
            "--policy FILE",
            unit="nodes",
        )
        why += ", or has them in too many places"
    if left_out:
        yield Reading(
            f"{left_out:,} of the {rules:,} rules of {policy.base} are not applied",
            why,
            left_out,
            "--policy FILE",
            unit="rules",
        )


@lru_cache(maxsize=4)
def _placed_policy(hierarchy: Hierarchy, base: str) -> tuple[Policy, int, int]:
    """A built-in policy as far as a hierarchy has its nodes; rules left out, and of how many."""
    policy = built_in_policy(base)
    if hierarchy.name == base or base not in WITH_POLICY:
        return policy, 0, 0
    places = _places(hierarchy, base, [node for _, node in policy.nodes_named()])
    if not places:
        raise PolicyError(
            f"the hierarchy must have nodes that rules of {base} name",
            found=f"none in {hierarchy.name}",
            hint="name the policy of another classification, or leave --policy and base out",
        )
    rules = {
        name: [_placed(rule, places) for rule in value]
        for name in Policy.model_fields
        if (value := getattr(policy, name)) and isinstance(value, tuple)
    }
    kept = {name: tuple(chain.from_iterable(placed)) for name, placed in rules.items()}
    every = [*chain.from_iterable(rules.values())]
    return policy.model_copy(update=kept), every.count([]), len(every)


def _places(hierarchy: Hierarchy, base: str, named: Sequence[str]) -> _Places:
    """The nodes that each named node of a classification is in a file of it, where there are some.

    It is the node of the same id; or, as editions call ranges of codes otherwise, one that stands
    for the same codes among those that both have; or, in a file of codes without dots above which
    other groups stand, the highest nodes all of whose codes are at or below it.
    """
    whole = _whole(base)
    if undotted := _undotted(hierarchy, base):
        return _cover(hierarchy, whole, undotted, named)
    same = {node: (node,) for node in named if node in hierarchy}
    lacking = [node for node in named if node not in hierarchy and node in whole]
    other = {
        _shared(hierarchy, node, whole): node
        for node in reversed(hierarchy.nodes)
        if node not in whole
    }
    found = {node: other.get(_shared(whole, node, hierarchy)) for node in lacking}
    return same | {node: (place,) for node, place in found.items() if place is not None}


def _whole(base: str) -> Hierarchy:
    known = built_in_named(base)
    assert known is not None
    return known.load()


@lru_cache(maxsize=4)
def _undotted(hierarchy: Hierarchy, base: str) -> Mapping[str, str]:
    """The leaf of a file that each code of a classification is without its dot; empty if few are.

    Codes are those of diagnoses or of procedures, whichever more of the leaves are.
    """
    leaves = {hierarchy.nodes[i] for i in np.flatnonzero(hierarchy.leaf)}
    texts = {code: code.replace(".", "") for code in _whole(base).nodes}
    met = [code for code, text in texts.items() if text in leaves]
    procedures = [code for code in met if _PROCEDURE.match(code)]
    diagnoses = [code for code in met if not _PROCEDURE.match(code)]
    most = max(diagnoses, procedures, key=len)
    few = sum("." in code for code in most) <= _MOSTLY * len(leaves)
    return {} if few else {code: texts[code] for code in most}


def _cover(
    hierarchy: Hierarchy, whole: Hierarchy, undotted: Mapping[str, str], named: Sequence[str]
) -> _Places:
    """The highest nodes all of whose codes are at or below each named node of a classification."""
    every = _marked(hierarchy, undotted.values())
    found = {}
    for node in {one for one in named if one in whole}:
        codes = (undotted.get(code) for code in whole.descendants(node, with_self=True))
        inside = _marked(hierarchy, filter(None, codes))
        within = (inside == every) & (inside > 0)
        above = hierarchy.edges @ within.astype(np.int64)
        found[node] = tuple(hierarchy.nodes[i] for i in np.flatnonzero(within & (above == 0)))
    return {node: places for node, places in found.items() if places}


def _marked(hierarchy: Hierarchy, leaves: Iterable[str]) -> IntArray:
    """How many of some leaves are at or below each node, shape (n_nodes,)."""
    mark = np.zeros(len(hierarchy), np.int64)
    mark[[hierarchy.index(leaf) for leaf in leaves]] = 1
    return np.asarray(hierarchy.below @ mark)


def _shared(hierarchy: Hierarchy, node: str, other: Hierarchy) -> frozenset[str] | str:
    """The nodes below one that another hierarchy has too; the node itself where there are none."""
    below = (hierarchy.nodes[i] for i in row(hierarchy.below, hierarchy.index(node)))
    return frozenset(one for one in below if one in other) or node


def _placed(rule: _Rule | str, places: _Places) -> list[_Rule | str]:
    """A rule on the nodes of another hierarchy; none where it cannot be without those it lacks.

    One on a pair of nodes holds for each pair of their places.
    """
    if isinstance(rule, str):
        return [*places.get(rule, ())]
    said, pair = rule.model_dump(), _PAIRS.get(type(rule))
    of_nodes: dict[str, tuple[str | tuple[str, ...], ...]] = {
        key: _nodes(listed(said[key]), places) for key in _OF_NODES if key in said
    }
    if isinstance(rule, Exclusive):
        sides = (_nodes(side, places) for side in rule.sides)
        of_nodes["nodes"] = tuple(side[0] if len(side) == 1 else side for side in sides if side)
    each: list[dict[str, tuple[str, ...]]] = [{}]
    if pair:
        ends = [_nodes((end,), places) for end in said[pair]]
        many = prod(map(len, ends)) > _MOST_PAIRS
        each = [] if many else [{pair: both} for both in product(*ends)]
    try:
        return [type(rule).model_validate(said | of_nodes | one) for one in each]
    except ValidationError:
        return []


_PAIRS: Mapping[type, str] = {BranchRule: "branches", Expected: "nodes"}
"""Keys of rules that name two nodes."""
_MOST_PAIRS = 100
"""Pairs of places, above which a rule on two nodes says too little of each to be applied."""


def _nodes(named: Iterable[str], places: _Places) -> tuple[str, ...]:
    at = (((node,) if node == ANY_BRANCH else places.get(node, ())) for node in named)
    return tuple(dict.fromkeys(chain.from_iterable(at)))


def _proposed(hierarchy: Hierarchy, support: IntArray) -> Iterable[Reading]:
    """The built-in policy whose codes most labels are, where the hierarchy is a file."""
    if hierarchy.name in WITH_POLICY:
        return
    labels = pl.DataFrame({"code": hierarchy.nodes, "labels": support}).filter(pl.col("labels") > 0)
    most = _MOSTLY * int(support.sum())
    marked = labels.filter(pl.col("code").str.contains(r"^[A-Z0-9]\d+[.]\d|^[A-Z]\d"))
    if marked["labels"].sum() <= most:
        return
    met = labels.join(code_sets().select("code", "table").unique(), on="code")
    by_table = met.with_columns(base=pl.col("table").replace_strict(HOLDING))
    for base, rows in (
        by_table.unique(["base", "code"]).group_by("base").agg(pl.col("labels").sum()).iter_rows()
    ):
        if rows > most:
            yield Reading(
                f"labels are not judged by the rules on codes of {base}",
                "most of them are its codes, and these rules come with its own hierarchy",
                rows,
                f"--policy {base}",
                unit="labels",
            )
