"""The policy that a hierarchy is judged by, and a built-in one placed in a hierarchy of a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

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
from audit.policy.rules import Frozen, listed
from audit.policy.statements import ANY_BRANCH

_OF_NODES = ("branches", "alone_or_first", "nodes", "still", "if", "needs", "unless")
"""Keys of a policy's rules that name nodes."""

_MOSTLY = 0.5
"""Share of the labels above which they are codes of a classification."""

_Rule = TypeVar("_Rule", bound=Frozen)
_Places = Mapping[str, str]


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
    if left_out:
        yield Reading(
            f"{left_out:,} of the {rules:,} rules of {policy.base} are not applied",
            f"{hierarchy.name} lacks nodes that they name",
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
        name: value
        for name in Policy.model_fields
        if (value := getattr(policy, name)) and isinstance(value, tuple)
    }
    kept = {
        name: tuple(one for rule in value if (one := _placed(rule, places)) is not None)
        for name, value in rules.items()
    }
    had, have = (sum(map(len, table.values())) for table in (rules, kept))
    return policy.model_copy(update=kept), had - have, had


def _places(hierarchy: Hierarchy, base: str, named: Sequence[str]) -> dict[str, str]:
    """The node that each named node of a classification is in a file of it, where there is one.

    It is the node of the same id; or, as editions call ranges of codes otherwise, one that stands
    for the same codes among those that both have.
    """
    known = built_in_named(base)
    assert known is not None
    whole = known.load()
    same = {node: node for node in named if node in hierarchy}
    lacking = [node for node in named if node not in hierarchy and node in whole]
    other = {
        _shared(hierarchy, node, whole): node
        for node in reversed(hierarchy.nodes)
        if node not in whole
    }
    found = {node: other.get(_shared(whole, node, hierarchy)) for node in lacking}
    return same | {node: place for node, place in found.items() if place is not None}


def _shared(hierarchy: Hierarchy, node: str, other: Hierarchy) -> frozenset[str] | str:
    """The nodes below one that another hierarchy has too; the node itself where there are none."""
    below = (hierarchy.nodes[i] for i in row(hierarchy.below, hierarchy.index(node)))
    return frozenset(one for one in below if one in other) or node


def _placed(rule: _Rule | str, places: _Places) -> _Rule | str | None:
    """A rule on the nodes of another hierarchy; None where it cannot be without those it lacks."""
    if isinstance(rule, str):
        return places.get(rule)
    said = rule.model_dump()
    of_nodes = {key: _nodes(listed(said[key]), places) for key in _OF_NODES if key in said}
    try:
        return type(rule).model_validate(said | of_nodes)
    except ValidationError:
        return None


def _nodes(named: Any, places: _Places) -> Any:
    if isinstance(named, str):
        return named if named == ANY_BRANCH else places.get(named)
    return tuple(one for node in named if (one := _nodes(node, places)))


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
