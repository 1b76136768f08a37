"""What lint tells, by plain Python; which nodes titles, digits and policies make residual."""

from __future__ import annotations

import re
from collections import defaultdict

import networkx as nx
import numpy as np
import polars as pl
from hypothesis import given

from audit import Hierarchy, Policy
from audit.counting.residual_nodes import residual_nodes
from audit.hierarchies.icd.icd9 import ICD9
from audit.hierarchies.lint import RULES, LintFinding, lint_hierarchy
from fixtures.coded import icd9cm
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


PETS = ("dog cat < pet",)
EXAMPLES = [
    (SOUND, {}, {}),
    ((*SOUND, "dog < thing"), {}, {"redundant_edge": (("dog", "pet", "thing"),)}),
    ((*SOUND, "dog < tool"), {}, {}),
    (SOUND, {"dog": "Other  pain", "saw": "OTHER, PAIN", "pet": "Pets"},
     {"title_clash": (("dog", "saw"),), "title_blanks": (("dog",),)}),
    (SOUND, {"dog": "A pet", "pet": "a pet"}, {"title_repeated": (("pet", "dog"),)}),
    (("dog < pet", "pet tool < thing"), {"dog": "A pet", "pet": "a pet"},
     {"lone_child": (("pet", "dog"),)}),
    (SOUND, {"pet": "Urinary obstruction", "dog": "Urinary obstruction, unspecified",
             "cat": "Other urinary obstruction", "saw": "Other tool", "tool": "Tool",
             "hammer": "Hammer"}, {"only_catch_alls": (("pet", "cat", "dog"),)}),
    *((SOUND, {"pet": heading, "dog": child, "cat": f"{child} unspecified"}, {})
      for heading, child in (("Other pain", "Other pain, unspecified site of leg"),
                             ("Pain", "Pain of other leg"), ("", "Other pain"))),
    (SOUND[:2], {"pet": "Root", "tool": "Other"}, {}),
    (PETS, {"dog": "Other", "cat": "Unspecified"}, {}),
]  # fmt: skip
"""Edges, titles, and the cases of each rule that is told."""


def test_examples_are_told_as_they_are() -> None:
    for edges, titles, expected in EXAMPLES:
        found = told(tree(*edges, titles=titles))
        assert {rule: one.cases for rule, one in found.items()} == expected
    edge, clash = (told(tree(*EXAMPLES[n][0], titles=EXAMPLES[n][1])) for n in (1, 3))
    assert (edge["redundant_edge"].severity, edge["redundant_edge"].of) == ("warning", 7)
    assert (clash["title_clash"].severity, clash["title_clash"].of) == ("warning", 3)


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


def test_nodes_without_title_or_place_and_blanks_in_titles() -> None:
    for titles, rules in [
        ({}, {}),
        ({"dog": "A", "cat": "B"}, {}),
        (
            {"dog": " A", "cat": "B", "pet": "C"},
            {"missing_title": (("lone",),), "title_blanks": (("dog",),)},
        ),
        (
            {"dog": "A  b", "cat": "B", "pet": "C\n", "lone": "D"},
            {"title_blanks": (("dog",), ("pet",))},
        ),
    ]:
        nodes = pl.DataFrame({"node": (own := ["cat", "dog", "lone", "pet"]),
                              "title": [titles.get(node, "") for node in own]})  # fmt: skip
        edges = pl.DataFrame({"child": ["dog", "cat"], "parent": ["pet", "pet"]})
        found = lint_hierarchy(Hierarchy.build(edges, nodes, name="h"))

        assert {one.rule: one.cases for one in found} == {"orphan": (("lone",),), **rules}


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


def test_signs_that_carry_meaning_tell_titles_apart() -> None:
    for one, other in [
        ("C", "C++"),
        ("C++", "C#"),
        ("age < 5", "age > 5"),
        ("Rh+ donor", "Rh- donor"),
        ("EZB-MYC+", "EZB-MYC-"),
        ("below -5 °C", "below 5 °C"),
        ("5 %", "5"),
        ("≥ 3", "≤ 3"),
    ]:
        titles = {"dog": one, "saw": other, "pet": "Pets"}

        assert told(tree(*SOUND, titles=titles)) == {}
        assert list(told(tree(*SOUND, titles={**titles, "saw": f"{one.upper()},"}))) == [
            "title_clash"
        ]


def codes(*edges: str, titles: dict[str, str] | None = None) -> Hierarchy:
    return tree(*edges, titles=titles, coding=ICD9)


def test_digits_decide_where_an_icd9_code_has_no_title() -> None:
    for code, kind in [
        ("401.8", "other"),
        ("401.9", "unspecified"),
        ("250.09", "unspecified"),
        ("250.80", "other"),
        ("250.01", None),
        ("V58.9", "unspecified"),
        ("E812.9", "unspecified"),
        ("401.1", None),
        ("36.19", "other"),
        ("36.1", None),
        ("36.9", None),
    ]:
        hierarchy = codes(f"{code} x < top")
        found = residual_nodes(hierarchy, Policy()).get(hierarchy.index(code))

        assert (found.kind if found else None) == kind


