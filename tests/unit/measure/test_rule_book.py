"""Rules of a policy: what they make known, and which of them no record could keep to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import PolicyError
from audit.base.settings import WITH_POLICY
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.rule_book import associations, first_association, refuse_contradictions
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from audit.policy.rules import Companion, Exclusive, Expected, PersonRule
from audit.runs.audit import run_audit
from fixtures.labelled import labelled, tree

BODY = tree("a b c d < top", "a1 a2 < a", "b1 b2 < b", "b21 b22 < b2")


def rule(asks: Any, needs: Any, **more: Any) -> Companion:
    return Companion.model_validate({"if": asks, "needs": needs, "source": "A book.", **more})


def keep(*rules: Companion, **more: Any) -> None:
    refuse_contradictions(Policy(companions=rules, **more), BODY)


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ((rule("a", "a1"),), "companions: a needs a1"),
        ((rule("a1", "a"),), "companions: a1 needs a"),
        ((rule("b21", ["c", "b"]),), "companions: b21 needs b"),
        ((rule("a1", "c", unless="a"),), "companions: a1 unless a"),
        (
            (rule("a", "c", unless="b"), rule("b1", "d", unless=["a"])),
            "each unless the other is there",
        ),
        (
            (rule("a", "c", position="before"), rule(["a", "b"], "c", position="after")),
            "needs 'c' before it and companions: 'a', 'b' needs 'c' after it",
        ),
        (
            (rule("a", "c", position="before"), rule("c", "a", position="before")),
            "needs 'c' before it and companions: 'c' needs 'a' before it",
        ),
    ],
)
def test_rules_that_no_record_can_keep_to_are_refused(
    rules: tuple[Companion, ...], told: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        keep(*rules)
    assert told in str(caught.value)


def of_persons(nodes: Any, **more: Any) -> PersonRule:
    return PersonRule.model_validate({"nodes": nodes, "source": "A book.", **more})


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ({"sex": "female"}, {"sex": "male"}, "person_rules: a1, by 'a' and 'a1'"),
        ({"age_to": 3}, {"age_from": 4}, "person_rules: a1"),
        ({"age_to": 3}, {"age_from": 3}, ""),
        ({"sex": "female"}, {"age_from": 3}, ""),
        ({"sex": "female"}, {"sex": "female"}, ""),
    ],
)
def test_rules_that_allow_no_person_are_refused(one: Any, other: Any, told: str) -> None:
    policy = Policy(person_rules=(of_persons("a", **one), of_persons(["a1", "b"], **other)))
    if not told:
        refuse_contradictions(policy, BODY)
        return
    with pytest.raises(PolicyError) as caught:
        refuse_contradictions(policy, BODY)
    assert told in str(caught.value)


def test_a_rule_that_asks_for_what_is_excluded_is_refused() -> None:
    apart = (Exclusive(nodes=("a", "b"), reason=""),)

    with pytest.raises(PolicyError, match="'a1' needs 'b2', and exclusive keeps them apart"):
        keep(rule("a1", "b2"), exclusive=apart)
    with pytest.raises(PolicyError, match="exclusive keeps them apart"):
        keep(rule(["b21", "c"], "a"), exclusive=apart)
    keep(rule("a1", ["b2", "c"]), rule("c", ["a", "b"]), exclusive=apart)


def test_rules_that_only_look_like_it_are_kept() -> None:
    keep(
        rule("a", "c", unless="b"),
        rule("b", "d", unless="a1"),
        rule("a1", "d", position="before"),
        rule("d", "a1", position="after"),
        rule("c", "d", unless="b21"),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_POLICY)
def test_what_is_built_in_does_not_contradict_itself(name: str) -> None:
    import audit

    refuse_contradictions(built_in_policy(name), audit.load_hierarchy(name))


def test_a_rule_that_names_an_unknown_node_is_refused() -> None:
    asks = rule("a", "nowhere", unless="nothing")

    with pytest.raises(PolicyError, match=r"'companions: nowhere', 'companions: nothing'"):
        run_audit(labelled(BODY, {"x": ["a1"]}), Policy(companions=(asks,)))


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
    from dataclasses import replace

    from audit.hierarchies.coding import Companions

    one, two, three = Expected(nodes=("a", "b"), source="."), rule("a", "b"), rule("a", "c")
    noting: Hierarchy = replace(BODY, companions=Companions("May", (three,)))

    assert associations(noting, Policy(expected=(one,), companions=(two,))) == (one, two, three)


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
