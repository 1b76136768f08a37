"""sibling_exclusive: which instances carry two sides of a declared group, worked by hand."""

from __future__ import annotations

import pytest

from audit.measure.measure import measure
from audit.policy.reading import built_in_policy
from fixtures.checked import CHECK_OF
from fixtures.coded import icd9cm
from fixtures.labelled import labelled

CHECK = CHECK_OF["sibling_exclusive"]


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