def test_digits_do_not_decide_where_there_is_a_title() -> None:
    hierarchy = codes("401.9 x < top", titles={"401.9": "A specific thing"})

    assert residual_nodes(hierarchy, Policy()) == {}


def test_digits_do_not_decide_outside_icd9() -> None:
    assert residual_nodes(tree("401.9 x < top"), Policy()) == {}


def test_a_heading_is_never_residual() -> None:
    hierarchy = tree("leaf x < heading", "heading < top", titles={"heading": "Other diseases"})

    assert residual_nodes(hierarchy, Policy(residual_nodes=("heading",))) == {}


def test_an_assignable_inner_node_may_be() -> None:
    hierarchy = Hierarchy.build(
        pl.DataFrame({"child": ["leaf", "inner", "side"], "parent": ["inner", "top", "top"]}),
        pl.DataFrame(
            {
                "node": ["leaf", "inner", "side", "top"],
                "title": ["A", "Other", "B", "Other"],
                "assignable": [True, True, True, False],
            }
        ),
        name="inner",
    )

    assert [hierarchy.nodes[i] for i in residual_nodes(hierarchy, Policy())] == ["inner"]


def test_the_lists_of_a_policy_overrule_titles() -> None:
    hierarchy = tree("a b c < top", titles={"a": "Other", "b": "Specific", "c": "Other"})
    policy = Policy(residual_nodes=("b", "c"), specific_nodes=("a", "c"))
    found = residual_nodes(hierarchy, policy)

    assert {hierarchy.nodes[i]: r.rule for i, r in found.items()} == {"b": "policy"}


def test_the_rule_that_fired_is_told() -> None:
    hierarchy = tree("a b < top", titles={"a": "Anemia NOS", "b": "Anemia of pregnancy"})

    assert residual_nodes(hierarchy, Policy())[hierarchy.index("a")].rule == "title: nos"


def test_a_word_makes_a_catch_all_where_the_title_says_no_more_than_its_parents() -> None:
    for title, word in [
        ("misc", "misc"),
        ("Miscellaneous tools", "miscellaneous"),
        ("Tools, et cetera", "et cetera"),
        ("Various tools", "various"),
        ("Sundry tools", "sundry"),
        ("Miscellaneous saws", None),
        ("Tools", None),
        ("Miscreants", None),
        ("Unlabelled tools", "unlabelled"),
        ("Unidentified litter", "unidentified"),
        ("N/A", "n/a"),
        ("Background", "background"),
        ("Background noise", None),
        ("Unidentified flying objects", None),
    ]:
        titles = {"top": "Tools", "a": title, "b": "Hammers"}
        words = Policy(residual_words=("Sundry",))
        found = residual_nodes(tree("a b < top", titles=titles), words).values()

        assert [one.word.lower() for one in found] == ([word] if word else [])
        assert not residual_nodes(tree("a < top", titles=titles), words)
        coded = codes(
            "780.1 780.2 < 780", titles={"780": "Tools", "780.1": title, "780.2": "Hammers"}
        )
        assert not residual_nodes(coded, words)


def test_only_below_the_root_is_one_word_what_all_are() -> None:
    for title in ("Unknown soldiers", "Background"):
        titles = {"top": "All", "mid": "Tools", "a": "Hammers", "b": title, "c": "Saws"}
        assert not residual_nodes(tree("a b < mid", "mid c < top", titles=titles), Policy())
        assert residual_nodes(tree("a b c < top", titles=titles), Policy())


def test_a_reviewed_decision_overrules_a_title_and_a_policy_overrules_both() -> None:
    titles = {"416.8": "Other chronic pulmonary heart diseases", "416.0": "Primary hypertension"}
    hierarchy = codes("416.8 416.0 < 416", titles=titles)
    stated = Policy(residual_nodes=("416.8",))

    assert residual_nodes(hierarchy, Policy()) == {}
    assert residual_nodes(hierarchy, stated)[hierarchy.index("416.8")].rule == "policy"


def test_icd9cm_has_residual_codes_and_no_residual_heading() -> None:
    hierarchy = icd9cm()
    found = residual_nodes(hierarchy, Policy())

    assert hierarchy.assignable[list(found)].all()
    assert found[hierarchy.index("401.9")].kind == "unspecified"
    assert 0.1 < len(found) / np.count_nonzero(hierarchy.assignable) < 0.6


def test_parents_that_are_only_named() -> None:
    for edges, titles, expected in [
        ([("dog", "pet"), ("cat", "pte")], {}, ("pet", "pte")),
        ([("dog", "pet"), ("cat", "pte")], {"pet": "Pet"}, ("pte",)),
        ([("dog", "pet"), ("cat", "pet"), ("lone", "")], {}, ()),
        ([("dog", "pet"), ("pet", "all"), ("cat", "all")], {}, ()),
    ]:
        names = sorted({name for edge in edges for name in edge} - {""})
        nodes = pl.DataFrame({"node": names, "title": [titles.get(one, "") for one in names]})
        own = pl.DataFrame([edge for edge in edges if edge[1]], ["child", "parent"], orient="row")
        found = lint_hierarchy(Hierarchy.build(own, nodes, name="h"))

        assert [one.cases for one in found if one.rule == "missing_parent"] == (
            [tuple((one,) for one in expected)] if expected else []
        )
