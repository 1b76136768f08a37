"""malformed_code: only where there are rules for the shape of a label."""

from __future__ import annotations

from audit.checks.rules.malformed_code import CHECK
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from fixtures.coded import icd9cm
from fixtures.labelled import labelled


def test_labels_without_the_shape_of_a_code_are_one_error() -> None:
    labels = {"a": ["4019", "40I9"], "b": ["hypertension", "000.0"], "c": ["40I9"]}
    found = CHECK.run(measure(labelled(icd9cm(), labels, table="diagnoses"), Policy()))
    (finding,) = found.findings

    assert found.status == "fail"
    assert found.denominator == 5
    assert finding.evidence["rows"].value == 3
    assert finding.evidence["labels"].value == 2
    assert finding.nodes == ("40I9", "hypertension")


def test_codes_in_their_shape_pass() -> None:
    dataset = labelled(icd9cm(), {"a": ["4019", "V202", "E8120"]})

    assert CHECK.run(measure(dataset, Policy())).status == "pass"


def test_it_does_not_apply_without_rules_of_spelling(toy_hierarchy: Hierarchy) -> None:
    found = CHECK.run(measure(labelled(toy_hierarchy, {"a": ["elf"]}), Policy()))

    assert found.status == "not_applicable"
    assert "no rules for the shape" in found.not_applicable
    assert found.findings == ()
