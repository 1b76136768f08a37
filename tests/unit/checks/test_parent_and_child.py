"""parent_and_child: labels beside their own ancestors, worked by hand and against plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from fixtures import brute_force as plain
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled
from fixtures.strategies import hierarchies, label_sets

CHECK = CHECK_OF["parent_and_child"]

LABELS = {
    "a": ["dog", "pet", "tool"],
    "b": ["dog", "pet", "mammal", "animal"],
    "c": ["cow", "bird"],
    "d": ["dog", "dog"],
    "e": [],
}


def checked(hierarchy: Hierarchy, labels: Mapping[str, Sequence[str]]) -> CheckResult:
    faulty = replace(hierarchy, labelled_ancestors="fault")
    return CHECK.run(measure(labelled(faulty, labels), Policy()))


def test_it_is_one_warning_with_its_top_pairs(toy_hierarchy: Hierarchy) -> None:
    found = checked(toy_hierarchy, LABELS)
    (finding,) = found.findings

    assert found.status == "warn"
    assert (found.denominator, found.denominator_unit) == (4, "instances with labels")
    assert finding.evidence["instances"] == 2
    assert finding.evidence["share"] == 2 / 4
    assert finding.evidence["pairs"] == 4
    assert [(part.nodes, part.evidence["instances"]) for part in finding.parts] == [
        (("dog", "pet"), 2),
        (("dog", "animal"), 1),
        (("dog", "mammal"), 1),
        (("mammal", "animal"), 1),
    ]
    assert finding.nodes == ("dog", "pet")
    assert finding.id == "parent_and_child:labels"


@pytest.mark.parametrize(
    ("beside", "of", "undecided"),
    [
        (0, 400, 0),
        (4, 400, 0),
        (60, 400, 1),
        (340, 400, 1),
        (396, 400, 0),
        (19, 60, 0),
        (20, 60, 1),
    ],
)
def test_where_it_is_allowed_a_parent_in_some_records_alone_is_undecided(
    toy_hierarchy: Hierarchy, beside: int, of: int, undecided: int
) -> None:
    labels = {f"i{at}": ["dog", "pet"] if at < beside else ["dog"] for at in range(of)}
    found = CHECK.run(measure(labelled(toy_hierarchy, {**labels, "x": ["pet"]}), Policy()))

    assert found.status == ("note" if undecided else "pass")
    for finding in found.findings:
        assert finding.id == "parent_and_child:undecided"
        assert finding.evidence["pairs"] == finding.evidence["of_pairs"] == 1
        assert finding.touched == beside
        assert finding.touched * finding.beyond == pytest.approx(20 * 20)
        (part,) = finding.parts
        assert part.nodes == ("dog", "pet")
        assert dict(part.evidence) == {
            "instances": beside,
            "of": of,
        }


def test_grandparents_beside_a_label_are_no_habit_of_parents(toy_hierarchy: Hierarchy) -> None:
    labels = {f"i{at}": ["dog", "animal"] if at % 2 else ["dog"] for at in range(100)}

    assert CHECK.run(measure(labelled(toy_hierarchy, labels), Policy())).status == "pass"


def test_the_policy_overrules_the_hierarchy(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, LABELS)

    assert CHECK.run(measure(dataset, Policy(labelled_ancestors="fault"))).status == "warn"


@given(hierarchies(titled=False).flatmap(lambda h: st.tuples(st.just(h), label_sets(h))))
def test_every_pair_equals_plain_python(drawn: tuple[Hierarchy, list[frozenset[str]]]) -> None:
    hierarchy, sets = drawn
    labels = {f"i{n}": set(each) for n, each in enumerate(sets)}
    parents = plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())
    expected = plain.beside_ancestors(parents, labels)
    found = checked(hierarchy, {i: sorted(each) for i, each in labels.items()})
    parts = {p.nodes: p.evidence["instances"] for f in found.findings for p in f.parts}

    if len(expected) <= 10:
        assert parts == expected
    assert [f.evidence["pairs"] for f in found.findings] == ([len(expected)] if expected else [])
