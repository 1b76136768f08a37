"""The policy that a hierarchy is judged by, and a built-in one placed in a hierarchy of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, product
from typing import Any

import numpy as np
from pydantic import ValidationError

from audit.base.dag import IntArray
from audit.base.errors import PolicyError
from audit.base.readings import Reading
from audit.base.settings import WITH_POLICY
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import built_in_named
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from audit.policy.rules import Exclusive, Expected, Frozen
from audit.policy.statements import ANY_BRANCH, BranchRule

_OF_NODES = ("alone_or_first", "nodes", "still", "if", "needs", "unless")
"""Keys of a policy's rules that name nodes."""
_PAIRS: Mapping[type, str] = {BranchRule: "branches", Expected: "nodes"}
"""Keys of rules that name two nodes."""
_Places = Mapping[str, tuple[str, ...]]


def policy_for(hierarchy: Hierarchy, stated: Policy | None = None) -> Policy:
    """What the user's policy states over the built-in one: that of its `base`, or the hierarchy's.

    Rules of a `base` on nodes that the hierarchy lacks are left out.
    """
    if stated is None:
        return built_in_policy(hierarchy.name)
    return stated.over(_placed_policy(hierarchy, stated.base or hierarchy.name)[0])


def policy_readings(hierarchy: Hierarchy, policy: Policy) -> Iterator[Reading]:
    """What is told of the rules of a policy's `base` that were left out; nothing of none."""
    if policy.base is None:
        return
    left_out, rules = _placed_policy(hierarchy, policy.base)[1:]
    if left_out:
        decision = f"{left_out:,} of the {rules:,} rules of {policy.base} are not applied"
        evidence = f"{hierarchy.name} lacks nodes that they name"
        yield Reading(decision, evidence, left_out, "--policy FILE", unit="rules")


@lru_cache(maxsize=4)
def _placed_policy(hierarchy: Hierarchy, base: str) -> tuple[Policy, int, int]:
    """A built-in policy as far as a hierarchy has its nodes; rules left out, and of how many."""
    policy = built_in_policy(base)
    if hierarchy.name == base or base not in WITH_POLICY:
        return policy, 0, 0
    places = _places(hierarchy, base, [node for _, node in policy.nodes_by_key()])
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
    """What stands for each named node: it itself, else the highest nodes of its codes alone."""
    known = built_in_named(base)
    assert known is not None
    whole = known.load()
    codes = {hierarchy.nodes[i] for i in np.flatnonzero(hierarchy.leaf)}.intersection(whole.nodes)

    def within(texts: Iterable[str]) -> IntArray:
        mark = np.zeros(len(hierarchy), np.int64)
        mark[[hierarchy.index(one) for one in codes.intersection(texts)]] = 1
        return np.asarray(hierarchy.below @ mark)

    every, found = within(codes), dict[str, tuple[str, ...]]()
    for node in {*named}:
        if node in hierarchy:
            found[node] = (node,)
        elif node in whole:
            inside = within(whole.descendants(node, with_self=True))
            covered = (inside == every) & (inside > 0)
            highest = covered & (hierarchy.edges @ covered.astype(np.int64) == 0)
            found[node] = tuple(hierarchy.nodes[i] for i in np.flatnonzero(highest))
    return {node: places for node, places in found.items() if places}


def _placed(rule: Frozen | str, places: _Places) -> list[Any]:
    """The rule at its places, once for each pair of them if it names a pair; none if too few."""

    def at(named: Iterable[str]) -> tuple[str, ...]:
        placed = ((node,) if node == ANY_BRANCH else places.get(node, ()) for node in named)
        return tuple(dict.fromkeys(chain.from_iterable(placed)))

    if isinstance(rule, str):
        return [*at([rule])]
    said, pair = rule.model_dump(), _PAIRS.get(type(rule))
    moved: dict[str, Any] = {key: at(said[key]) for key in _OF_NODES if key in said and key != pair}
    if isinstance(rule, Exclusive):
        moved["nodes"] = tuple(filter(None, map(at, rule.sides)))
    ends = product(*(at([end]) for end in said[pair])) if pair else [()]
    try:
        each = [moved | ({pair: both} if pair else {}) for both in ends]
        return [type(rule).model_validate(said | one) for one in each]
    except ValidationError:
        return []
