"""sibling_exclusive: which instances carry two sides of a declared group, worked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import PolicyError
from audit.base.plurals import filled
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from audit.policy.rules import Exclusive
from audit.results.findings import CheckResult
from audit.runs.audit import run_audit
from fixtures.checked import CHECK_OF
from fixtures.coded import icd9cm
from fixtures.labelled import labelled, repeated, tree

CHECK = CHECK_OF["sibling_exclusive"]

TYPES = tree("one two none < sugar", "one_a one_b < one", "two_a both < two", "both < one")


def checked(counts: Sequence[tuple[int, Sequence[str]]], *groups: Any) -> CheckResult:
    declared = tuple(Exclusive(nodes=nodes, reason="By rule.") for nodes in groups)
    return CHECK.run(measure(labelled(TYPES, repeated(counts)), Policy(exclusive=declared)))


def test_a_group_is_one_finding_with_its_pairs() -> None:
    found = checked(
        [(5, ["one_a", "two_a"]), (3, ["one_b", "two_a"]), (2, ["one_a"]), (9, ["none"])],
        ("one", "two"),
    )
    (finding,) = found.findings
    values = dict(finding.evidence)

    assert (found.status, found.denominator) == ("warn", 10)
    assert values == {"group": "one or two", "instances": 8, "of": 10, "share": 0.8, "pairs": 2}
    assert finding.id == "sibling_exclusive:one:two"
    assert [(part.nodes, part.evidence["instances"]) for part in finding.parts] == [
        (("one_a", "two_a"), 5),
        (("one_b", "two_a"), 3),
    ]
    assert filled(finding.statement, values).endswith("in 2 different pairs: By rule.")


def test_a_side_may_be_several_nodes() -> None:
    found = checked([(5, ["one_a", "none"]), (4, ["one_a", "two_a"])], ("one", ("two", "none")))

    assert found.findings[0].touched == 9
    assert found.findings[0].id == "sibling_exclusive:none%2Ctwo:one"
    assert checked([(5, ["none", "two_a"])], ("one", ("two", "none"))).findings == ()


def test_each_group_is_judged_for_itself() -> None:
    found = checked([(5, ["one_a", "none"])], ("one", "two"), ("one", "none"))

    assert [finding.id for finding in found.findings] == ["sibling_exclusive:none:one"]
    assert found.denominator == 5


def test_it_does_not_apply_without_a_group() -> None:
    assert "declares no" in checked([(5, ["one_a"])]).not_applicable
    assert checked([(5, ["none"]), (1, [])], ("one", "two")).status == "pass"


def test_the_severity_is_the_group_s() -> None:
    group = Exclusive(nodes=("one", "two"), reason="", severity="note")
    dataset = labelled(TYPES, {"a": ["one_a", "two_a"]})

    assert CHECK.run(measure(dataset, Policy(exclusive=(group,)))).status == "note"


@pytest.mark.parametrize(
    ("codes", "severities"),
    [
        (["4010", "4011"], ["warning"]),
        (["4019", "4011"], ["note"]),
        (["25001", "25000"], ["warning"]),
        (["25083", "25002"], ["warning", "warning"]),
        (["25001", "25043"], ["warning"]),
        (["25041", "25043"], []),
        (["25000", "25002", "4019"], []),
    ],
)
def test_icd9cm_declares_hypertension_and_the_types_of_diabetes(
    codes: list[str], severities: list[str]
) -> None:
    dataset = labelled(icd9cm(), {"a": codes}, table="diagnoses")
    found = CHECK.run(measure(dataset, built_in_policy("icd9cm")))

    assert [finding.severity for finding in found.findings] == severities


@pytest.mark.parametrize("nodes", [("sugar", "one"), ("both", "two")])
def test_nodes_below_one_another_cannot_exclude_each_other(nodes: tuple[str, str]) -> None:
    policy = Policy(exclusive=(Exclusive(nodes=nodes, reason=""),))

    with pytest.raises(PolicyError, match="exclusive: "):
        run_audit(labelled(TYPES, {"a": ["one_a"]}), policy)


LABELS = ("one", "one_a", "one_b", "two", "two_a", "both", "none")
BELOW = {"one": {"one", "one_a", "one_b", "both"}, "two": {"two", "two_a", "both"}}


@given(st.lists(st.sets(st.sampled_from(LABELS), max_size=4), min_size=1, max_size=6))
def test_counts_are_those_of_a_plain_search(instances: list[set[str]]) -> None:
    found = checked([(1, sorted(labels)) for labels in instances], ("one", "two"))
    only_one, only_two = BELOW["one"] - BELOW["two"], BELOW["two"] - BELOW["one"]
    against = [labels for labels in instances if labels & only_one and labels & only_two]
    pairs = {p for labels in against for p in product(labels & only_one, labels & only_two)}

    assert found.denominator == sum(
        bool(labels & (BELOW["one"] | BELOW["two"])) for labels in instances
    )
    assert [finding.touched for finding in found.findings] == ([len(against)] if against else [])
    assert [finding.evidence["pairs"] for finding in found.findings] == (
        [len(pairs)] if against else []
    )
