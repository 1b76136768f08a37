"""Which policies a run refuses, because no record could comply with their rules."""

from __future__ import annotations

from typing import Any

import pytest

import audit
from fixtures.small_worlds import World, tree_of

WORLD = World(*tree_of("a0 a1 < a", "b0 b1 < b", "c0 < c", "a b c < all"), {"i": ["a0", "b0"]})


def apart(*nodes: Any) -> dict[str, Any]:
    return {"exclusive": [{"nodes": nodes, "reason": "a rule"}]}


def beside(when: Any, needs: Any, **further: Any) -> dict[str, Any]:
    return {"if": when, "needs": needs, "source": "a book", **further}


def companions(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"companions": rules}


def persons(*rules: dict[str, Any]) -> dict[str, Any]:
    columns = {"sex": "sex", "female": "F", "male": "M"}
    return {"person": columns, "person_rules": [{**rule, "source": "a book"} for rule in rules]}


REFUSED: dict[str, dict[str, Any]] = {
    "exclusive nodes one below the other": apart("a", "a0"),
    "the same among several sides": apart("b", ("c", "a1"), ("a", "c0")),
    "expected nodes in line": {"expected": [{"nodes": ("a1", "a"), "source": "a book"}]},
    "a companion above": companions(beside("a0", "a")),
    "a companion below": companions(beside("a", ("b", "a1"))),
    "an excuse that is always there": companions(beside("a0", "b", unless="a")),
    "a companion that is kept apart": apart("a", "b") | companions(beside("a0", "b1")),
    "all companions kept apart": apart("a", "b", "c") | companions(beside("a0", ("b0", "b1"))),
    "two rules each unless the other": companions(
        beside("a0", "c", unless="b0"), beside("b0", "c0", unless="a")
    ),
    "one order and the other": companions(
        beside("a0", "b0", position="before"), beside("a0", "b0", position="after")
    ),
    "each before the other": companions(
        beside("a0", "b0", position="before"), beside("b0", "a0", position="before")
    ),
    "both sexes below": persons({"nodes": "a", "sex": "male"}, {"nodes": "a0", "sex": "female"}),
    "ages that do not meet": persons(
        {"nodes": ("c", "a0"), "age_to": 17}, {"nodes": "a", "age_from": 18}
    ),
}
KEPT: dict[str, dict[str, Any]] = {
    "exclusive siblings": apart("a0", "a1"),
    "sides of several nodes": apart(("a0", "b0"), ("a1", "b1")),
    "expected nodes of two branches": {"expected": [{"nodes": ("a1", "b"), "source": "a book"}]},
    "a companion beside": companions(beside("a0", "a1")),
    "an excuse below": companions(beside("a", "b", unless="a0")),
    "one of two companions kept apart": apart("a", "b") | companions(beside("a0", ("b", "c"))),
    "one rule unless the other": companions(
        beside("a0", "c", unless="b0"), beside("b0", "c0", unless="a1")
    ),
    "one order in two rules": companions(
        beside("a0", "b0", position="before"), beside("a0", "b1", position="after")
    ),
    "any order beside one": companions(
        beside("a0", "b0", position="before"), beside("a0", "b0", position="any")
    ),
    "one before, the other after": companions(
        beside("a0", "b0", position="before"), beside("b0", "a0", position="after")
    ),
    "sexes of two branches": persons(
        {"nodes": "a", "sex": "male"}, {"nodes": "b", "sex": "female"}
    ),
    "ages that meet": persons({"nodes": "a0", "age_to": 18}, {"nodes": "a", "age_from": 18}),
}


def audited(stated: dict[str, Any]) -> audit.AuditResult:
    world = WORLD
    if "person" in stated:
        world = World(WORLD.nodes, WORLD.edges, WORLD.rows, {"sex": {"i": "F"}})
    return world.audited(audit.Policy(**stated))


@pytest.mark.parametrize("case", REFUSED)
def test_rules_that_no_record_could_comply_with_are_refused(case: str) -> None:
    with pytest.raises(audit.AuditError):
        audited(REFUSED[case])


@pytest.mark.parametrize("case", KEPT)
def test_rules_that_a_record_can_comply_with_are_kept(case: str) -> None:
    assert audited(KEPT[case]).checks
