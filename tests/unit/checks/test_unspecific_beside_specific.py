"""unspecific_beside_specific: an unspecified label and a specific sibling on one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
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


def test_a_catch_all_of_the_other_kind_may_be_one_thing_more() -> None:
    assert told({"a": ["other", "loss"], "b": ["chronic_other", "kidney"], "c": ["open"]}) == []


def test_other_and_unspecified_leaves_open_too() -> None:
    found = CHECK.run(coded({"diagnoses": {"a": ["2724", "2720"], "b": ["2858", "2851"]}}))
    (finding,) = found.findings

    assert [part.nodes for part in finding.parts] == [("272.4", "272.0")]


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
