"""Structural faults of hierarchies: each planted one is told, against oracles in plain Python."""

from __future__ import annotations

import re
from collections import defaultdict

import networkx as nx
import polars as pl
import pytest
from hypothesis import given

from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.lint import RULES, LintFinding, lint_hierarchy
from fixtures.examples import examples
from fixtures.labelled import tree
from fixtures.strategies import hierarchies

SOUND = ("dog cat < pet", "hammer saw < tool", "pet tool < thing")


def told(hierarchy: Hierarchy) -> dict[str, LintFinding]:
    findings = lint_hierarchy(hierarchy)
    assert len({one.rule for one in findings}) == len(findings)
    return {one.rule: one for one in findings if one.rule != "missing_title"}


def cases(hierarchy: Hierarchy, rule: str) -> set[tuple[str, ...]]:
    finding = told(hierarchy).get(rule)
    return set(finding.cases) if finding else set()


def test_of_a_sound_hierarchy_nothing_is_told() -> None:
    assert lint_hierarchy(tree(*SOUND)) == ()


def test_a_redundant_edge_is_told_with_the_comparable_parents() -> None:
    finding = told(tree(*SOUND, "dog < thing"))

    assert list(finding) == ["redundant_edge"]
    assert finding["redundant_edge"].cases == (("dog", "pet", "thing"),)
    assert finding["redundant_edge"].severity == "warning"
    assert finding["redundant_edge"].of == 7


def test_two_parents_of_which_none_lies_below_the_other_are_no_fault() -> None:
    assert lint_hierarchy(tree(*SOUND, "dog < tool")) == ()


@examples(25)
@given(hierarchies(titled=False))
def test_redundant_edges_are_those_of_nodes_with_comparable_parents(hierarchy: Hierarchy) -> None:
    graph = hierarchy.to_networkx()
    kept = nx.transitive_reduction(graph).edges
    expected = {
        (node, upper)
        for node in hierarchy.nodes
        for lower in hierarchy.parents(node)
        for upper in hierarchy.parents(node)
        if upper in hierarchy.ancestors(lower)
    }
    found = cases(hierarchy, "redundant_edge")

    assert {(child, upper) for child, _, upper in found} == expected == set(graph.edges) - set(kept)
    for child, lower, upper in found:
        assert lower in hierarchy.parents(child)
        assert upper in hierarchy.ancestors(lower)


@examples(25)
@given(hierarchies())
def test_lone_children_are_those_of_headings_that_are_no_labels(hierarchy: Hierarchy) -> None:
    expected = {
        (node, *hierarchy.children(node))
        for index, node in enumerate(hierarchy.nodes)
        if len(hierarchy.children(node)) == 1 and not hierarchy.assignable[index]
    }

    assert cases(hierarchy, "lone_child") == expected


def test_a_single_child_of_a_node_that_may_be_a_label_is_no_fault() -> None:
    assert cases(tree("lysosome < vacuole", "vacuole nucleus < cell"), "lone_child") == {
        ("vacuole", "lysosome")
    }
    slim = tree("lysosome < vacuole", "vacuole nucleus < cell")
    slim.assignable[:] = True
    assert lint_hierarchy(slim) == ()


def plain(title: str) -> str:
    return " ".join(re.findall(r"(?:[^\W_]|[+<>=#%])+", title.lower()))


@examples(25)
@given(hierarchies())
def test_every_repeated_title_is_told_once(hierarchy: Hierarchy) -> None:
    groups = defaultdict(set)
    for node, title in zip(hierarchy.nodes, hierarchy.titles, strict=True):
        if plain(title):
            groups[plain(title)].add(node)
    lone = {frozenset(case) for case in cases(hierarchy, "lone_child")}
    expected_clash, expected_repeated = set(), set()
    for group in groups.values():
        tops = [n for n in group if group - {n} <= set(hierarchy.descendants(n))]
        if len(group) > 1 and not tops:
            expected_clash.add(frozenset(group))
        elif len(group) > 1 and frozenset(group) not in lone:
            expected_repeated.add(frozenset(group))

    clash, repeated = (cases(hierarchy, rule) for rule in ("title_clash", "title_repeated"))
    assert set(map(frozenset, clash)) == expected_clash
    assert {frozenset(c) for c in repeated} >= {c for c in expected_repeated if len(c) == 2}
    assert {frozenset(c) for c in repeated} <= expected_repeated
    for case in repeated:
        assert set(case[1:]) <= set(hierarchy.descendants(case[0]))


def test_titles_that_differ_in_case_spaces_and_marks_clash() -> None:
    titles = {"dog": "Other  pain", "saw": "OTHER, PAIN", "pet": "Pets"}
    finding = told(tree(*SOUND, titles=titles))

    assert list(finding) == ["title_clash", "title_blanks"]
    assert finding["title_clash"].cases == (("dog", "saw"),)
    assert (finding["title_clash"].severity, finding["title_clash"].of) == ("warning", 3)


def test_a_title_that_a_node_below_has_too_is_repeated() -> None:
    finding = told(tree(*SOUND, titles={"dog": "A pet", "pet": "a pet"}))

    assert list(finding) == ["title_repeated"]
    assert finding["title_repeated"].cases == (("pet", "dog"),)


