"""Rules of a policy: what they make known, and which of them no record could keep to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.settings import WITH_POLICY
from audit.hierarchies.coding import Companions
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.rule_book import associations, first_association, refuse_contradictions
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from audit.policy.rules import Companion, Expected
from fixtures.labelled import tree

BODY = tree("a b c d < top", "a1 a2 < a", "b1 b2 < b", "b21 b22 < b2")


def rule(asks: Any, needs: Any, **more: Any) -> Companion:
    return Companion.model_validate({"if": asks, "needs": needs, "source": "A book.", **more})


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_POLICY)
def test_what_is_built_in_does_not_contradict_itself(name: str) -> None:
    import audit

    refuse_contradictions(built_in_policy(name), audit.load_hierarchy(name))


def known(*rules: Companion | Expected) -> tuple[int, ...]:
    """The association of a and b2, a1 and b2, a and b21, a1 and c."""
    pairs = [("a", "b2"), ("a1", "b2"), ("a", "b21"), ("a1", "c")]
    a, b = (np.array([BODY.index(pair[end]) for pair in pairs]) for end in (0, 1))
    in_use = np.array([not BODY.children(node) for node in BODY.nodes])
    there = first_association(BODY, rules, in_use, a, b)

    assert there.tolist() == first_association(BODY, rules, in_use, b, a).tolist()
    return tuple(there.tolist())


@pytest.mark.parametrize(
    ("association", "expected"),
    [
        (rule("a", "b2"), (0, 0, 0, -1)),
        (rule("b", ["a", "c"]), (0, 0, 0, -1)),
        (rule("a", ["b21", "b22"]), (0, 0, 0, -1)),
        (rule("a", "b21"), (-1, -1, 0, -1)),
        (rule(["a1", "a2"], ["b", "c"]), (0, 0, 0, 0)),
        (rule("a1", "b2"), (-1, 0, -1, -1)),
        (Expected(nodes=("b2", "a"), source="A book."), (0, 0, 0, -1)),
    ],
)
def test_a_pair_is_known_where_both_ends_are_part_of_the_sides(
    association: Companion | Expected, expected: tuple[int, ...]
) -> None:
    assert known(association) == expected


def test_the_first_association_counts() -> None:
    assert known(rule("a1", "b"), rule("a", "b"), rule("a", "c")) == (1, 0, 1, 2)
    assert known() == (-1, -1, -1, -1)


def test_rules_that_ask_for_the_same_know_what_is_above_them_all() -> None:
    assert known(rule("a1", "b2"), rule("a2", "b2")) == (0, 0, 0, -1)
    assert known(rule("a2", "b2"), rule("a1", "b2")) == (0, 1, 0, -1)
    assert known(rule("a1", "b2"), rule("a2", "c")) == (-1, 0, -1, -1)


def test_expected_pairs_come_before_what_rules_and_notes_ask_for() -> None:
    one, two, three = Expected(nodes=("a", "b"), source="."), rule("a", "b"), rule("a", "c")
    noting: Hierarchy = replace(BODY, companions=Companions("May", (three,)))

    assert associations(noting, Policy(expected=(one,), companions=(two,))) == (one, two, three)


def test_what_is_below_a_part_goes_with_its_whole() -> None:
    related = replace(BODY, related=(("a", "b2"),))
    pairs = [("a", "b2"), ("a1", "b2"), ("b2", "a1"), ("a", "b21"), ("b1", "a"), ("a1", "c")]
    a, b = (np.array([BODY.index(pair[end]) for pair in pairs]) for end in (0, 1))
    found = first_association(related, (), np.ones(len(BODY), np.bool_), a, b)
    assert found.tolist() == [0, 0, 0, -1, -1, -1]


NODES = BODY.nodes


@given(
    st.sets(st.sampled_from(NODES)),
    st.tuples(*(st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique=True),) * 2),
    st.sampled_from(NODES),
    st.sampled_from(NODES),
)
def test_a_pair_is_known_where_sets_of_labels_in_use_say_so(
    used: set[str], sides: tuple[list[str], list[str]], a: str, b: str
) -> None:
    def below(nodes: list[str]) -> set[str]:
        return {low for node in nodes for low in BODY.descendants(node, with_self=True)}

    class Sides:
        def __init__(self) -> None:
            self.sides = sides

    def within(node: str, side: list[str]) -> bool:
        return node in below(side) or below([node]) & used <= below(side)

    fits = any(within(x, sides[0]) and within(y, sides[1]) for x, y in ((a, b), (b, a)))
    pair = (np.array([BODY.index(node)]) for node in (a, b))
    in_use = np.array([node in used for node in NODES])

    found = first_association(BODY, [Sides()], in_use, *pair)  # type: ignore[list-item]
    assert (found[0] == 0) == fits
