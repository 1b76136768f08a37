"""unspecific_beside_specific: an unspecified label and a specific sibling on one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from fixtures.checked import CHECK_OF
from fixtures.coded import measured as coded
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["unspecific_beside_specific"]

ANEMIA = tree(
    "open other loss chronic < anemia",
    "kidney cancer chronic_other < chronic",
    "anemia gout < disease",
    titles={
        "open": "Anemia, unspecified", "other": "Other anemia", "loss": "Blood loss anemia",
        "chronic": "Anemia in chronic disease", "kidney": "Anemia in kidney disease",
        "cancer": "Anemia in neoplasm", "anemia": "Anemia", "gout": "Gout",
        "chronic_other": "Anemia in other disease",
    },
)  # fmt: skip


def on(labels: Mapping[str, Sequence[str]], hierarchy: Hierarchy = ANEMIA) -> Measurements:
    return measure(labelled(hierarchy, labels), Policy())


def told(labels: Mapping[str, Sequence[str]]) -> list[tuple[tuple[str, ...], object]]:
    findings = CHECK.run(on(labels)).findings
    return [(p.nodes, p.evidence["instances"]) for f in findings for p in f.parts]


def test_an_unspecified_label_beside_a_specific_sibling_is_told() -> None:
    measured = on({"a": ["open", "loss"], "b": ["open", "kidney"], "c": ["open", "gout"], "d": []})
    found = CHECK.run(measured)
    (finding,) = found.findings

    assert (finding.id, finding.severity) == ("unspecific_beside_specific:labels", "note")
    assert dict(finding.evidence) == {
        "instances": 2, "of": 3, "share": 2 / 3, "pairs": 2,
    }  # fmt: skip
    assert [(part.nodes, part.evidence["instances"]) for part in finding.parts] == [
        (("open", "chronic"), 1),
        (("open", "loss"), 1),
    ]
    assert CHECK.cases
    assert CHECK.cases(measured, finding).tolist() == [0, 1]
    assert (found.denominator, found.status) == (3, "note")


def test_a_catch_all_of_the_other_kind_may_be_one_thing_more() -> None:
    assert told({"a": ["other", "loss"], "b": ["chronic_other", "kidney"], "c": ["open"]}) == []


def test_a_catch_all_sibling_is_not_specific() -> None:
    assert told({"a": ["open", "other"]}) == []


def test_a_label_below_a_sibling_counts_as_it_even_where_it_is_a_catch_all_there() -> None:
    assert told({"a": ["open", "chronic_other"]}) == [(("open", "chronic"), 1)]


def test_other_and_unspecified_leaves_open_too() -> None:
    found = CHECK.run(coded({"diagnoses": {"a": ["2724", "2720"], "b": ["2858", "2851"]}}))
    (finding,) = found.findings

    assert [part.nodes for part in finding.parts] == [("272.4", "272.0")]


def test_categories_of_a_range_are_of_one_kind_where_their_titles_share_a_word() -> None:
    """A depressive disorder is no kind of anxiety; a pneumonia is one of pneumonia."""
    found = CHECK.run(coded({"diagnoses": {"a": ["311", "30000"], "b": ["486", "4820"]}}))
    (finding,) = found.findings

    assert [part.nodes for part in finding.parts] == [("486", "482")]


def test_the_codes_of_icd9cm() -> None:
    labels = {
        "a": ["2859", "2851"],
        "b": ["4019", "4011"],
        "c": ["60000", "60001"],
        "d": ["41071", "41090"],
        "e": ["2859", "28521"],
        "f": ["0417", "0412"],
    }
    (finding,) = CHECK.run(coded({"diagnoses": labels})).findings

    assert {part.nodes for part in finding.parts} == {
        ("285.9", "285.1"),
        ("285.9", "285.2"),
        ("401.9", "401.1"),
    }


def test_pairs_that_coders_are_told_to_give_together_are_no_fault() -> None:
    """Congestive failure beside its type; without the policy's list it looks like a slip."""
    labels = {"a": ["4280", "42823"], "b": ["4280", "4281"]}
    found = [
        CHECK.run(coded({"diagnoses": labels}, policy=policy)).findings[0].evidence["instances"]
        for policy in (Policy(), built_in_policy("icd9cm"))
    ]

    assert found == [2, 1]


def test_groups_of_another_classification_are_looked_at_and_never_dropped_by_advice() -> None:
    advice = [
        CHECK.run(one).findings[0].curator
        for one in (on({"a": ["open", "loss"]}), coded({"diagnoses": {"a": ["2859", "2851"]}}))
    ]

    assert ["leave the unspecified one out" in said for said in advice] == [False, True]


def test_a_sibling_that_is_also_above_says_nothing_beside() -> None:
    hierarchy = Hierarchy.build(
        pl.DataFrame({"child": ["r", "r", "s", "t"], "parent": ["p", "s", "p", "s"]}),
        pl.DataFrame(
            {"node": ["p", "r", "s", "t"], "title": ["P", "P, unspecified", "Ulcer", "Wound"]}
        ),
        name="diamond",
    )

    assert CHECK.run(on({"a": ["r"]}, hierarchy)).findings == ()


def test_where_it_does_not_apply_it_says_why() -> None:
    bare = tree("a b < top")

    assert "no assignable node" in CHECK.run(on({"a": ["a"]}, bare)).not_applicable
    assert CHECK.run(on({"a": ["loss"]})).status == "pass"


@given(st.lists(st.sets(st.sampled_from(ANEMIA.nodes)), max_size=6))
def test_it_tells_as_many_instances_as_a_plain_count(sets: list[set[str]]) -> None:
    labels = {f"i{number}": sorted(own) for number, own in enumerate(sets)}
    specific = {"loss", "chronic", "kidney", "cancer", "chronic_other"}
    findings = CHECK.run(on(labels)).findings
    instances = sum(int(finding.evidence["instances"] or 0) for finding in findings)

    assert instances == sum("open" in own and bool(own & specific) for own in sets)