@pytest.mark.parametrize(("titles", "rules"), [
    ({}, {}), ({"dog": "A", "cat": "B"}, {}), ({"dog": " A", "cat": "B", "pet": "C"},
    {"missing_title": (("lone",),), "title_blanks": (("dog",),)}),
    ({"dog": "A  b", "cat": "B", "pet": "C\n", "lone": "D"},
     {"title_blanks": (("dog",), ("pet",))}),
])  # fmt: skip
def test_nodes_without_title_or_place_and_blanks_in_titles(
    titles: dict[str, str], rules: dict[str, object]
) -> None:
    nodes = pl.DataFrame({"node": (own := ["cat", "dog", "lone", "pet"]),
                          "title": [titles.get(node, "") for node in own]})  # fmt: skip
    edges = pl.DataFrame({"child": ["dog", "cat"], "parent": ["pet", "pet"]})
    found = lint_hierarchy(Hierarchy.build(edges, nodes, name="h"))

    assert {one.rule: one.cases for one in found} == {"orphan": (("lone",),), **rules}


def test_the_title_of_a_single_child_is_told_as_that_alone() -> None:
    finding = told(tree("dog < pet", "pet tool < thing", titles={"dog": "A pet", "pet": "a pet"}))

    assert list(finding) == ["lone_child"]


def test_headings_with_nothing_but_catch_alls() -> None:
    titles = {"pet": "Urinary obstruction", "dog": "Urinary obstruction, unspecified",
              "cat": "Other urinary obstruction", "saw": "Other tool", "tool": "Tool",
              "hammer": "Hammer"}  # fmt: skip
    finding = told(tree(*SOUND, titles=titles))

    assert list(finding) == ["only_catch_alls"]
    assert finding["only_catch_alls"].cases == (("pet", "cat", "dog"),)


@pytest.mark.parametrize(
    ("heading", "child"),
    [
        ("Other pain", "Other pain, unspecified site of leg"),
        ("Pain", "Pain of other leg"),
        ("Pain", "Pain"),
        ("", "Other pain"),
    ],
)
def test_a_child_that_names_something_more_is_no_catch_all(heading: str, child: str) -> None:
    titles = {"pet": heading, "dog": child, "cat": child + " unspecified"}

    assert "only_catch_alls" not in told(tree(*SOUND, titles=titles))


@examples(25)
@given(hierarchies())
def test_findings_are_known_warnings_first_and_their_cases_are_nodes(hierarchy: Hierarchy) -> None:
    findings = lint_hierarchy(hierarchy)
    severities = [one.severity for one in findings]

    assert severities == sorted(severities, reverse=True)
    for one in findings:
        assert one.rule in RULES
        assert one.cases
        assert one.of >= len(one.cases)
        assert all(node in hierarchy for case in one.cases for node in case)
        assert one.statement.endswith(".")
        assert one.advice.endswith(".")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C", "C++"),
        ("C++", "C#"),
        ("age < 5", "age > 5"),
        ("Rh+ donor", "Rh- donor"),
        ("EZB-MYC+", "EZB-MYC-"),
        ("below -5 °C", "below 5 °C"),
        ("5 %", "5"),
        ("≥ 3", "≤ 3"),
    ],
)
def test_signs_that_carry_meaning_tell_titles_apart(one: str, other: str) -> None:
    titles = {"dog": one, "saw": other, "pet": "Pets"}

    assert told(tree(*SOUND, titles=titles)) == {}
    assert list(told(tree(*SOUND, titles={**titles, "saw": f"{one.upper()},"}))) == ["title_clash"]


def test_the_root_above_several_tops_is_not_judged() -> None:
    titles = {"pet": "Root", "tool": "Other"}

    assert told(tree(*SOUND[:2], titles=titles)) == {}
    assert told(tree("dog cat < pet", titles={"dog": "Other", "cat": "Unspecified"})) == {}


@pytest.mark.parametrize(("edges", "titles", "told"), [
    ([("dog", "pet"), ("cat", "pte")], {}, ("pet", "pte")),
    ([("dog", "pet"), ("cat", "pte")], {"pet": "Pet"}, ("pte",)),
    ([("dog", "pet"), ("cat", "pet"), ("lone", "")], {}, ()),
    ([("dog", "pet"), ("pet", "all"), ("cat", "all")], {}, ()),
])  # fmt: skip
def test_parents_that_are_only_named(
    edges: list[tuple[str, str]], titles: dict[str, str], told: tuple[str, ...]
) -> None:
    names = sorted({name for edge in edges for name in edge} - {""})
    nodes = pl.DataFrame({"node": names, "title": [titles.get(one, "") for one in names]})
    own = pl.DataFrame([edge for edge in edges if edge[1]], ["child", "parent"], orient="row")
    found = lint_hierarchy(Hierarchy.build(own, nodes, name="h"))

    assert [one.cases for one in found if one.rule == "missing_parent"] == (
        [tuple((one,) for one in told)] if told else []
    )
