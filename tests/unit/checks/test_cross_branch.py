"""cross_branch: who meets whom against the policy, worked by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import relate_two
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.policy.statements import BranchRule
from audit.results.findings import CheckResult
from fixtures import brute_force as plain
from fixtures.checked import CHECK_OF
from fixtures.counted import counted_of
from fixtures.labelled import labelled
from fixtures.strategies import hierarchies, label_sets

CHECK = CHECK_OF["cross_branch"]


def rule(a: str, b: str, kind: str, **more: Any) -> BranchRule:
    return BranchRule.model_validate({"branches": (a, b), "rule": kind, "reason": "So.", **more})


def checked(
    hierarchy: Hierarchy,
    labels: Mapping[str, Sequence[str]],
    *rules: BranchRule,
    positions: bool = True,
) -> CheckResult:
    dataset = labelled(hierarchy, labels, positions=positions)
    return CHECK.run(measure(dataset, Policy(branch_rules=rules)))


ANY = rule("*", "*", "watch")


def meetings(found: CheckResult) -> dict[tuple[str, ...], int]:
    return {finding.nodes: finding.touched for finding in found.findings}


LABELS = {"a": ["cow", "tool"], "b": ["bird", "tool", "cow"], "c": ["dog"], "d": ["tool"], "e": []}


def test_a_meeting_is_broken_down_by_nodes_of_the_first_branch(toy_hierarchy: Hierarchy) -> None:
    found = checked(toy_hierarchy, LABELS, rule("animal", "tool", "watch", break_down_depth=2))
    parts = found.findings[0].parts

    assert [(part.nodes, part.evidence["instances"]) for part in parts] == [
        (("mammal",), 2),
        (("bird",), 1),
    ]


@pytest.mark.parametrize("pair", [("animal", "tool"), ("animal", "*"), ("*", "tool")])
def test_the_first_branch_is_the_rule_s_first_also_where_it_is_a_star(
    toy_hierarchy: Hierarchy, pair: tuple[str, str]
) -> None:
    first, second = pair
    swapped = checked(toy_hierarchy, LABELS, rule(second, first, "watch"))

    assert list(meetings(checked(toy_hierarchy, LABELS, rule(*pair, "watch")))) == [
        ("animal", "tool")
    ]
    assert list(meetings(swapped)) == [("tool", "animal")]


ALONE = rule("tool", "animal", "watch", alone_or_first=("tool", "no such node"))


@pytest.mark.parametrize(
    ("labels", "misplaced"),
    [
        ({"a": ["tool", "cow"]}, 0),
        ({"a": ["cow", "tool"]}, 1),
        (
            {
                "a": ["cow", "tool", "tool"],
                "b": ["tool", "cow"],
                "c": ["tool"],
                "d": ["pet", "tool"],
            },
            1,
        ),
    ],
)
def test_what_should_stand_alone_or_first_and_does_not_is_a_warning(
    toy_hierarchy: Hierarchy, labels: dict[str, list[str]], misplaced: int
) -> None:
    found = checked(toy_hierarchy, labels, ALONE)
    warned = [finding for finding in found.findings if finding.severity == "warning"]

    assert [finding.touched for finding in warned] == ([misplaced] if misplaced else [])
    for finding in warned:
        assert finding.id == "cross_branch:tool:animal:first"
        assert [(part.nodes, part.evidence["instances"]) for part in finding.parts] == [
            (("tool",), misplaced)
        ]


def counted(
    hierarchy: Hierarchy, labels: Mapping[str, Sequence[str]], *rules: BranchRule
) -> CheckResult:
    return CHECK.run(counted_of(measure(labelled(hierarchy, labels), Policy(branch_rules=rules))))


def parts(found: CheckResult) -> list[dict[tuple[str, ...], object]]:
    return [{p.nodes: p.evidence["instances"] for p in f.parts} for f in found.findings]


@given(hierarchies(titled=False).flatmap(lambda h: st.tuples(st.just(h), label_sets(h))))
def test_meetings_equal_plain_python_by_instances_and_by_counts(
    drawn: tuple[Hierarchy, list[frozenset[str]]],
) -> None:
    hierarchy, sets = drawn
    labels = {f"i{n}": set(each) for n, each in enumerate(sets)}
    parents = plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())
    apart = [
        (hierarchy.nodes[a], hierarchy.nodes[b])
        for a in hierarchy.branches
        for b in hierarchy.branches
        if a < b and relate_two(hierarchy, a, b)[0] != "ancestor"
    ]
    met = {pair: len(plain.carrying_apart(parents, labels, *pair)) for pair in apart}
    written = {i: sorted(each) for i, each in labels.items()}
    expected = {pair: n for pair, n in met.items() if n}

    assert meetings(checked(hierarchy, written, ANY)) == expected
    assert meetings(counted(hierarchy, written, ANY)) == expected


def test_watched_branches_are_told_once_with_their_label_pairs(toy_hierarchy: Hierarchy) -> None:
    found = checked(toy_hierarchy, LABELS, ANY)
    (finding,) = found.findings

    assert found.status == "note"
    assert found.denominator == 3
    assert found.denominator_unit == "pairs of branches in use that a rule of the policy covers"
    assert finding.nodes == ("animal", "tool")
    values = dict(finding.evidence)
    assert (values.pop("label"), values.pop("beside")) == ("animal", "tool")
    assert values == {"instances": 2, "of": 5, "share": 2 / 5, "support_a": 3, "support_b": 3}
    assert [(part.nodes, part.evidence["instances"]) for part in finding.parts] == [
        (("cow", "tool"), 2),
        (("bird", "tool"), 1),
    ]
