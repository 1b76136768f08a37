"""The rules that apply to a dataset: those of its policy and of its classification's notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, edge_matrix, row
from audit.base.errors import PolicyError, first_cases
from audit.engine.pairs.rows import stored
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.policy.rules import Companion, Expected

Association: TypeAlias = Expected | Companion
"""A rule that says that nodes of its two sides occur together."""


def companion_rules(hierarchy: Hierarchy, policy: Policy) -> tuple[Companion, ...]:
    """The policy's companion rules, then those of the classification's notes."""
    noted = () if hierarchy.companions is None else hierarchy.companions.rules
    return (*policy.companions, *noted)


def associations(hierarchy: Hierarchy, policy: Policy) -> tuple[Association, ...]:
    """All associations: those expected by the policy, its companion rules, then those of notes."""
    return (*policy.expected, *companion_rules(hierarchy, policy))


def first_association(
    hierarchy: Hierarchy,
    known: Sequence[Association],
    in_use: BoolArray,
    a: IntArray,
    b: IntArray,
) -> IntArray:
    """The first association that covers each pair of nodes, in either order.

    A node belongs to a side if it, or every label in use at or below it, is at or below a node of
    that side. Sides of equal associations are matched one by one, then together. Last are nodes
    that the hierarchy's own file relates, one of them or below it, the other or above it.

    Args:
        in_use: Whether each node is a label of some instance, shape (n_nodes,).

    Returns:
        Index of the association of each pair, that of the file being one behind the others; -1 for
        none, shape (n_pairs,).
    """
    found = np.full(len(a), -1, np.int64)
    each = [one.sides for one in known] if len(a) else []
    several = (
        ([node for asking, same in each if same == needed for node in asking], needed)
        for _, needed in each
    )
    ends, (a, b) = np.unique([a, b], return_inverse=True)
    below = csr_array(hierarchy.below[ends])

    def part_of(side: Sequence[str]) -> BoolArray:
        within = at_or_below(hierarchy, side)
        outside = (in_use & ~within).astype(np.int64)
        return np.asarray(within[ends] | (below @ outside == 0))

    for place, sides in enumerate((*each, *several)):
        left, right = map(part_of, sides)
        fits = (left[a] & right[b]) | (left[b] & right[a])
        found[fits & (found < 0)] = place % len(known)
    if hierarchy.related:
        pairs = np.array([list(map(hierarchy.index, pair)) for pair in hierarchy.related])
        stated = edge_matrix(pairs[:, 0], pairs[:, 1], len(hierarchy))
        closure = hierarchy.closure
        implied = csr_array(csr_array(closure[ends] @ stated @ closure)[:, ends])
        implied.sort_indices()
        found[(stored(implied, a, b) | stored(implied, b, a)) & (found < 0)] = len(known)
    return found


def at_or_below(hierarchy: Hierarchy, nodes: Sequence[str]) -> BoolArray:
    """Whether each node is one of the given nodes or below one, shape (n_nodes,)."""
    found = np.zeros(len(hierarchy), np.bool_)
    for node in nodes:
        found[row(hierarchy.below, hierarchy.index(node))] = True
    return found


def refuse_contradictions(policy: Policy, hierarchy: Hierarchy) -> None:
    """Raise PolicyError if no record could comply with the policy's rules, or a rule cannot apply.

    Args:
        policy: The policy as applied; every node that it names is in the hierarchy.
    """
    _refuse(
        _nested_sides(policy, hierarchy),
        "of nodes that exclude each other, none may be below another",
    )
    _refuse(
        _expected_in_line(policy, hierarchy),
        "of nodes that are expected together, none may be below another",
        "an instance with a node carries every node above it: no such pair is judged",
    )
    _refuse(
        _companions_in_line(policy, hierarchy),
        "a companion must be another node, neither above nor below the one that needs it",
        "an instance with a node carries every node above it",
    )
    _refuse(
        _contradictions(policy, hierarchy),
        "a record must be able to satisfy every rule of the policy",
        "leave one of the two rules out, or name in `unless` where it does not hold",
    )
    _refuse(
        _persons_at_odds(policy, hierarchy),
        "there must be persons to whom all rules of the policy allow the node",
        "the rules of all nodes above a node apply to it too",
    )


def _refuse(cases: Iterator[str], required: str, hint: str = "") -> None:
    found = list(cases)
    if found:
        raise PolicyError(required, found=first_cases(found), hint=hint)


def _nested_sides(policy: Policy, hierarchy: Hierarchy) -> Iterator[str]:
    for group in policy.exclusive:
        for one, other in permutations(group.sides, 2):
            for a, b in product(one, other):
                if _covers(hierarchy, a, b):
                    yield f"exclusive: {a} and {b}"


def _expected_in_line(policy: Policy, hierarchy: Hierarchy) -> Iterator[str]:
    for known in policy.expected:
        if _in_line(hierarchy, *known.nodes):
            yield f"expected: {' and '.join(known.nodes)}"


def _companions_in_line(policy: Policy, hierarchy: Hierarchy) -> Iterator[str]:
    """A case for each code in line with its companion, or always excused by ``unless``."""
    for rule in policy.companions:
        for a, b in product(rule.asking, rule.needed):
            if _in_line(hierarchy, a, b):
                yield f"companions: {a} needs {b}"
        for a, b in product(rule.asking, rule.excusing):
            if _covers(hierarchy, b, a):
                yield f"companions: {a} unless {b}, which is always there"


def _contradictions(policy: Policy, hierarchy: Hierarchy) -> Iterator[str]:
    for group in policy.exclusive:
        sides = [at_or_below(hierarchy, side) for side in group.sides]
        for rule in policy.companions:
            if _excluded(hierarchy, rule, sides):
                yield f"{_in_words(rule)}, and exclusive keeps them apart"
    for one, other in combinations(policy.companions, 2):
        if _excused_by(hierarchy, one, other) and _excused_by(hierarchy, other, one):
            yield f"{_in_words(one)} and {_in_words(other)}, each unless the other is there"
        if _order_each_other(one, other):
            yield f"{_in_words(one)} {one.position} it and {_in_words(other)} {other.position} it"


def _persons_at_odds(policy: Policy, hierarchy: Hierarchy) -> Iterator[str]:
    covered = [at_or_below(hierarchy, rule.nodes_named) for rule in policy.person_rules]
    for (one, nodes), (other, others) in combinations(
        zip(policy.person_rules, covered, strict=True), 2
    ):
        if one.contradicts(other) and (nodes & others).any():
            node = hierarchy.nodes[int(np.flatnonzero(nodes & others)[0])]
            yield f"person_rules: {node}, by {first_cases(one.key[:1])} and {other.key[0]!r}"


def _in_words(rule: Companion) -> str:
    return f"companions: {first_cases(rule.asking)} needs {first_cases(rule.needed)}"


def _excluded(hierarchy: Hierarchy, rule: Companion, sides: Sequence[BoolArray]) -> bool:
    """Whether of exclusive sides one covers a node that asks, and others all it could be given."""
    asking, needed = (list(map(hierarchy.index, nodes)) for nodes in rule.sides)
    others = (np.any([b for b in sides if b is not a], axis=0) for a in sides)
    return any(
        one[asking].any() and other[needed].all() for one, other in zip(sides, others, strict=True)
    )


def _excused_by(hierarchy: Hierarchy, rule: Companion, other: Companion) -> bool:
    """Whether a rule asks for nothing wherever another one does."""
    excusing = at_or_below(hierarchy, rule.excusing)
    return bool(excusing[list(map(hierarchy.index, other.asking))].all())


def _order_each_other(one: Companion, other: Companion) -> bool:
    """Whether two rules want the same two nodes in both orders."""
    if "any" in (one.position, other.position):
        return False
    same = set(one.asking) & set(other.asking) and set(one.needed) == set(other.needed)
    turned = set(one.asking) & set(other.needed) and set(one.needed) & set(other.asking)
    if same:
        return one.position != other.position
    return bool(turned) and one.position == other.position


def _covers(hierarchy: Hierarchy, above: str, node: str) -> bool:
    """Whether a node is another one or is below it."""
    return hierarchy.index(node) in row(hierarchy.below, hierarchy.index(above))


def _in_line(hierarchy: Hierarchy, a: str, b: str) -> bool:
    return _covers(hierarchy, a, b) or _covers(hierarchy, b, a)
