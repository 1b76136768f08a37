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
from fixtures.labelled import labelled, tree
from fixtures.strategies import hierarchies, label_sets, trees

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


@given(hierarchies(titled=False).flatmap(lambda h: st.tuples(st.just(h), label_sets(h))))
def test_nothing_is_found_where_no_rule_speaks(
    release: tuple[Hierarchy, list[frozenset[str]]],
) -> None:
    hierarchy, labels = release
    found = checked(hierarchy, {f"i{n}": sorted(one) for n, one in enumerate(labels)})

    assert (found.findings, found.denominator, found.status) == ((), 0, "not_applicable")


def test_a_rule_about_two_branches_says_nothing_of_the_others(toy_hierarchy: Hierarchy) -> None:
    found = checked(toy_hierarchy, LABELS, rule("animal", "pet", "disjoint"))

    assert (found.status, found.denominator) == ("pass", 1)


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


def test_a_disjoint_pair_is_an_error(toy_hierarchy: Hierarchy) -> None:
    found = checked(toy_hierarchy, LABELS, rule("tool", "animal", "disjoint"))

    assert found.status == "fail"
    assert meetings(found) == {("tool", "animal"): 2}
    assert "keeps apart" in found.findings[0].statement


def test_an_expected_pair_is_silent(toy_hierarchy: Hierarchy) -> None:
    assert checked(toy_hierarchy, LABELS, rule("tool", "*", "expected")).status == "pass"


def test_a_watched_pair_is_a_note_with_its_reason(toy_hierarchy: Hierarchy) -> None:
    found = checked(toy_hierarchy, LABELS, rule("animal", "tool", "watch"))

    assert found.status == "note"
    assert found.findings[0].statement.endswith("So.")


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


def test_without_positions_nobody_is_told_to_stand_first(toy_hierarchy: Hierarchy) -> None:
    found = checked(toy_hierarchy, {"a": ["cow", "tool"]}, ALONE, positions=False)

    assert [finding.severity for finding in found.findings] == ["note"]


def test_a_rule_is_kept_also_in_a_flat_hierarchy() -> None:
    found = checked(tree("a b c < top"), {"i": ["a", "b"]}, rule("a", "b", "disjoint"))

    assert found.status == "fail"


@pytest.mark.parametrize("labels", [[], ["cow"], ["object"]])
def test_with_fewer_than_two_branches_in_use_it_passes_and_without_a_rule_does_not_apply(
    toy_hierarchy: Hierarchy, labels: list[str]
) -> None:
    found = checked(toy_hierarchy, {"a": labels}, ANY)

    assert (found.status, found.denominator) == ("pass", 0)
    assert "no rule" in checked(toy_hierarchy, {"a": labels}).not_applicable


def test_a_branch_below_another_cannot_exclude_it() -> None:
    nested = tree("animal dog tool < top", "dog < animal", "puppy < dog")
    found = checked(nested, {"i": ["dog", "puppy"], "j": ["puppy", "tool"]}, ANY)

    assert found.denominator == 2
    assert meetings(found) == {("animal", "tool"): 1, ("dog", "tool"): 1}


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


@given(trees(titled=False).flatmap(lambda h: st.tuples(st.just(h), label_sets(h))))
def test_on_counts_a_tree_is_broken_down_by_depth_alike(
    drawn: tuple[Hierarchy, list[frozenset[str]]],
) -> None:
    hierarchy, sets = drawn
    labels = {f"i{n}": sorted(each) for n, each in enumerate(sets)}
    by_depth = rule("*", "*", "watch", break_down_depth=2)

    assert counted(hierarchy, labels, by_depth) == checked(hierarchy, labels, by_depth)


@given(hierarchies(titled=False).flatmap(lambda h: st.tuples(st.just(h), label_sets(h))))
def test_on_counts_labels_at_leaves_are_broken_down_by_pairs_alike(
    drawn: tuple[Hierarchy, list[frozenset[str]]],
) -> None:
    hierarchy, sets = drawn
    leaves = {n for n, h in zip(hierarchy.nodes, hierarchy.height.tolist(), strict=True) if not h}
    labels = {f"i{n}": sorted(each & leaves) for n, each in enumerate(sets)}

    assert counted(hierarchy, labels, ANY) == checked(hierarchy, labels, ANY)


def test_on_counts_a_label_above_another_label_is_in_no_pair(toy_hierarchy: Hierarchy) -> None:
    labels = {"a": ["mammal", "tool"], "b": ["cow", "tool"], "c": ["bird", "tool"]}

    assert parts(checked(toy_hierarchy, labels, ANY)) == [
        {("bird", "tool"): 1, ("cow", "tool"): 1, ("mammal", "tool"): 1}
    ]
    assert parts(counted(toy_hierarchy, labels, ANY)) == [{("bird", "tool"): 1, ("cow", "tool"): 1}]


def test_on_counts_nobody_is_told_to_stand_first(toy_hierarchy: Hierarchy) -> None:
    found = counted(toy_hierarchy, {"a": ["cow", "tool"]}, ALONE)

    assert [finding.severity for finding in found.findings] == ["note"]
